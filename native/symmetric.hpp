// Symmetric trees of Newton steps: one cut divides all nodes of a level. A tree of a few cuts then
// has many leaves, and a cut that is useless alone but useful with later ones can be found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "grower.hpp"
#include "newton.hpp"
#include "proposals.hpp"
#include "rng.hpp"
#include "team.hpp"

namespace jarf {

// Gradients and hessians of one output; both are multiplied by the row weights.
struct NewtonRows {
  const double* gradients;
  const double* hessians;
  const double* weights;
  std::size_t n_rows;
  double l2, min_hessian;
};

// Cuts are axes with bins. A level takes the cut with the largest sum of the nodes' scores. A node
// is left whole by a cut that would leave too few rows or hessians on one side, and may be divided
// by the cuts of later levels.
class SymmetricGrower {
 public:
  static GrownTree grow(const Columns& columns, const NewtonRows& steps, Proposal& proposal,
                        std::vector<std::uint32_t> rows, std::uint64_t seed, const Limits& limits,
                        const std::function<bool()>& should_stop, bool keep_leaves,
                        const Team& team) {
    SymmetricGrower grower(columns, steps, proposal, std::move(rows), seed, limits, team);
    if (keep_leaves) grower.tree_.leaves.assign(columns.n_rows, -1);
    const auto pause = [&] {
      if (should_stop()) throw Stopped();
    };
    for (std::size_t level = 0; level < limits.max_depth && grower.add_level(pause); ++level) {
      pause();
    }
    grower.make_leaves();
    return std::move(grower.tree_);
  }

 private:
  // A node that is not divided yet: a range of the tree's rows.
  struct Part {
    std::size_t begin, end;
    std::int32_t node;
    double gradient, hessian, score;
    bool may_split;
    std::size_t size() const { return end - begin; }
  };
  struct Cut {
    double score = -std::numeric_limits<double>::infinity();
    std::size_t bin = 0;
    std::uint32_t feature = 0;
  };
  struct Side {
    double gradient = 0.0, hessian = 0.0;
    std::size_t n_rows = 0;
  };

  SymmetricGrower(const Columns& columns, const NewtonRows& steps, Proposal& proposal,
                  std::vector<std::uint32_t> rows, std::uint64_t seed, const Limits& limits,
                  const Team& team)
      : columns_(columns),
        steps_(steps),
        proposal_(proposal),
        rows_(std::move(rows)),
        rng_(seed),
        limits_(limits),
        team_(team),
        pairs_(2 * rows_.size()),
        goes_left_(rows_.size()),
        right_(rows_.size()) {
    double whole = 0.0;
    for (std::size_t i = 0; i < steps.n_rows; ++i) whole += steps.weights[i] * steps.hessians[i];
    min_side_ = std::max(steps.min_hessian, limits.min_weight_fraction_leaf * whole);
    min_gain_ = limits.min_impurity_decrease * whole;
    parts_.push_back(part(0, rows_.size()));
  }

  // A new node with these rows, whose steps are gathered.
  Part part(std::size_t begin, std::size_t end) {
    Part part{begin, end, static_cast<std::int32_t>(tree_.nodes.size()), 0.0, 0.0, 0.0, false};
    double weight = 0.0;
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t row = rows_[i];
      weight += steps_.weights[row];
      part.gradient += pairs_[2 * i] = steps_.weights[row] * steps_.gradients[row];
      part.hessian += pairs_[2 * i + 1] = steps_.weights[row] * steps_.hessians[row];
    }
    part.score = score_of(part.gradient, part.hessian);
    const std::size_t least = std::max(limits_.min_samples_split, 2 * limits_.min_samples_leaf);
    part.may_split = part.size() >= std::max<std::size_t>(least, 2);
    tree_.nodes.push_back({-1, 0.0f, {0, 0}});
    tree_.weights.push_back(weight);
    tree_.gains.push_back(0.0);
    return part;
  }

  double score_of(double gradient, double hessian) const {
    const double sum = hessian + steps_.l2;
    return sum > Newton<1>::kTiny ? gradient * gradient / sum : 0.0;
  }

  // The score of a divided node, or of the whole node if the cut does not divide it.
  double score_of(const Part& part, const Side& left) const {
    if (!divides(part, left)) return part.score;
    const double rest = part.hessian - left.hessian, noise = Newton<1>::kNoise * part.hessian;
    return score_of(left.gradient, left.hessian > noise ? left.hessian : 0.0) +
           score_of(part.gradient - left.gradient, rest > noise ? rest : 0.0);
  }

  bool divides(const Part& part, const Side& left) const {
    return left.n_rows >= limits_.min_samples_leaf &&
           part.size() - left.n_rows >= limits_.min_samples_leaf && left.hessian >= min_side_ &&
           part.hessian - left.hessian >= min_side_;
  }

  // Divides the nodes by the best cut; false if no cut gains.
  template <class Pause>
  bool add_level(const Pause& pause) {
    const std::vector<std::uint32_t> features = draw_features();
    std::vector<Cut> cuts(features.size());
    const auto search = [&](std::size_t k) { cuts[k] = best_cut(features[k]); };
    team_.share(features.size(), features.size() * rows_.size(), search, pause);
    Cut best;
    for (const Cut& cut : cuts) {
      if (cut.score > best.score) best = cut;
    }
    double before = 0.0;
    for (const Part& part : parts_) before += part.score;
    const double gain = best.score - before;
    if (!(gain > 0.0) || gain < min_gain_ * (1.0 - 1e-12)) return false;
    return divide(best);
  }

  std::vector<std::uint32_t> draw_features() {
    std::vector<std::uint32_t> features;
    proposal_.begin({{&columns_, rows_.data()}, rows_.data(), rows_.size(), memory_, {}, &rng_});
    Direction candidate;
    while (proposal_.next(candidate)) {
      const auto feature = static_cast<std::uint32_t>(candidate.features[0]);
      if (columns_.bins(feature) < 2) {
        proposal_.was_constant();
      } else {
        features.push_back(feature);
      }
    }
    memory_ = proposal_.memory();
    return features;
  }

  // The bin after which this column is best cut, judged by the scores of all nodes.
  Cut best_cut(std::uint32_t feature) const {
    const std::size_t n_bins = columns_.bins(feature);
    const std::uint8_t* codes = columns_.code_column(feature);
    double whole = 0.0, scores[kMaxBins] = {}, sums[2 * kMaxBins];
    std::uint32_t counts[kMaxBins];
    for (const Part& part : parts_) {
      if (!part.may_split) {
        whole += part.score;
        continue;
      }
      if (n_bins == 2) {
        fill_pair(part, codes, sums, counts);
      } else {
        fill(part, codes, n_bins, sums, counts);
      }
      Side left;
      double score = part.score;
      for (std::size_t bin = 0; bin + 1 < n_bins; ++bin) {
        if (counts[bin] > 0) {  // otherwise the node is divided as by the cut before
          left.gradient += sums[2 * bin];
          left.hessian += sums[2 * bin + 1];
          left.n_rows += counts[bin];
          score = score_of(part, left);
        }
        scores[bin] += score;
      }
    }
    Cut best;
    for (std::size_t bin = 0; bin + 1 < n_bins; ++bin) {
      if (whole + scores[bin] > best.score) best = {whole + scores[bin], bin, feature};
    }
    return best;
  }

  // Adds up the gradients, hessians and rows of a node in the bins of a column.
  void fill(const Part& part, const std::uint8_t* codes, std::size_t n_bins, double* sums,
            std::uint32_t* counts) const {
    std::fill(sums, sums + 2 * n_bins, 0.0);
    std::fill(counts, counts + n_bins, 0U);
    for (std::size_t i = part.begin; i < part.end; ++i) {
      const std::size_t bin = codes[rows_[i]];
      sums[2 * bin] += pairs_[2 * i];
      sums[2 * bin + 1] += pairs_[2 * i + 1];
      ++counts[bin];
    }
  }

  // The same for two bins, whose sums stay in registers. Adding zero to a sum does not change it.
  void fill_pair(const Part& part, const std::uint8_t* codes, double* sums,
                 std::uint32_t* counts) const {
    double gradient[2] = {}, hessian[2] = {};
    std::uint32_t n_second = 0;
    for (std::size_t i = part.begin; i < part.end; ++i) {
      const std::uint32_t bin = codes[rows_[i]];
      const double second = bin, first = 1.0 - second;
      gradient[0] += first * pairs_[2 * i];
      gradient[1] += second * pairs_[2 * i];
      hessian[0] += first * pairs_[2 * i + 1];
      hessian[1] += second * pairs_[2 * i + 1];
      n_second += bin;
    }
    for (std::size_t bin = 0; bin < 2; ++bin) {
      sums[2 * bin] = gradient[bin];
      sums[2 * bin + 1] = hessian[bin];
    }
    counts[0] = static_cast<std::uint32_t>(part.size()) - n_second;
    counts[1] = n_second;
  }

  // Returns whether any node was divided: a gain may be pure rounding error.
  bool divide(const Cut& cut) {
    const std::size_t at = cut.feature * kMaxBins + cut.bin;
    const float threshold = between(columns_.highest[at], columns_.lowest[at + 1]);
    std::vector<Part> parts;
    for (const Part& whole : parts_) {
      const Side left = send_left(whole, columns_.column(cut.feature), threshold);
      if (!whole.may_split || !divides(whole, left)) {
        parts.push_back(whole);
        continue;
      }
      tree_.gains[whole.node] = std::max(0.0, score_of(whole, left) - whole.score);
      const std::size_t middle = whole.begin + left.n_rows;
      partition(whole);
      parts.push_back(part(whole.begin, middle));
      parts.push_back(part(middle, whole.end));
      const std::int32_t first = parts[parts.size() - 2].node, second = parts.back().node;
      const auto feature = static_cast<std::int32_t>(cut.feature);
      tree_.nodes[whole.node] = {feature, threshold, {first, second}};
    }
    const bool divided = parts.size() > parts_.size();
    parts_ = std::move(parts);
    return divided;
  }

  // Marks the rows of a node that go left and adds them up. Values decide, as in predictions.
  Side send_left(const Part& whole, const float* column, float threshold) {
    Side left;
    for (std::size_t i = whole.begin; i < whole.end; ++i) {
      goes_left_[i] = column[rows_[i]] <= threshold;
      if (!goes_left_[i]) continue;
      left.gradient += pairs_[2 * i];
      left.hessian += pairs_[2 * i + 1];
      ++left.n_rows;
    }
    return left;
  }

  // Moves the marked rows of a node to its front; rows keep their order.
  void partition(const Part& whole) {
    std::size_t n_left = 0, n_right = 0;
    for (std::size_t i = whole.begin; i < whole.end; ++i) {
      const std::uint32_t row = rows_[i];
      const bool is_left = goes_left_[i];
      rows_[whole.begin + n_left] = row;
      right_[n_right] = row;
      n_left += is_left;
      n_right += !is_left;
    }
    std::copy(right_.begin(), right_.begin() + n_right, rows_.begin() + whole.begin + n_left);
  }

  void make_leaves() {
    for (const Part& part : parts_) {
      const auto value = static_cast<std::int32_t>(tree_.values.size());
      const double sum = part.hessian + steps_.l2;
      tree_.values.push_back(sum > Newton<1>::kTiny ? -part.gradient / sum : 0.0);
      tree_.nodes[part.node] = {-1, 0.0f, {value, value}};
      if (tree_.leaves.empty()) continue;
      for (std::size_t i = part.begin; i < part.end; ++i) tree_.leaves[rows_[i]] = part.node;
    }
  }

  const Columns& columns_;
  const NewtonRows& steps_;
  Proposal& proposal_;
  std::vector<std::uint32_t> rows_;
  Rng rng_;
  Limits limits_;
  Team team_;
  std::vector<double> pairs_;  // gradient and hessian of each entry of `rows_`
  std::vector<std::uint8_t> goes_left_;
  std::vector<std::uint32_t> right_;
  double min_side_, min_gain_;
  std::int32_t memory_ = 0;
  std::vector<Part> parts_;
  GrownTree tree_;
};

}  // namespace jarf
