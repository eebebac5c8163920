// Split criteria. A target gathers the labels of a node once. Every candidate of the node is then
// scored by moving rows, or whole bins, from the right side to the left.
//
// Higher scores are better. For every criterion, (score - score of the node) is the decrease in
// impurity times the weight of the node.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jarf {

// Labels of a node's rows, for proposals. Row i of the node has entry i of the arrays, or entry
// rows[i] if `rows` is given.
struct NodeLabels {
  const double* weights;
  const std::uint32_t* classes;  // numbered 0 .. n_classes - 1 within the node; null in regression
  std::size_t n_classes;
  const double* responses;  // (n_rows, n_responses); null in classification
  std::size_t n_responses;
  const std::uint32_t* rows;  // null: entries are in the node's order

  std::size_t at(std::size_t i) const { return rows ? rows[i] : i; }
};

// Whether a target's nodes have bounds that their children inherit: see monotone.hpp.
template <class Target>
inline constexpr bool kIsMonotone = false;

}  // namespace jarf
