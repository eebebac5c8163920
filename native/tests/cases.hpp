// Generated cases for the fuzz target and the thread test: numbers at the edge, forests whole and
// broken, training tables. Everything lives in vectors of exactly its size, so that
// AddressSanitizer sees the first byte beyond.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "../border.hpp"
#include "../canonical.hpp"
#include "../gradient_draws.hpp"
#include "../grower.hpp"
#include "../predictor.hpp"
#include "../rng.hpp"
#include "../tree_differences.hpp"

namespace jarf_tests {

class Dice : public jarf::Rng {
 public:
  using Rng::Rng;
  bool one_in(std::uint32_t n) { return below(n) == 0; }
  std::size_t between(std::size_t low, std::size_t high) {
    return low + below(static_cast<std::uint32_t>(high - low + 1));
  }

  // Mostly plain, now and then at the edge of float32, never NaN or infinite.
  float number() {
    constexpr float kMax = std::numeric_limits<float>::max();
    constexpr float kTiny = std::numeric_limits<float>::denorm_min();
    const float edges[] = {0.0f, -0.0f, kMax, -kMax, kTiny, -kTiny, 1e30f, -1e30f, 1e-30f, 1.0f};
    if (one_in(6)) return edges[below(10)];
    if (one_in(3)) return static_cast<float>(below(4));  // ties
    return static_cast<float>(normal());
  }
  // The same, and what a caller should never send.
  float any_number() {
    if (one_in(12)) return std::numeric_limits<float>::quiet_NaN();
    if (one_in(12)) return one_in(2) ? HUGE_VALF : -HUGE_VALF;
    return number();
  }
  std::int32_t any_index(std::size_t bound) {
    const std::int32_t edges[] = {-1, -2, INT32_MIN, INT32_MAX, static_cast<std::int32_t>(bound)};
    return one_in(8) ? edges[below(5)] : static_cast<std::int32_t>(below(bound > 0 ? bound : 1));
  }
};

// --- a fitted forest ---------------------------------------------------------------------------

struct ForestArrays {
  std::vector<jarf::Node> nodes;
  std::vector<std::int32_t> roots, starts{0}, features;
  std::vector<float> loadings;
  std::vector<double> values;
  std::size_t n_outputs = 1, n_features = 1, n_pure = 0;

  std::size_t n_leaves() const { return values.size() / n_outputs; }
  jarf::PackedForest packed() const {
    return {nodes.data(), nodes.size(), roots.data(), roots.size(), values.data(), n_leaves(),
            n_outputs};
  }
  jarf::ObliqueForest oblique() const {
    return {packed(), starts.data(), starts.size() - 1, features.data(), loadings.data(),
            loadings.size(), n_pure};
  }
};

// Appends a whole random tree; inner nodes split on axes, or on projections where there are some.
inline std::int32_t add_tree(Dice& dice, ForestArrays& forest, std::size_t depth) {
  const auto at = static_cast<std::int32_t>(forest.nodes.size());
  forest.nodes.push_back({-1, 0.0f, {0, 0}});
  if (depth == 0 || dice.one_in(4)) {
    const auto leaf = static_cast<std::int32_t>(dice.below(forest.n_leaves()));
    forest.nodes[at].child[0] = forest.nodes[at].child[1] = leaf;
    return at;
  }
  const std::size_t n_projections = forest.starts.size() - 1;
  std::int32_t feature = static_cast<std::int32_t>(dice.below(forest.n_features));
  if (n_projections > 0 && dice.one_in(2)) {
    feature = -2 - static_cast<std::int32_t>(dice.below(n_projections));
  }
  const float threshold = dice.number();
  const std::int32_t left = add_tree(dice, forest, depth - 1);
  const std::int32_t right = add_tree(dice, forest, depth - 1);
  forest.nodes[at] = {feature, threshold, {left, right}};
  return at;
}

inline void add_projections(Dice& dice, ForestArrays& forest, std::size_t n_projections) {
  for (std::size_t k = n_projections; k > 0; --k) {
    for (std::size_t size = dice.between(1, 3); size > 0; --size) {
      forest.features.push_back(static_cast<std::int32_t>(dice.below(forest.n_features)));
      forest.loadings.push_back(dice.any_number());
    }
    forest.starts.push_back(static_cast<std::int32_t>(forest.features.size()));
  }
}

inline ForestArrays make_forest(Dice& dice, bool oblique) {
  ForestArrays forest;
  forest.n_features = dice.between(1, 5);
  forest.n_outputs = dice.between(1, 3);
  forest.values.resize(dice.between(1, 6) * forest.n_outputs);
  for (double& value : forest.values) value = dice.normal();
  if (oblique) {
    add_projections(dice, forest, dice.below(4));
    forest.n_pure = dice.below(std::min(forest.n_leaves(), forest.n_outputs) + 1);
  }
  for (std::size_t tree = dice.between(1, 3); tree > 0; --tree) {
    forest.roots.push_back(add_tree(dice, forest, dice.below(5)));
  }
  return forest;
}

// One to three strokes at a whole forest: some leave it whole, most do not.
inline void damage(Dice& dice, ForestArrays& forest) {
  for (std::size_t stroke = dice.between(1, 3); stroke > 0; --stroke) {
    jarf::Node& node = forest.nodes[dice.below(forest.nodes.size())];
    switch (dice.below(9)) {
      case 0: node.feature = dice.any_index(forest.n_features); break;
      case 1: node.child[dice.below(2)] = dice.any_index(forest.nodes.size()); break;
      case 2: node.threshold = dice.any_number(); break;
      case 3:
        forest.roots[dice.below(forest.roots.size())] = dice.any_index(forest.nodes.size());
        break;
      case 4: forest.values.resize(forest.n_outputs * dice.below(forest.n_leaves() + 1)); break;
      case 5: if (forest.nodes.size() > 1) forest.nodes.pop_back(); break;
      case 6: if (!forest.features.empty()) {
        forest.features[dice.below(forest.features.size())] = dice.any_index(forest.n_features);
      } break;
      case 7: forest.starts[dice.below(forest.starts.size())] = dice.any_index(9); break;
      default: if (!forest.values.empty()) forest.values.back() = HUGE_VAL;
    }
    if (forest.nodes.empty()) return;
  }
  forest.nodes.shrink_to_fit();
  forest.values.shrink_to_fit();
}

// --- a training table --------------------------------------------------------------------------

struct TableArrays {
  std::size_t n_rows, n_columns, n_classes;
  std::vector<float> values, lowest, highest;
  std::vector<std::uint8_t> codes;
  std::vector<std::int32_t> n_bins, labels;
  std::vector<double> responses, weights;
  ForestArrays projections;  // of a rotated table, else none
  jarf::Rotation rotation{};

  bool rotated() const { return projections.starts.size() > 1; }
  jarf::Columns columns() {
    jarf::Columns view{values.data(), n_rows, n_columns};
    if (rotated()) {
      rotation = {projections.starts.data(), projections.features.data(),
                  projections.loadings.data()};
      view.rotation = &rotation;
      view.n_columns = projections.starts.size() - 1;
      return view;
    }
    if (codes.empty()) return view;
    view.codes = codes.data();
    view.lowest = lowest.data();
    view.highest = highest.data();
    view.n_bins = n_bins.data();
    return view;
  }
};

inline TableArrays make_table(Dice& dice, std::size_t most_rows) {
  TableArrays table;
  table.n_rows = dice.between(1, most_rows);
  table.n_columns = dice.between(1, 4);
  table.n_classes = dice.between(1, 4);
  table.values.resize(table.n_rows * table.n_columns);
  const bool wild = dice.one_in(2);
  for (float& value : table.values) {
    value = wild ? dice.number() : static_cast<float>(dice.normal());
  }
  for (std::size_t i = 0; i < table.n_rows; ++i) {
    table.labels.push_back(static_cast<std::int32_t>(dice.below(table.n_classes)));
    table.responses.push_back(wild ? dice.number() : dice.normal());
    table.weights.push_back(dice.one_in(4) ? dice.below(3) : wild ? std::fabs(dice.number()) : 1.0);
  }
  return table;
}

inline void add_bins(TableArrays& table) {
  table.codes.resize(table.values.size());
  table.lowest.resize(table.n_columns * jarf::kMaxBins);
  table.highest.resize(table.n_columns * jarf::kMaxBins);
  std::vector<float> sorted;
  for (std::size_t j = 0; j < table.n_columns; ++j) {
    table.n_bins.push_back(jarf::bin_column(
        table.values.data() + j * table.n_rows, table.n_rows, table.codes.data() + j * table.n_rows,
        table.lowest.data() + j * jarf::kMaxBins, table.highest.data() + j * jarf::kMaxBins,
        sorted));
  }
}

// --- proposals ---------------------------------------------------------------------------------

// Jacobi rotations behind LAPACK's signature: no library is needed here.
inline void small_dsyev(char*, char*, int* size, double* a, int*, double* w, double*, int*,
                        int* info) {
  const int n = *size;
  std::vector<double> v(n * n, 0.0), order;
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
  std::vector<int> rank(n);
  for (int i = 0; i < n; ++i) rank[i] = i;
  const std::vector<double> turned(a, a + n * n);
  std::sort(rank.begin(), rank.end(),
            [&](int i, int j) { return turned[i * n + i] < turned[j * n + j]; });
  for (int i = 0; i < n; ++i) {
    w[i] = turned[rank[i] * n + rank[i]];
    for (int k = 0; k < n; ++k) a[i * n + k] = v[rank[i] * n + k];
  }
  *info = 0;
}

// Owns the gradients that its proposals look at.
struct Proposals {
  std::vector<float> gradients;
  std::vector<std::int32_t> places;
  jarf::GradientSource source{};

  std::unique_ptr<jarf::Proposal> gradient_draws(Dice& dice, const TableArrays& table) {
    const std::size_t d = table.n_columns;
    const bool dense = dice.one_in(2);
    const std::size_t width = dense ? d : dice.between(1, d);
    gradients.resize(table.n_rows * width);
    for (float& gradient : gradients) gradient = dice.number();
    for (std::size_t k = 0; !dense && k < gradients.size(); ++k) {
      places.push_back(static_cast<std::int32_t>(dice.below(d)));
    }
    source = {gradients.data(), dense ? nullptr : places.data(), width};
    jarf::check_gradients(source, table.n_rows, d);
    std::vector<float> spreads(d);
    for (float& spread : spreads) spread = dice.one_in(8) ? 0.0f : std::fabs(dice.number());
    const jarf::GradientDrawsOptions options{d, dice.between(0, 3), dice.between(1, 4),
                                             dice.between(0, d)};
    return std::make_unique<jarf::GradientDraws>(std::vector<jarf::GradientSource>{source}, spreads,
                                                 options);
  }

  std::unique_ptr<jarf::Proposal> canonical(Dice& dice, const jarf::Columns& columns,
                                            const std::vector<double>& chances) {
    const jarf::CanonicalOptions options{dice.between(0, columns.n_columns), dice.one_in(2),
                                         dice.between(0, 6), dice.between(0, 3), small_dsyev};
    return std::make_unique<jarf::CanonicalCorrelation>(columns, options, chances);
  }

  std::unique_ptr<jarf::Proposal> make(Dice& dice, const TableArrays& table,
                                       const jarf::Columns& columns) {
    const std::size_t d = columns.n_columns, n_candidates = dice.between(0, 4);
    std::vector<double> chances;
    if (dice.one_in(3)) {
      for (std::size_t j = 0; j < d; ++j) chances.push_back(dice.below(3));
    }
    std::vector<float> scales(d);
    std::vector<std::unique_ptr<jarf::Proposal>> parts;
    switch (table.rotated() ? 0 : dice.below(5)) {
      case 0:
        return std::make_unique<jarf::Axes>(d, n_candidates, chances);
      case 1:
        for (float& scale : scales) scale = dice.number();
        return std::make_unique<jarf::SparseRandom>(
            columns, n_candidates, (dice.uniform() + 1e-9) * d, scales, chances);
      case 2:
        return canonical(dice, columns, chances);
      case 3:
        return gradient_draws(dice, table);
      default:
        parts.push_back(std::make_unique<jarf::Axes>(d, n_candidates, chances));
        parts.push_back(
            std::make_unique<jarf::LargeNodes>(dice.between(0, 9), gradient_draws(dice, table)));
        parts.push_back(canonical(dice, columns, {}));
        return std::make_unique<jarf::Sequence>(std::move(parts));
    }
  }
};

}  // namespace jarf_tests
