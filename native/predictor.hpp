// A fitted forest of sparse oblique splits, and its blocked prediction: trees outside, rows inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

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

  std::int32_t leaf_of(std::int32_t root, const float* row) const {
    std::int32_t index = root;
    while (trees.nodes[index].feature != -1) {
      const Node& node = trees.nodes[index];
      index = value(node, row) <= node.threshold ? node.child[0] : node.child[1];
    }
    return index;
  }

  void check(std::size_t n_features) const {
    trees.check_children([&](const Node& node) {
      return node.feature < -1 ? static_cast<std::size_t>(-2 - node.feature) < n_projections
                               : static_cast<std::size_t>(node.feature) < n_features;
    });
    bool fine = starts[0] == 0 && static_cast<std::size_t>(starts[n_projections]) == n_loadings;
    for (std::size_t k = 0; k < n_projections; ++k) fine = fine && starts[k] < starts[k + 1];
    for (std::size_t k = 0; k < n_loadings; ++k) {
      fine = fine && features[k] >= 0 && static_cast<std::size_t>(features[k]) < n_features;
    }
    if (!fine) throw std::invalid_argument("a projection points outside the columns or the pools");
  }
};

// Adds the leaf values of every tree to sums (n_rows, n_outputs). Where `skip` is not null, the
// pair of a tree and a row is left out if skip[tree * skip_stride + row] is set.
inline void add_predictions(const ObliqueForest& forest, const float* rows, std::size_t n_rows,
                            std::size_t n_features, const std::uint8_t* skip,
                            std::size_t skip_stride, double* sums) {
  const std::size_t n_outputs = forest.trees.n_outputs;
  for (std::size_t tree = 0; tree < forest.trees.n_trees; ++tree) {
    const std::uint8_t* skipped = skip ? skip + tree * skip_stride : nullptr;
    for (std::size_t row = 0; row < n_rows; ++row) {
      if (skipped && skipped[row]) continue;
      const std::int32_t node = forest.leaf_of(forest.trees.roots[tree], rows + row * n_features);
      const std::size_t leaf = static_cast<std::size_t>(forest.trees.nodes[node].child[0]);
      double* sum = sums + row * n_outputs;
      if (leaf < forest.n_pure) {
        sum[leaf] += 1.0;
        continue;
      }
      const double* value = forest.trees.values + leaf * n_outputs;
      for (std::size_t c = 0; c < n_outputs; ++c) sum[c] += value[c];
    }
  }
}

// The number, within its tree, of the leaf that each row reaches: leaves (n_rows, n_trees).
inline void find_leaves(const ObliqueForest& forest, const float* rows, std::size_t n_rows,
                        std::size_t n_features, std::int64_t* leaves) {
  for (std::size_t tree = 0; tree < forest.trees.n_trees; ++tree) {
    const std::int32_t root = forest.trees.roots[tree];
    for (std::size_t row = 0; row < n_rows; ++row) {
      leaves[row * forest.trees.n_trees + tree] =
          forest.leaf_of(root, rows + row * n_features) - root;
    }
  }
}

}  // namespace jarf
