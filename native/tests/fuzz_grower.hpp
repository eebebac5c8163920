// Grows a tree on a generated case and checks the grower's guarantees.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "../predictor.hpp"
#include "grower_cases.hpp"

namespace jarf_tests {

enum class Mode { plain, changed, meddled, flushed };

// Flushes subnormal numbers to zero while it exists, as -ffast-math in another library would.
class FlushToZero {
 public:
#if defined(__SSE2__)
  explicit FlushToZero(bool active) : before_(_mm_getcsr()) {
    if (active) _mm_setcsr(before_ | 0x8040);
  }
  ~FlushToZero() { _mm_setcsr(before_); }

 private:
  unsigned before_;
#else
  explicit FlushToZero(bool) {}
#endif
};

// Copies a grown tree into the arrays of a forest, as the Python side does.
inline ForestArrays forest_of(const jarf::GrownTree& tree, const TableArrays& table,
                              const TargetArrays& target) {
  ForestArrays forest;
  forest.n_features = table.n_columns;
  forest.n_outputs = target.n_outputs;
  forest.n_pure = target.classifies() ? target.n_outputs : 0;
  forest.values.assign(forest.n_pure * target.n_outputs, 0.0);
  for (std::size_t c = 0; c < forest.n_pure; ++c) forest.values[c * target.n_outputs + c] = 1.0;
  forest.values.insert(forest.values.end(), tree.values.begin(), tree.values.end());
  forest.nodes = tree.nodes;
  for (jarf::Node& node : forest.nodes) {
    if (node.feature == -1) {
      const std::int32_t value = node.child[0];
      node.child[0] = value < 0 ? -1 - value : value + static_cast<std::int32_t>(forest.n_pure);
    } else if (table.rotated()) {
      node.feature = -2 - node.feature;
    }
  }
  forest.roots = {0};
  forest.starts = table.rotated() ? table.projections.starts : tree.starts;
  forest.features = table.rotated() ? table.projections.features : tree.features;
  forest.loadings = table.rotated() ? table.projections.loadings : tree.loadings;
  return forest;
}

inline void check_tree(const jarf::GrownTree& tree, const ForestArrays& forest,
                       const TargetArrays& target, const jarf::Limits& limits) {
  promise(tree.weights.size() == tree.nodes.size() && tree.gains.size() == tree.nodes.size(),
          "arrays of nodes differ in length");
  promise(jarf::all_finite(tree.gains.data(), tree.gains.size()), "a gain is not finite");
  try {
    forest.view().check();
  } catch (const std::invalid_argument& refused) {
    throw std::logic_error(std::string("a grown tree is rejected: ") + refused.what());
  }
  std::vector<std::size_t> depths(tree.nodes.size(), 0);
  std::size_t n_leaves = 0;
  for (std::size_t at = 0; at < tree.nodes.size(); ++at) {
    const jarf::Node& node = tree.nodes[at];
    const bool is_leaf = jarf::Forest::is_leaf(node);
    promise(depths[at] <= limits.max_depth, "a tree is too deep");
    promise(!is_leaf || tree.gains[at] == 0.0, "a leaf has a gain");
    const bool must_gain = target.is_newton() && !limits.symmetric;  // a level gains as a whole
    promise(is_leaf || !must_gain || tree.gains[at] > 0.0, "a Newton split gains nothing");
    n_leaves += is_leaf;
    for (int side = 0; side < 2 && !is_leaf; ++side) depths[node.child[side]] = depths[at] + 1;
  }
  promise(limits.max_leaf_nodes == 0 || n_leaves <= limits.max_leaf_nodes, "too many leaves");
}

// Checks that every leaf has rows, their weight, and the value given by its definition. `leaves`:
// the leaf of each training row, or -1 if its weight is zero.
inline void check_leaves(const std::vector<std::int32_t>& leaves, const jarf::GrownTree& tree,
                         const ForestArrays& forest, const TableArrays& table,
                         const TargetArrays& target, std::size_t min_rows) {
  std::vector<std::vector<std::size_t>> members(tree.nodes.size());
  for (std::size_t i = 0; i < table.n_rows; ++i) {
    promise((leaves[i] == -1) == !(table.weights[i] > 0.0), "a row has no leaf");
    if (leaves[i] >= 0) members.at(leaves[i]).push_back(i);
  }
  for (std::size_t at = 0; at < tree.nodes.size(); ++at) {
    if (!jarf::Forest::is_leaf(tree.nodes[at])) continue;
    const std::vector<std::size_t>& rows = members[at];
    promise(rows.size() >= std::max<std::size_t>(1, min_rows), "a leaf has too few training rows");
    double weight = 0.0;
    for (const std::size_t i : rows) weight += table.weights[i];
    promise(weight == tree.weights[at], "a leaf has not the weight of its rows");
    const std::vector<double> expected = target.leaf(rows, table.weights);
    for (std::size_t c = 0; c < target.n_outputs; ++c) {
      const double value = forest.values[forest.nodes[at].child[0] * target.n_outputs + c];
      const double* bounds = tree.bounds.empty() ? nullptr : tree.bounds.data() + 2 * at;
      const double clipped =
          bounds ? std::min(std::max(expected[c], bounds[0]), bounds[1]) : expected[c];
      promise(value == clipped, "a leaf has not the value of its rows");
    }
  }
}

// Checks that leaves on the two sides of a split on a constrained column are in order, that oblique
// directions do not use constrained columns, and that bounds lie within those of the parent.
inline void check_monotone(const jarf::GrownTree& tree, const TargetArrays& target) {
  const std::size_t n_nodes = tree.nodes.size();
  promise(tree.bounds.size() == (target.signs.empty() ? 0 : 2 * n_nodes), "bounds are missing");
  if (target.signs.empty()) return;
  std::vector<double> least(n_nodes), most(n_nodes);
  for (std::size_t at = n_nodes; at-- > 0;) {  // children come after their parents
    const jarf::Node& node = tree.nodes[at];
    if (jarf::Forest::is_leaf(node)) {
      least[at] = most[at] = tree.values[node.child[0]];
      continue;
    }
    const std::int32_t left = node.child[0], right = node.child[1];
    least[at] = std::min(least[left], least[right]);
    most[at] = std::max(most[left], most[right]);
    for (const std::int32_t child : node.child) {
      promise(tree.bounds[2 * at] <= tree.bounds[2 * child] &&
                  tree.bounds[2 * child] <= tree.bounds[2 * child + 1] &&
                  tree.bounds[2 * child + 1] <= tree.bounds[2 * at + 1],
              "bounds are not within those of the parent");
    }
    if (node.feature >= 0) {
      const int sign = target.signs[node.feature];
      promise(sign <= 0 || most[left] <= least[right], "leaves fall along a column");
      promise(sign >= 0 || least[left] >= most[right], "leaves rise along a column");
      continue;
    }
    for (std::int32_t k = tree.starts[-2 - node.feature]; k < tree.starts[-1 - node.feature]; ++k) {
      promise(target.signs[tree.features[k]] == 0 || tree.loadings[k] == 0.0f,
              "a direction has a constrained column");
    }
  }
}

inline std::vector<std::int32_t> walk_rows(const ForestArrays& forest, const TableArrays& table) {
  std::vector<std::int64_t> walked(table.n_rows);
  jarf::find_leaves(forest.view(), table.rows().data(), table.n_rows, walked.data());
  std::vector<std::int32_t> leaves(walked.begin(), walked.end());
  for (std::size_t i = 0; i < table.n_rows; ++i) {
    if (!(table.weights[i] > 0.0)) leaves[i] = -1;
  }
  return leaves;
}

inline jarf::Limits make_limits(Dice& dice, std::size_t n_rows) {
  return {dice.one_in(4) ? dice.below(6) : SIZE_MAX,
          dice.one_in(3) ? dice.between(1, 9) : 0,
          dice.between(0, 4),
          std::min(n_rows, dice.one_in(5) ? dice.between(1, 30) : 1),
          dice.one_in(6) ? dice.uniform() : 0.0,
          dice.one_in(6) ? dice.uniform() : 0.0,
          dice.one_in(2) ? 1024 : dice.below(64),
          dice.one_in(2) ? 1024 : dice.below(64)};
}

inline TableArrays checked_table(Dice& dice, Mode mode) {
  const std::size_t most_rows = dice.one_in(20) ? 400 : 24;
  TableArrays table = make_table(dice, most_rows, mode == Mode::flushed);
  const bool changes = mode != Mode::plain;  // changed values contradict the bins
  if (dice.one_in(changes ? 8 : 4)) {
    table.projections.n_features = table.n_columns;
    add_projections(dice, table.projections, dice.between(1, 6));
  } else if (changes || dice.one_in(2)) {
    add_bins(table);
  }
  if (dice.one_in(8)) damage_table(dice, table);
  const jarf::Columns columns = table.columns();
  jarf::check_matrix(table.values.data(), table.n_columns, table.n_rows);
  if (columns.codes) jarf::check_bins(columns);
  return table;
}

// Best-first growth, with histograms whenever possible: with bins and all axes, for whole nodes.
inline jarf::Limits boosting_limits(Dice& dice, jarf::Limits limits) {
  limits.max_leaf_nodes = dice.between(2, 12);
  limits.histogram_from = dice.below(8);
  limits.min_samples_leaf = std::min<std::size_t>(limits.min_samples_leaf, 3);
  limits.min_weight_fraction_leaf = limits.min_impurity_decrease = 0.0;
  return limits;
}

// Grows a tree with any target, proposal and limits, or a boosted tree: best first, with Newton
// steps, on all axes and possibly other candidates, or level by level. Only if X was changed may it fail with
// `NoRows`.
inline ForestArrays grow(Dice& dice, Mode mode) {
  const bool boosts = dice.one_in(4);
  TableArrays table = checked_table(dice, mode);
  const FlushToZero flush(mode == Mode::flushed);
  const jarf::Columns columns = table.columns();
  TargetArrays target = make_target(dice, table, boosts);
  if (dice.one_in(8)) damage_target(dice, target);
  const auto spec = target.spec();
  spec->check(table.weights.data());
  jarf::Limits limits = make_limits(dice, table.n_rows);
  std::shared_ptr<jarf::ProposalSpec> proposal = make_proposal(dice, columns);
  if (boosts) {
    limits = boosting_limits(dice, limits);
    if (!columns.rotation) proposal = beside_all_axes(dice, columns, proposal);
    if (dice.one_in(2)) {
      limits.symmetric = true;
      limits.max_leaf_nodes = 0;
      proposal = make_axes(dice, columns);
    }
  }
  if (mode == Mode::changed) {
    change(dice, table.values, table.n_rows);
  } else if (mode == Mode::meddled) {
    proposal = std::make_shared<MeddlingSpec>(proposal, table.values, table.n_rows, dice.next());
  }
  const bool keep_leaves = dice.one_in(2);
  jarf::GrownTree tree;
  try {
    tree = spec->grow({columns, *proposal, table.weights.data(), dice.next(), limits,
                       [] { return false; }, keep_leaves, jarf::Team(1 + dice.below(2), 0)});
  } catch (const jarf::NoRows&) {
    promise(mode != Mode::plain, "a split left a side without rows");
    throw;
  }
  const ForestArrays forest = forest_of(tree, table, target);
  check_tree(tree, forest, target, limits);
  check_monotone(tree, target);
  const bool splits = mode == Mode::plain && tree.nodes.size() > 1;
  const std::size_t min_rows = splits ? limits.min_samples_leaf : 1;
  promise(tree.leaves.size() == (keep_leaves ? table.n_rows : 0), "leaves kept unasked, or not");
  if (keep_leaves) check_leaves(tree.leaves, tree, forest, table, target, min_rows);
  if (mode == Mode::meddled) return forest;
  const std::vector<std::int32_t> walked = walk_rows(forest, table);
  promise(!keep_leaves || walked == tree.leaves, "a row reaches another leaf than it was grown in");
  check_leaves(walked, tree, forest, table, target, min_rows);
  return forest;
}

}  // namespace jarf_tests
