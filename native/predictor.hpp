// Blocked prediction of a fitted forest: the outer loop runs over trees, the inner one over rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "border.hpp"
#include "forest.hpp"

namespace jarf {

// Walks rows down the trees of a checked forest.
class Predictor {
 public:
  explicit Predictor(const Forest& forest) : forest_(forest) {}

  // A node stored together with its first terms. An axis is a sum of one term, and short sums are
  // padded with zeros. Every node takes the same work, without unpredictable branches.
  static constexpr std::size_t kTerms = 6;
  struct WideNode {
    std::int32_t feature[kTerms];
    float loading[kTerms];
    float threshold;
    std::int32_t child[2];
    std::int32_t projection;  // if it has more than kTerms terms; -1: no more terms; -2: a leaf
  };

  // Copies the nodes of one tree, from its root. Child indices are relative to the root.
  void widen(std::size_t tree, std::vector<WideNode>& wide) const {
    const std::int32_t root = forest_.roots[tree];
    wide.resize(forest_.end_of(tree) - static_cast<std::size_t>(root));
    for (std::size_t index = 0; index < wide.size(); ++index) {
      const Node& node = forest_.nodes[static_cast<std::size_t>(root) + index];
      WideNode& to = wide[index];
      to = WideNode{};
      to.projection = node.feature == -1 ? -2 : -1;
      if (node.feature == -1) continue;
      to.threshold = node.threshold;
      to.child[0] = node.child[0] - root;
      to.child[1] = node.child[1] - root;
      if (node.feature >= 0) {
        std::fill_n(to.feature, kTerms, node.feature);
        to.loading[0] = 1.0f;
        continue;
      }
      const Direction direction = forest_.direction(node);
      const std::size_t n_terms = std::min(direction.size, kTerms);
      if (direction.size > kTerms) to.projection = -2 - node.feature;
      std::fill_n(to.feature, kTerms, direction.features[0]);
      std::copy_n(direction.features, n_terms, to.feature);
      std::copy_n(direction.loadings, n_terms, to.loading);
    }
  }

  float value(const Node& node, const float* row) const { return forest_.value(node, row); }

  // Returns the same sum: adding zeros does not change a finite number.
  float value(const WideNode& node, const float* row) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < kTerms; ++k) {
      sum += static_cast<double>(node.loading[k]) * row[node.feature[k]];
    }
    if (node.projection >= 0) {
      const std::int32_t end = forest_.starts[node.projection + 1];
      for (std::int32_t k = forest_.starts[node.projection] + static_cast<std::int32_t>(kTerms);
           k < end; ++k) {
        sum += static_cast<double>(forest_.loadings[k]) * row[forest_.features[k]];
      }
    }
    return static_cast<float>(sum);
  }

  static bool is_leaf(const Node& node) { return Forest::is_leaf(node); }
  static bool is_leaf(const WideNode& node) { return node.projection == -2; }

  // Finds the leaves of up to kLanes rows. The rows walk side by side, so that memory latency of
  // one row overlaps with work on the others.
  static constexpr std::size_t kLanes = 8;
  template <class AnyNode>
  void leaves_of(const AnyNode* nodes, std::int32_t root, const float* rows, std::size_t n_rows,
                 std::int32_t* leaves) const {
    for (std::size_t lane = 0; lane < n_rows; ++lane) leaves[lane] = root;
    bool moving = true;
    while (moving) {
      moving = false;
      for (std::size_t lane = 0; lane < n_rows; ++lane) {
        const AnyNode& node = nodes[leaves[lane]];
        if (is_leaf(node)) continue;
        moving = true;
        const float* row = rows + lane * forest_.n_features;
        leaves[lane] = node.child[Forest::side(node, value(node, row))];
      }
    }
  }

  // Calls `visit(tree, row, leaf)` for every pair, with trees in the outer loop. Oblique trees are
  // widened if there are enough rows to repay the cost.
  template <class Visit>
  void visit_leaves(const float* rows, std::size_t n_rows, Visit visit) const {
    std::int32_t leaves[kLanes];
    std::vector<WideNode> wide;
    const bool finite =
        forest_.n_projections > 0 && all_finite(rows, n_rows * forest_.n_features);
    for (std::size_t tree = 0; tree < forest_.n_trees; ++tree) {
      const std::int32_t root = forest_.roots[tree];
      const std::size_t n_nodes = forest_.end_of(tree) - static_cast<std::size_t>(root);
      const bool widened = finite && n_nodes <= 4 * n_rows;
      if (widened) widen(tree, wide);
      for (std::size_t first = 0; first < n_rows; first += kLanes) {
        const std::size_t n_lanes = std::min(kLanes, n_rows - first);
        const float* from = rows + first * forest_.n_features;
        if (widened) {
          leaves_of(wide.data(), 0, from, n_lanes, leaves);
        } else {
          leaves_of(forest_.nodes, root, from, n_lanes, leaves);
        }
        const std::int32_t before = widened ? root : 0;
        for (std::size_t lane = 0; lane < n_lanes; ++lane) {
          visit(tree, first + lane, before + leaves[lane]);
        }
      }
    }
  }

 private:
  const Forest& forest_;
};

// Adds the leaf values of every tree to sums (n_rows, n_outputs). If `skip` is not null, pairs of a
// tree and a row with skip[tree * skip_stride + row] set are left out.
inline void add_predictions(const Forest& forest, const float* rows, std::size_t n_rows,
                            const std::uint8_t* skip, std::size_t skip_stride, double* sums) {
  const std::size_t n_outputs = forest.n_outputs;
  const auto add = [&](std::size_t tree, std::size_t row, std::int32_t node) {
    if (skip && skip[tree * skip_stride + row]) return;
    const std::size_t leaf = static_cast<std::size_t>(forest.nodes[node].child[0]);
    double* sum = sums + row * n_outputs;
    if (leaf < forest.n_pure) {
      sum[leaf] += 1.0;
      return;
    }
    const double* value = forest.values + leaf * n_outputs;
    for (std::size_t c = 0; c < n_outputs; ++c) sum[c] += value[c];
  };
  Predictor(forest).visit_leaves(rows, n_rows, add);
}

// Writes the index, within its tree, of the leaf that each row reaches: leaves (n_rows, n_trees).
inline void find_leaves(const Forest& forest, const float* rows, std::size_t n_rows,
                        std::int64_t* leaves) {
  const auto write = [&](std::size_t tree, std::size_t row, std::int32_t node) {
    leaves[row * forest.n_trees + tree] = node - forest.roots[tree];
  };
  Predictor(forest).visit_leaves(rows, n_rows, write);
}

}  // namespace jarf
