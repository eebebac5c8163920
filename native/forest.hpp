// A fitted forest as flat arrays: the only format of trees, grown here or imported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "border.hpp"
#include "columns.hpp"

namespace jarf {

// One node. A leaf has feature -1 and stores its row of `values` in `child[0]`. Feature -2 - k
// refers to projection k.
struct Node {
  std::int32_t feature;
  float threshold;
  std::int32_t child[2];
};
static_assert(sizeof(Node) == 16, "Node crosses the border as four 32-bit words");

// A view: the caller owns the arrays. The first `n_pure` rows of values belong to pure leaves: row
// c is 1 for class c and 0 elsewhere.
struct Forest {
  const Node* nodes;
  std::size_t n_nodes;
  const std::int32_t* roots;
  std::size_t n_trees;
  const double* values;  // (n_leaves, n_outputs)
  std::size_t n_leaves;
  std::size_t n_outputs;
  const std::int32_t* starts;  // (n_projections + 1)
  std::size_t n_projections;
  const std::int32_t* features;
  const float* loadings;
  std::size_t n_loadings;
  std::size_t n_pure;
  std::size_t n_features;

  static bool is_leaf(const Node& node) { return node.feature == -1; }

  // The child that a value goes to at an inner node, by the same comparison as in scikit-learn's
  // trees. Computed without a branch, because paths through a tree are hard to predict.
  template <class AnyNode>
  static int side(const AnyNode& node, float x) {
    return !(x <= node.threshold);
  }

  // The direction of an oblique node.
  Direction direction(const Node& node) const {
    const std::int32_t projection = -2 - node.feature;
    const std::int32_t start = starts[projection];
    return {features + start, loadings + start,
            static_cast<std::size_t>(starts[projection + 1] - start)};
  }

  // The value of a row at an inner node, rounded exactly as during growth.
  float value(const Node& node, const float* row) const {
    return value_at(node, [row](std::int32_t feature) { return row[feature]; });
  }

  // The same for a row whose feature j is replaced by `moved`.
  float value_moved(const Node& node, const float* row, std::int32_t j, float moved) const {
    return value_at(node, [=](std::int32_t at) { return at == j ? moved : row[at]; });
  }

  std::size_t end_of(std::size_t tree) const {
    return tree + 1 < n_trees ? static_cast<std::size_t>(roots[tree + 1]) : n_nodes;
  }

  // Rejects arrays on which a walk could go out of bounds or never end: children must come after
  // their parent and belong to the same tree.
  void check() const {
    require(n_features > 0, "a forest needs at least one feature");
    check_roots();
    for (std::size_t tree = 0; tree < n_trees; ++tree) {
      for (std::size_t index = roots[tree]; index < end_of(tree); ++index) {
        check_node(index, end_of(tree));
      }
    }
    check_projections(starts, n_projections, features, n_loadings, n_features);
    require(all_finite(values, n_leaves * n_outputs), "values of leaves must be finite");
    check_pure();
  }

 private:
  // Products are exact in double precision and their sum is rounded once.
  template <class Feature>
  float value_at(const Node& node, Feature at) const {
    if (node.feature >= 0) return at(node.feature);
    const Direction direction = this->direction(node);
    double sum = 0.0;
    for (std::size_t k = 0; k < direction.size; ++k) {
      sum += static_cast<double>(direction.loadings[k]) * at(direction.features[k]);
    }
    return static_cast<float>(sum);
  }

  void check_roots() const {
    require(n_trees == 0 ? n_nodes == 0 : roots[0] == 0, "the first tree must begin at node 0");
    for (std::size_t tree = 0; tree < n_trees; ++tree) {
      const bool ascends = tree == 0 || roots[tree] > roots[tree - 1];
      require(ascends && static_cast<std::size_t>(roots[tree]) < n_nodes,
              "roots must ascend and lie within the nodes");
    }
  }

  void check_node(std::size_t index, std::size_t end) const {
    const Node& node = nodes[index];
    const auto inside = [&](std::int32_t child) {
      return child > static_cast<std::int64_t>(index) && static_cast<std::size_t>(child) < end;
    };
    const bool known = node.feature < -1
                           ? static_cast<std::size_t>(-2 - node.feature) < n_projections
                           : static_cast<std::size_t>(node.feature) < n_features;
    const bool fine = is_leaf(node)
                          ? node.child[0] >= 0 && static_cast<std::size_t>(node.child[0]) < n_leaves
                          : known && inside(node.child[0]) && inside(node.child[1]);
    if (!fine) {
      throw std::invalid_argument("node " + std::to_string(index) +
                                  " points outside its tree or back to an earlier node");
    }
  }

  // Predictions count pure leaves and differences read their values, so both must agree.
  void check_pure() const {
    require(n_pure <= n_leaves && n_pure <= n_outputs, "n_pure exceeds the values");
    bool unit = true;
    for (std::size_t at = 0; at < n_pure * n_outputs; ++at) {
      unit &= values[at] == (at % n_outputs == at / n_outputs ? 1.0 : 0.0);
    }
    require(unit, "the first n_pure rows of values must be unit vectors");
  }
};

}  // namespace jarf
