// A fitted axis-aligned forest as flat arrays, and the walk to a leaf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace jarf {

// One node. A leaf has feature -1 and its row of `values` in `left`.
struct Node {
  std::int32_t feature;
  float threshold;
  std::int32_t left;
  std::int32_t right;
};
static_assert(sizeof(Node) == 16, "Node crosses the border as four 32-bit words");

// A view: the arrays belong to the caller.
struct PackedForest {
  const Node* nodes;
  std::size_t n_nodes;
  const std::int32_t* roots;
  std::size_t n_trees;
  const double* values;  // (n_leaves, n_outputs)
  std::size_t n_leaves;
  std::size_t n_outputs;

  static bool is_leaf(const Node& node) { return node.feature < 0; }

  // Where `x` goes at an inner node: the comparison every tree of scikit-learn makes.
  static std::int32_t step(const Node& node, float x) {
    return x <= node.threshold ? node.left : node.right;
  }

  // The value row that `row` reaches from `start` when `feature` is moved to `moved`.
  std::int32_t leaf_of_moved(std::int32_t start, const float* row, std::int32_t feature,
                             float moved) const {
    const Node* node = nodes + start;
    while (!is_leaf(*node)) {
      node = nodes + step(*node, node->feature == feature ? moved : row[node->feature]);
    }
    return node->left;
  }

  // Refuse arrays that a walk could leave or never end in: children lie behind their parent.
  void check(std::size_t n_features) const {
    check_children([&](const Node& node) {
      return static_cast<std::size_t>(node.feature) < n_features;
    });
  }

  // The same for any meaning of a feature: `known` says whether an inner node's makes sense.
  template <class Known>
  void check_children(Known known) const {
    for (std::size_t tree = 0; tree < n_trees; ++tree) {
      if (roots[tree] < 0 || static_cast<std::size_t>(roots[tree]) >= n_nodes) {
        throw std::invalid_argument("root " + std::to_string(tree) + " lies outside the nodes");
      }
    }
    for (std::size_t index = 0; index < n_nodes; ++index) {
      const Node& node = nodes[index];
      const auto inside = [&](std::int32_t child) {
        return child > static_cast<std::int64_t>(index) &&
               static_cast<std::size_t>(child) < n_nodes;
      };
      const bool fine =
          node.feature == -1
              ? node.left >= 0 && static_cast<std::size_t>(node.left) < n_leaves
              : known(node) && inside(node.left) && inside(node.right);
      if (!fine) {
        throw std::invalid_argument("node " + std::to_string(index) +
                                    " points outside the forest or back to an earlier node");
      }
    }
  }
};

}  // namespace jarf
