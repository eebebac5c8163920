// A fitted forest of sparse oblique splits, and its blocked prediction: trees outside, rows inside.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

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

  // The leaves of up to kLanes rows. They walk side by side: while one waits for its next node
  // the others go on.
  static constexpr std::size_t kLanes = 8;
  void leaves_of(std::int32_t root, const float* rows, std::size_t n_rows, std::size_t n_features,
                 std::int32_t* leaves) const {
    for (std::size_t lane = 0; lane < n_rows; ++lane) leaves[lane] = root;
    bool moving = true;
    while (moving) {
      moving = false;
      for (std::size_t lane = 0; lane < n_rows; ++lane) {
        const Node& node = trees.nodes[leaves[lane]];
        if (node.feature == -1) continue;
        moving = true;
        leaves[lane] = node.child[PackedForest::side(node, value(node, rows + lane * n_features))];
      }
    }
  }

  // Calls `visit(tree, row, leaf)` for every pair: trees outside, rows inside.
  template <class Visit>
  void visit_leaves(const float* rows, std::size_t n_rows, std::size_t n_features,
                    Visit visit) const {
    std::int32_t leaves[kLanes];
    for (std::size_t tree = 0; tree < trees.n_trees; ++tree) {
      for (std::size_t first = 0; first < n_rows; first += kLanes) {
        const std::size_t n_lanes = std::min(kLanes, n_rows - first);
        leaves_of(trees.roots[tree], rows + first * n_features, n_lanes, n_features, leaves);
        for (std::size_t lane = 0; lane < n_lanes; ++lane) visit(tree, first + lane, leaves[lane]);
      }
    }
  }

  void check(std::size_t n_features) const {
    trees.check_nodes([&](const Node& node) {
      return node.feature < -1 ? static_cast<std::size_t>(-2 - node.feature) < n_projections
                               : static_cast<std::size_t>(node.feature) < n_features;
    });
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
