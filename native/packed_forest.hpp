// A fitted axis-aligned forest as flat arrays, and the walk to a leaf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace jarf {

// One node. A leaf has feature -1 and its row of `values` in `child[0]`.
struct Node {
  std::int32_t feature;
  float threshold;
  std::int32_t child[2];
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

  // Which child `x` goes to at an inner node: the comparison every tree of scikit-learn makes.
  // As a number, not a jump: the way down a tree cannot be predicted.
  template <class AnyNode>
  static int side(const AnyNode& node, float x) {
    return !(x <= node.threshold);
  }

  // Refuse arrays that a walk could leave or never end in: children lie behind their parent.
  void check(std::size_t n_features) const {
    check_nodes([&](const Node& node) {
      return static_cast<std::size_t>(node.feature) < n_features;
    });
  }

  // The same for any meaning of a feature: `known` says whether an inner node's makes sense.
  template <class Known>
  void check_nodes(Known known) const {
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
              ? node.child[0] >= 0 && static_cast<std::size_t>(node.child[0]) < n_leaves
              : known(node) && inside(node.child[0]) && inside(node.child[1]);
      if (!fine) {
        throw std::invalid_argument("node " + std::to_string(index) +
                                    " points outside the forest or back to an earlier node");
      }
    }
  }
};

}  // namespace jarf
