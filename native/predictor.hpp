// A fitted forest of sparse oblique splits, and its blocked prediction: trees outside, rows inside.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "border.hpp"
#include "packed_forest.hpp"

namespace jarf {

// A view: a packed forest whose nodes of feature -2 - k split along projection k. The first
// `n_pure` rows of values are those of pure leaves: row c says class c and nothing else.
struct ObliqueForest {
  PackedForest trees;
  const std::int32_t* starts;  // (n_projections + 1)
  std::size_t n_projections;
  const std::int32_t* features;
  const float* loadings;
  std::size_t n_loadings;
  std::size_t n_pure;

  // The value of a row at an inner node, rounded exactly as when the tree was grown.
  float value(const Node& node, const float* row) const {
    if (node.feature >= 0) return row[node.feature];
    const std::int32_t projection = -2 - node.feature;
    std::int32_t k = starts[projection];
    const std::int32_t end = starts[projection + 1];
    float sum = loadings[k] * row[features[k]];
    while (++k < end) sum += loadings[k] * row[features[k]];
    return sum;
  }

  // A node with its first terms beside it. An axis is a sum of one term, short sums are filled up
  // with zeros: every node asks for the same work, and nothing has to be guessed ahead.
  static constexpr std::size_t kTerms = 6;
  struct WideNode {
    std::int32_t feature[kTerms];
    float loading[kTerms];
    float threshold;
    std::int32_t child[2];
    std::int32_t projection;  // of more terms than fit; -1: all are here; -2: a leaf
  };

  std::size_t end_of(std::size_t tree) const {
    return tree + 1 < trees.n_trees ? static_cast<std::size_t>(trees.roots[tree + 1])
                                    : trees.n_nodes;
  }

  // The nodes of one tree, from its root on; children are counted from there.
  void widen(std::size_t tree, std::vector<WideNode>& wide) const {
    const std::int32_t root = trees.roots[tree];
    wide.resize(end_of(tree) - static_cast<std::size_t>(root));
    for (std::size_t index = 0; index < wide.size(); ++index) {
      const Node& node = trees.nodes[static_cast<std::size_t>(root) + index];
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
      const std::int32_t projection = -2 - node.feature;
      const std::size_t first = static_cast<std::size_t>(starts[projection]);
      const std::size_t size = static_cast<std::size_t>(starts[projection + 1]) - first;
      if (size > kTerms) to.projection = projection;
      std::fill_n(to.feature, kTerms, features[first]);
      std::copy_n(features + first, std::min(size, kTerms), to.feature);
      std::copy_n(loadings + first, std::min(size, kTerms), to.loading);
    }
  }

  // The same sum as `value`: adding zeros changes no finite number.
  float value(const WideNode& node, const float* row) const {
    float sum = node.loading[0] * row[node.feature[0]];
    for (std::size_t k = 1; k < kTerms; ++k) sum += node.loading[k] * row[node.feature[k]];
    if (node.projection >= 0) {
      const std::int32_t end = starts[node.projection + 1];
      for (std::int32_t k = starts[node.projection] + static_cast<std::int32_t>(kTerms); k < end;
           ++k) {
        sum += loadings[k] * row[features[k]];
      }
    }
    return sum;
  }

  static bool is_leaf(const Node& node) { return node.feature == -1; }
  static bool is_leaf(const WideNode& node) { return node.projection == -2; }

  // The leaves of up to kLanes rows. They walk side by side: while one waits for its next node
  // the others go on.
  static constexpr std::size_t kLanes = 8;
  template <class AnyNode>
  void leaves_of(const AnyNode* nodes, std::int32_t root, const float* rows, std::size_t n_rows,
                 std::size_t n_features, std::int32_t* leaves) const {
    for (std::size_t lane = 0; lane < n_rows; ++lane) leaves[lane] = root;
    bool moving = true;
    while (moving) {
      moving = false;
      for (std::size_t lane = 0; lane < n_rows; ++lane) {
        const AnyNode& node = nodes[leaves[lane]];
        if (is_leaf(node)) continue;
        moving = true;
        leaves[lane] = node.child[PackedForest::side(node, value(node, rows + lane * n_features))];
      }
    }
  }

  // Calls `visit(tree, row, leaf)` for every pair: trees outside, rows inside. An oblique tree is
  // widened where there are rows enough to pay for it.
  template <class Visit>
  void visit_leaves(const float* rows, std::size_t n_rows, std::size_t n_features,
                    Visit visit) const {
    std::int32_t leaves[kLanes];
    std::vector<WideNode> wide;
    const bool finite = n_projections > 0 && all_finite(rows, n_rows * n_features);
    for (std::size_t tree = 0; tree < trees.n_trees; ++tree) {
      const std::int32_t root = trees.roots[tree];
      const bool widened = finite && end_of(tree) - static_cast<std::size_t>(root) <= 4 * n_rows;
      if (widened) widen(tree, wide);
      for (std::size_t first = 0; first < n_rows; first += kLanes) {
        const std::size_t n_lanes = std::min(kLanes, n_rows - first);
        const float* from = rows + first * n_features;
        if (widened) {
          leaves_of(wide.data(), 0, from, n_lanes, n_features, leaves);
        } else {
          leaves_of(trees.nodes, root, from, n_lanes, n_features, leaves);
        }
        const std::int32_t before = widened ? root : 0;
        for (std::size_t lane = 0; lane < n_lanes; ++lane) {
          visit(tree, first + lane, before + leaves[lane]);
        }
      }
    }
  }

  void check(std::size_t n_features) const {
    trees.check_nodes([&](const Node& node) {
      return node.feature < -1 ? static_cast<std::size_t>(-2 - node.feature) < n_projections
                               : static_cast<std::size_t>(node.feature) < n_features;
    });
    for (std::size_t tree = 0; tree < trees.n_trees; ++tree) {
      const std::size_t end = end_of(tree);
      std::size_t index = static_cast<std::size_t>(trees.roots[tree]);
      require(index < end, "roots must ascend");
      for (; index < end; ++index) {
        const Node& node = trees.nodes[index];
        require(node.feature == -1 || (static_cast<std::size_t>(node.child[0]) < end &&
                                       static_cast<std::size_t>(node.child[1]) < end),
                "a node points into another tree");
      }
    }
    check_projections(starts, n_projections, features, n_loadings, n_features);
    require(n_pure <= trees.n_leaves && n_pure <= trees.n_outputs, "n_pure exceeds the values");
    require(all_finite(trees.values, trees.n_leaves * trees.n_outputs),
            "values of leaves must be finite");
  }
};

// Adds the leaf values of every tree to sums (n_rows, n_outputs). Where `skip` is not null, the
// pair of a tree and a row is left out if skip[tree * skip_stride + row] is set.
inline void add_predictions(const ObliqueForest& forest, const float* rows, std::size_t n_rows,
                            std::size_t n_features, const std::uint8_t* skip,
                            std::size_t skip_stride, double* sums) {
  const std::size_t n_outputs = forest.trees.n_outputs;
  const auto add = [&](std::size_t tree, std::size_t row, std::int32_t node) {
    if (skip && skip[tree * skip_stride + row]) return;
    const std::size_t leaf = static_cast<std::size_t>(forest.trees.nodes[node].child[0]);
    double* sum = sums + row * n_outputs;
    if (leaf < forest.n_pure) {
      sum[leaf] += 1.0;
      return;
    }
    const double* value = forest.trees.values + leaf * n_outputs;
    for (std::size_t c = 0; c < n_outputs; ++c) sum[c] += value[c];
  };
  forest.visit_leaves(rows, n_rows, n_features, add);
}

// The number, within its tree, of the leaf that each row reaches: leaves (n_rows, n_trees).
inline void find_leaves(const ObliqueForest& forest, const float* rows, std::size_t n_rows,
                        std::size_t n_features, std::int64_t* leaves) {
  const auto write = [&](std::size_t tree, std::size_t row, std::int32_t node) {
    leaves[row * forest.trees.n_trees + tree] = node - forest.trees.roots[tree];
  };
  forest.visit_leaves(rows, n_rows, n_features, write);
}

}  // namespace jarf
