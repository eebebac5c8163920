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

// Whether left / left_total + right / right_total may exceed `best`, decided without divisions. The
// slack is far above rounding errors, so that false is always right. A side without weight makes
// the answer arbitrary; such splits have no score.
inline bool quotients_can_beat(double left, double left_total, double right, double right_total,
                               double best) {
  constexpr double kSlack = 1e-9, kTiny = 1e-250;  // products below kTiny may have lost digits
  const double needed = best * (left_total * right_total) * (1.0 - kSlack);
  return !(needed > kTiny && left * right_total + right * left_total < needed);
}

// Whether a target's nodes have bounds that their children inherit: see monotone.hpp.
template <class Target>
inline constexpr bool kIsMonotone = false;

}  // namespace jarf
