// Generated cases for the grower: training tables, targets and proposals.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "../border.hpp"
#include "../canonical.hpp"
#include "../gradient_draws.hpp"
#include "../targets.hpp"
#include "cases.hpp"

namespace jarf_tests {

// --- the table ---------------------------------------------------------------------------------

struct TableArrays {
  std::size_t n_rows, n_columns;
  bool wild;  // extreme numbers
  std::vector<float> values, lowest, highest;
  std::vector<std::uint8_t> codes;
  std::vector<std::int32_t> n_bins;
  std::vector<double> weights;
  ForestArrays projections;  // of a rotated table, else empty
  jarf::Rotation rotation{};

  bool rotated() const { return projections.n_projections() > 0; }
  jarf::Columns columns() {
    jarf::Columns view{values.data(), n_rows, n_columns};
    if (rotated()) {
      rotation = {projections.starts.data(), projections.features.data(),
                  projections.loadings.data()};
      view.rotation = &rotation;
      view.n_columns = projections.n_projections();
      return view;
    }
    if (codes.empty()) return view;
    view.codes = codes.data();
    view.lowest = lowest.data();
    view.highest = highest.data();
    view.n_bins = n_bins.data();
    return view;
  }
  // The rows in the layout that predictions take.
  std::vector<float> rows() const {
    std::vector<float> rows(values.size());
    for (std::size_t i = 0; i < n_rows; ++i) {
      for (std::size_t j = 0; j < n_columns; ++j) rows[i * n_columns + j] = values[j * n_rows + i];
    }
    return rows;
  }
};

// `tiny`: include many subnormal values.
inline TableArrays make_table(Dice& dice, std::size_t most_rows, bool tiny = false) {
  TableArrays table;
  table.n_rows = dice.between(1, most_rows);
  table.n_columns = dice.between(1, 4);
  table.wild = dice.one_in(2);
  table.values.resize(table.n_rows * table.n_columns);
  for (float& value : table.values) {
    value = tiny && !dice.one_in(4) ? dice.subnormal()
            : table.wild            ? dice.number()
                                    : static_cast<float>(dice.normal());
  }
  const double scale = dice.one_in(20) ? std::pow(10.0, dice.between(0, 320) - 160.0) : 1.0;
  table.weights.resize(table.n_rows);
  for (double& weight : table.weights) {
    weight = dice.one_in(4) ? dice.below(3) : table.wild ? std::fabs(dice.number()) : 1.0;
    weight *= scale;
  }
  return table;
}

inline void add_bins(TableArrays& table) {
  table.codes.resize(table.values.size());
  table.lowest.resize(table.n_columns * jarf::kMaxBins);
  table.highest.resize(table.n_columns * jarf::kMaxBins);
  std::vector<jarf::Key> scratch;
  for (std::size_t j = 0; j < table.n_columns; ++j) {
    table.n_bins.push_back(jarf::bin_column(
        table.values.data() + j * table.n_rows, table.n_rows, table.codes.data() + j * table.n_rows,
        table.lowest.data() + j * jarf::kMaxBins, table.highest.data() + j * jarf::kMaxBins,
        scratch));
  }
}

inline void damage_table(Dice& dice, TableArrays& table) {
  switch (dice.below(4)) {
    case 0: table.values[dice.index(table.values.size())] = dice.any_number(); break;
    case 1: table.weights[dice.index(table.n_rows)] = dice.one_in(2) ? -1.0 : HUGE_VAL; break;
    case 2: if (!table.codes.empty()) table.codes[dice.index(table.codes.size())] = 255; break;
    default: if (!table.n_bins.empty()) table.n_bins[0] = dice.any_index(300);
  }
}

// --- the target --------------------------------------------------------------------------------

enum class Kind { gini, entropy, one_response, responses, newton, newtons };

// Owns the arrays that its `TargetSpec` points to.
struct TargetArrays {
  Kind kind;
  std::size_t n_outputs;
  std::vector<std::int32_t> labels;
  std::vector<double> responses, hessians;  // responses double as gradients of Newton steps
  double l2 = 0.0, min_hessian = 0.0;
  std::vector<std::int8_t> signs;  // of monotone constraints; empty: unconstrained

  bool classifies() const { return kind <= Kind::entropy; }
  bool is_newton() const { return kind >= Kind::newton; }

  std::unique_ptr<jarf::TargetSpec> spec() const {
    const std::size_t n = classifies() ? labels.size() : responses.size() / n_outputs;
    switch (kind) {
      case Kind::gini:
        return std::make_unique<jarf::ClassSpec<jarf::Gini>>(labels.data(), n, n_outputs);
      case Kind::entropy:
        return std::make_unique<jarf::ClassSpec<jarf::Entropy>>(labels.data(), n, n_outputs);
      case Kind::one_response:
      case Kind::responses:
        return std::make_unique<jarf::ResponseSpec>(responses.data(), n, n_outputs);
      default:
        if (!signs.empty()) {
          return std::make_unique<jarf::MonotoneSpec>(responses.data(), hessians.data(), n,
                                                      n_outputs, l2, min_hessian, signs);
        }
        return std::make_unique<jarf::NewtonSpec>(responses.data(), hessians.data(), n, n_outputs,
                                                  l2, min_hessian);
    }
  }

  // The value that a leaf of these rows must hold by definition.
  std::vector<double> leaf(const std::vector<std::size_t>& rows,
                           const std::vector<double>& weights) const {
    if (kind == Kind::one_response || kind == Kind::responses) {
      const double* first = responses.data() + rows[0] * n_outputs;
      const auto is_first = [&](std::size_t i) {
        return std::equal(first, first + n_outputs, responses.data() + i * n_outputs);
      };
      if (std::all_of(rows.begin(), rows.end(), is_first)) return {first, first + n_outputs};
    }
    std::vector<double> value(n_outputs, 0.0);
    double total = 0.0;
    for (const std::size_t i : rows) total += weights[i];
    for (std::size_t c = 0; c < n_outputs; ++c) {
      double sum = 0.0, hessian = 0.0;
      for (const std::size_t i : rows) {
        if (classifies()) {
          sum += static_cast<std::size_t>(labels[i]) == c ? weights[i] : 0.0;
        } else {
          sum += weights[i] * responses[i * n_outputs + c];
        }
        if (is_newton()) hessian += weights[i] * hessians[i * n_outputs + c];
      }
      value[c] = !is_newton()                                ? sum / total
                 : hessian + l2 > jarf::Newton<1>::kTiny ? -sum / (hessian + l2)
                                                             : 0.0;
    }
    return value;
  }
};

// `boosts`: always Newton steps, whose hessians are rarely all zero or tiny.
inline TargetArrays make_target(Dice& dice, const TableArrays& table, bool boosts = false) {
  TargetArrays target;
  target.kind = static_cast<Kind>(boosts ? dice.between(4, 5) : dice.below(6));
  const bool several = target.kind == Kind::responses || target.kind == Kind::newtons;
  target.n_outputs = target.classifies() ? dice.between(dice.one_in(8) ? 1 : 2, 4)
                     : several           ? dice.between(2, 3)
                                         : 1;
  const auto number = [&] { return table.wild ? dice.number() : dice.normal(); };
  if (target.classifies()) {
    for (std::size_t i = 0; i < table.n_rows; ++i) {
      target.labels.push_back(dice.index(target.n_outputs));
    }
    return target;
  }
  // The largest valid responses are those whose squares just avoid overflow.
  const double scale = dice.one_in(8) ? std::pow(10.0, dice.between(0, 320) - 160.0) : 1.0;
  target.responses.resize(table.n_rows * target.n_outputs);
  for (double& response : target.responses) response = scale * number();
  if (!target.is_newton()) return target;
  target.hessians.resize(target.responses.size());
  const bool all_zero = dice.one_in(boosts ? 64 : 8), tiny = dice.one_in(boosts ? 16 : 4);
  for (double& hessian : target.hessians) {
    hessian = all_zero || dice.one_in(4) ? 0.0 : std::fabs(number());
    if (tiny) hessian *= std::pow(10.0, -1.0 * dice.between(10, 320));
  }
  const double edges[] = {0.0, 1e-300, 1e-16, 1.0, 1e300};
  target.l2 = edges[dice.below(boosts ? 4 : 5)];
  target.min_hessian = dice.one_in(2) ? 0.0 : edges[dice.below(boosts ? 4 : 5)];
  if (dice.one_in(table.rotated() || several ? 16 : 2)) {
    target.signs.resize(table.n_columns);
    for (std::int8_t& sign : target.signs) sign = static_cast<std::int8_t>(dice.below(3)) - 1;
  }
  return target;
}

// Makes changes that `check` or the constructor of the target may have to detect.
inline void damage_target(Dice& dice, TargetArrays& target) {
  if (target.classifies()) {
    target.labels[dice.index(target.labels.size())] = dice.any_index(target.n_outputs);
    return;
  }
  const double edges[] = {HUGE_VAL, -HUGE_VAL, std::nan(""), 1e300, -1.0};
  const double number = edges[dice.below(5)];
  switch (target.is_newton() ? dice.below(target.signs.empty() ? 4 : 6) : 0) {
    case 0: target.responses[dice.index(target.responses.size())] = number; break;
    case 1: target.hessians[dice.index(target.hessians.size())] = number; break;
    case 2: target.l2 = number; break;
    case 4: target.signs[dice.index(target.signs.size())] = dice.one_in(2) ? 2 : -128; break;
    case 5: target.signs.push_back(0); break;
    default: target.min_hessian = number;
  }
}

// --- proposals ---------------------------------------------------------------------------------

// Jacobi rotations with LAPACK's signature, so that no library is needed.
inline void small_dsyev(char*, char*, int* size, double* a, int* lda, double* w, double*,
                        int* n_work, int* info) {
  const int n = *size;
  promise(n >= 1 && *lda >= n && *n_work >= 3 * n - 1, "dsyev is called as LAPACK forbids");
  std::vector<double> v(n * n, 0.0);
  for (int i = 0; i < n; ++i) v[i * n + i] = 1.0;
  for (int sweep = 0; sweep < 30; ++sweep) {
    for (int p = 0; p < n; ++p) {
      for (int q = p + 1; q < n; ++q) {
        if (!(std::fabs(a[p * n + q]) > 0.0)) continue;
        const double theta = 0.5 * std::atan2(2.0 * a[p * n + q], a[q * n + q] - a[p * n + p]);
        const double c = std::cos(theta), s = std::sin(theta);
        const auto turn = [&](double& x, double& y) {
          const double old = x;
          x = c * old - s * y;
          y = s * old + c * y;
        };
        for (int k = 0; k < n; ++k) turn(a[p * n + k], a[q * n + k]);
        for (int k = 0; k < n; ++k) turn(a[k * n + p], a[k * n + q]);
        for (int k = 0; k < n; ++k) turn(v[p * n + k], v[q * n + k]);
      }
    }
  }
  std::vector<std::pair<double, int>> order;
  for (int i = 0; i < n; ++i) order.emplace_back(a[i * n + i], i);
  const auto is_nan = [](const auto& pair) { return pair.first != pair.first; };
  if (std::none_of(order.begin(), order.end(), is_nan)) std::sort(order.begin(), order.end());
  for (int i = 0; i < n; ++i) {
    w[i] = order[i].first;
    for (int k = 0; k < n; ++k) a[i * n + k] = v[order[i].second * n + k];
  }
  *info = 0;
}

// A number of candidates or features, sometimes zero.
inline std::size_t count(Dice& dice, std::size_t most) {
  return dice.one_in(8) ? 0 : dice.between(1, most);
}

// A gradient proposal that owns its gradients.
struct DrawsSpec : jarf::ProposalSpec {
  std::vector<float> gradients, scales;
  std::vector<std::int32_t> features, places;
  std::size_t width;
  jarf::GradientDrawsOptions options;
  std::unique_ptr<jarf::Proposal> make(const jarf::Columns& columns) const override {
    const std::size_t d = columns.n_columns;
    const jarf::GradientSource source{gradients.data(),
                                      features.empty() ? nullptr : features.data(), width,
                                      places.empty() ? nullptr : places.data()};
    jarf::check_gradients(source, gradients.size() / width, d, places.size());
    return std::make_unique<jarf::GradientDraws>(std::vector<jarf::GradientSource>{source}, scales,
                                                 options);
  }
};

inline std::shared_ptr<jarf::ProposalSpec> make_draws(Dice& dice, const jarf::Columns& columns) {
  const std::size_t d = columns.n_columns;
  const bool dense = dice.one_in(2);
  auto spec = std::make_shared<DrawsSpec>();
  spec->width = dense ? d : dice.between(1, d);
  const bool some = dice.one_in(2);  // whether only some rows have a gradient
  const std::size_t n_gradients = some ? dice.between(1, columns.n_rows) : columns.n_rows;
  spec->gradients.resize(n_gradients * spec->width);
  for (float& gradient : spec->gradients) gradient = dice.number();
  if (!dense) spec->features.resize(spec->gradients.size());
  for (std::int32_t& feature : spec->features) feature = dice.index(d);
  if (some) spec->places.resize(columns.n_rows);
  for (std::int32_t& place : spec->places) {
    place = dice.one_in(2) ? -1 : dice.index(n_gradients);
  }
  spec->scales.resize(d);
  for (float& scale : spec->scales) scale = dice.one_in(8) ? 0.0f : std::fabs(dice.number());
  const float least = dice.one_in(2) ? 0.0f : 0.25f;
  spec->options = {d, count(dice, 3), dice.between(1, 4), dice.between(0, d), least};
  return spec;
}

inline std::vector<double> make_chances(Dice& dice, std::size_t n_columns) {
  std::vector<double> chances(dice.one_in(3) ? n_columns : 0);
  for (double& chance : chances) chance = dice.below(3);
  jarf::check_chances(chances.data(), chances.size());
  return chances;
}

inline std::shared_ptr<jarf::ProposalSpec> make_axes(Dice& dice, const jarf::Columns& columns) {
  auto spec = std::make_shared<jarf::AxesSpec>();
  spec->n_candidates = count(dice, 4);
  spec->chances = make_chances(dice, columns.n_columns);
  return spec;
}

inline std::shared_ptr<jarf::ProposalSpec> make_sums(Dice& dice, const jarf::Columns& columns) {
  const std::size_t d = columns.n_columns;
  auto spec = std::make_shared<jarf::SparseRandomSpec>();
  spec->n_candidates = count(dice, 4);
  spec->mean_size = (dice.uniform() + 1e-9) * static_cast<double>(d);
  spec->scales.resize(d);
  for (float& scale : spec->scales) scale = dice.number();
  spec->chances = make_chances(dice, d);
  jarf::check_sparse_random(spec->mean_size, spec->scales.data(), d);
  return spec;
}

inline std::shared_ptr<jarf::ProposalSpec> make_canonical(Dice& dice,
                                                          const jarf::Columns& columns) {
  auto spec = std::make_shared<jarf::CanonicalSpec>();
  spec->options = {count(dice, columns.n_columns), dice.one_in(2), dice.between(0, 6),
                   dice.between(0, 3), small_dsyev};
  spec->chances = make_chances(dice, columns.n_columns);
  return spec;
}

// Any proposal: a simple one, or proposals within proposals.
inline std::shared_ptr<jarf::ProposalSpec> make_proposal(Dice& dice, const jarf::Columns& columns,
                                                         std::size_t depth = 3) {
  if (columns.rotation) return make_axes(dice, columns);
  switch (dice.below(depth > 0 ? 6 : 4)) {
    case 0: return make_axes(dice, columns);
    case 1: return make_sums(dice, columns);
    case 2: return make_canonical(dice, columns);
    case 3: return make_draws(dice, columns);
    case 4: {
      auto spec = std::make_shared<jarf::LargeNodesSpec>();
      spec->min_rows = dice.between(0, 9);
      spec->inner = make_proposal(dice, columns, depth - 1);
      return spec;
    }
    default: {
      auto spec = std::make_shared<jarf::SequenceSpec>();
      for (std::size_t part = dice.between(1, 3); part > 0; --part) {
        spec->parts.push_back(make_proposal(dice, columns, depth - 1));
      }
      return spec;
    }
  }
}

// All axes (or all with a positive chance), followed by another proposal.
inline std::shared_ptr<jarf::ProposalSpec> beside_all_axes(
    Dice& dice, const jarf::Columns& columns, std::shared_ptr<jarf::ProposalSpec> other) {
  auto axes = std::make_shared<jarf::AxesSpec>();
  axes->n_candidates = columns.n_columns;
  axes->chances = make_chances(dice, columns.n_columns);
  if (dice.one_in(2)) return axes;
  auto spec = std::make_shared<jarf::SequenceSpec>();
  spec->parts = {axes, std::move(other)};
  return spec;
}

// Writes to a matrix of columns: single entries, or one number over a whole column.
inline void change(Dice& dice, std::vector<float>& values, std::size_t n_rows) {
  if (dice.one_in(2)) {
    const auto column = values.begin() + n_rows * dice.index(values.size() / n_rows);
    std::fill(column, column + n_rows, dice.any_number());
    return;
  }
  for (std::size_t stroke = dice.between(1, values.size()); stroke > 0; --stroke) {
    values[dice.index(values.size())] = dice.any_number();
  }
}

// A proposal that writes to the training matrix while the tree grows.
struct MeddlingSpec : jarf::ProposalSpec {
  MeddlingSpec(std::shared_ptr<jarf::ProposalSpec> inner, std::vector<float>& values,
               std::size_t n_rows, std::uint64_t seed)
      : inner(std::move(inner)), values(values), n_rows(n_rows), seed(seed) {}

  class Meddling : public jarf::Proposal {
   public:
    Meddling(std::unique_ptr<jarf::Proposal> inner, std::vector<float>& values, std::size_t n_rows,
             std::uint64_t seed)
        : inner_(std::move(inner)), values_(values), n_rows_(n_rows), dice_(seed) {}
    void begin(const jarf::NodeView& node) override {
      meddle();
      inner_->begin(node);
      meddle();
    }
    bool next(jarf::Direction& candidate) override {
      meddle();
      return inner_->next(candidate);
    }
    void was_constant() override {
      inner_->was_constant();
      meddle();
    }
    std::int32_t memory() const override { return inner_->memory(); }

   private:
    void meddle() {
      if (dice_.one_in(8)) change(dice_, values_, n_rows_);
    }
    std::unique_ptr<jarf::Proposal> inner_;
    std::vector<float>& values_;
    std::size_t n_rows_;
    Dice dice_;
  };

  std::unique_ptr<jarf::Proposal> make(const jarf::Columns& columns) const override {
    return std::make_unique<Meddling>(inner->make(columns), values, n_rows, seed);
  }
  std::shared_ptr<jarf::ProposalSpec> inner;
  std::vector<float>& values;
  std::size_t n_rows;
  std::uint64_t seed;
};

}  // namespace jarf_tests
