// What a split is judged by. A target gathers the labels of a node once; every candidate of the
// node is then scored by moving rows, or whole bins, from the right side to the left.
//
// A score is larger the better, and (score - score of the node) is the decrease in impurity times
// the weight of the node, for each of the criteria.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jarf {

// Labels of a node's rows: what a proposal may look at. Row i of the node has entry i of the
// arrays, or entry rows[i] where `rows` is given.
struct NodeLabels {
  const double* weights;
  const std::uint32_t* classes;  // numbered 0 .. n_classes - 1 within the node; null in regression
  std::size_t n_classes;
  const double* responses;  // (n_rows, n_responses); null in classification
  std::size_t n_responses;
  const std::uint32_t* rows;  // null: in the order of the node

  std::size_t at(std::size_t i) const { return rows ? rows[i] : i; }
};

// Whether nodes of a target have bounds, which their children inherit: see monotone.hpp.
template <class Target>
inline constexpr bool kIsMonotone = false;

}  // namespace jarf
