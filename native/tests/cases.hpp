// Generated cases for the fuzz target and the thread test: extreme numbers, and valid and broken
// forests. All arrays are vectors of exactly their size, so that AddressSanitizer detects the first
// byte out of bounds.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "../forest.hpp"
#include "../rng.hpp"

namespace jarf_tests {

// Fails unless a guarantee of a kernel holds.
inline void promise(bool kept, const char* what) {
  if (!kept) throw std::logic_error(what);
}

class Dice : public jarf::Rng {
 public:
  using Rng::Rng;
  bool one_in(std::uint32_t n) { return below(n) == 0; }
  std::size_t between(std::size_t low, std::size_t high) {
    return low + below(static_cast<std::uint32_t>(high - low + 1));
  }

  // Mostly ordinary, sometimes at the limits of float32, never NaN or infinite.
  float number() {
    constexpr float kMax = std::numeric_limits<float>::max();
    constexpr float kTiny = std::numeric_limits<float>::denorm_min();
    const float edges[] = {0.0f, -0.0f, kMax, -kMax, kTiny, -kTiny, 1e30f, -1e30f, 1e-30f, 1.0f};
    if (one_in(6)) return edges[below(10)];
    if (one_in(3)) return static_cast<float>(below(4));  // ties
    return static_cast<float>(normal());
  }
  // The same, plus values that a caller should never pass.
  float any_number() {
    if (one_in(12)) return std::numeric_limits<float>::quiet_NaN();
    if (one_in(12)) return one_in(2) ? HUGE_VALF : -HUGE_VALF;
    return number();
  }
  // Near the smallest normal float32: flush-to-zero makes most of them equal.
  float subnormal() { return static_cast<float>(normal() * 1e-38); }

  std::int32_t any_index(std::size_t bound) {
    const std::int32_t edges[] = {-1, -2, INT32_MIN, INT32_MAX, static_cast<std::int32_t>(bound)};
    return one_in(8) ? edges[below(5)] : index(bound > 0 ? bound : 1);
  }
  std::int32_t index(std::size_t bound) {
    return static_cast<std::int32_t>(below(static_cast<std::uint32_t>(bound)));
  }
};

struct ForestArrays {
  std::vector<jarf::Node> nodes;
  std::vector<std::int32_t> roots, starts{0}, features;
  std::vector<float> loadings;
  std::vector<double> values;
  std::size_t n_outputs = 1, n_features = 1, n_pure = 0;

  std::size_t n_leaves() const { return values.size() / n_outputs; }
  std::size_t n_projections() const { return starts.size() - 1; }
  jarf::Forest view() const {
    return {nodes.data(),  nodes.size(),    roots.data(),    roots.size(),    values.data(),
            n_leaves(),    n_outputs,       starts.data(),   n_projections(), features.data(),
            loadings.data(), loadings.size(), n_pure,          n_features};
  }
};

// Appends a valid random tree. Inner nodes split on axes, or on projections if there are any.
inline std::int32_t add_tree(Dice& dice, ForestArrays& forest, std::size_t depth) {
  const auto at = static_cast<std::int32_t>(forest.nodes.size());
  forest.nodes.push_back({-1, 0.0f, {0, 0}});
  if (depth == 0 || dice.one_in(6)) {
    const std::int32_t leaf = dice.index(forest.n_leaves());
    forest.nodes[at].child[0] = forest.nodes[at].child[1] = leaf;
    return at;
  }
  std::int32_t feature = dice.index(forest.n_features);
  if (forest.n_projections() > 0 && dice.one_in(2)) {
    feature = -2 - dice.index(forest.n_projections());
  }
  const float threshold = dice.number();
  const std::int32_t left = add_tree(dice, forest, depth - 1);
  const std::int32_t right = add_tree(dice, forest, depth - 1);
  forest.nodes[at] = {feature, threshold, {left, right}};
  return at;
}

// Adds projections of a few columns, or of more columns than a widened node holds.
inline void add_projections(Dice& dice, ForestArrays& forest, std::size_t n_projections) {
  std::vector<std::int32_t> columns(forest.n_features);
  std::iota(columns.begin(), columns.end(), 0);
  for (std::size_t k = n_projections; k > 0; --k) {
    const std::size_t most = dice.one_in(3) ? 9 : 3;
    const std::size_t size = dice.between(1, std::min(most, columns.size()));
    for (std::size_t at = 0; at < size; ++at) {
      std::swap(columns[at], columns[dice.between(at, columns.size() - 1)]);
      forest.features.push_back(columns[at]);
      forest.loadings.push_back(dice.one_in(4) ? dice.any_number()
                                               : static_cast<float>(dice.normal()));
    }
    forest.starts.push_back(static_cast<std::int32_t>(forest.features.size()));
  }
}

inline ForestArrays make_forest(Dice& dice) {
  ForestArrays forest;
  forest.n_features = dice.one_in(20) ? dice.between(60, 140) : dice.between(1, 10);
  forest.n_outputs = dice.between(1, 3);
  forest.values.resize(dice.between(1, 6) * forest.n_outputs);
  for (double& value : forest.values) value = dice.normal();
  forest.n_pure = dice.below(
      static_cast<std::uint32_t>(std::min(forest.n_leaves(), forest.n_outputs) + 1));
  for (std::size_t at = 0; at < forest.n_pure * forest.n_outputs; ++at) {
    forest.values[at] = at % forest.n_outputs == at / forest.n_outputs;
  }
  if (!dice.one_in(3)) add_projections(dice, forest, dice.between(1, 6));
  for (std::size_t tree = dice.between(1, 3); tree > 0; --tree) {
    forest.roots.push_back(add_tree(dice, forest, dice.below(6)));
  }
  forest.nodes.shrink_to_fit();
  forest.features.shrink_to_fit();
  forest.loadings.shrink_to_fit();
  return forest;
}

// Changes a random entry: a few changes leave the forest valid, most do not.
inline void damage(Dice& dice, ForestArrays& forest) {
  jarf::Node& node = forest.nodes[dice.index(forest.nodes.size())];
  switch (dice.below(7)) {
    case 0: node.feature = dice.any_index(forest.n_features); break;
    case 1: node.child[dice.below(2)] = dice.any_index(forest.nodes.size()); break;
    case 2: node.threshold = dice.any_number(); break;
    case 3: forest.roots[dice.index(forest.roots.size())] = dice.any_index(forest.nodes.size());
      break;
    case 4: forest.values.resize(forest.n_outputs * dice.index(forest.n_leaves() + 1)); break;
    case 5: if (!forest.features.empty()) {
      forest.features[dice.index(forest.features.size())] = dice.any_index(forest.n_features);
    } break;
    default: forest.starts[dice.index(forest.starts.size())] = dice.any_index(9);
  }
  forest.values.shrink_to_fit();
}

// Makes a change after which the forest must be rejected; false if there is nothing to change.
inline bool break_for_sure(Dice& dice, ForestArrays& forest) {
  const std::size_t at = dice.index(forest.nodes.size());
  jarf::Node& node = forest.nodes[at];
  const auto n_features = static_cast<std::int32_t>(forest.n_features);
  const bool is_leaf = jarf::Forest::is_leaf(node), has_terms = !forest.features.empty();
  switch (dice.below(15)) {
    case 0: node.feature = dice.one_in(2) ? n_features : INT32_MAX; return true;
    case 1: node.feature = dice.one_in(2) ? -2 - static_cast<std::int32_t>(forest.n_projections())
                                          : INT32_MIN; return true;
    case 2: node.child[is_leaf ? 0 : dice.below(2)] = is_leaf ? -1 : static_cast<std::int32_t>(at);
      return true;
    case 3: node.child[0] = static_cast<std::int32_t>(is_leaf ? forest.n_leaves()
                                                              : forest.nodes.size()); return true;
    case 4: forest.roots.front() = dice.one_in(2) ? 1 : -1; return true;
    case 5: forest.roots.back() = static_cast<std::int32_t>(forest.nodes.size()); return true;
    case 6: forest.roots.push_back(forest.roots.back()); return true;
    case 7: forest.starts.back() += dice.one_in(2) ? 1 : -1; return true;
    case 8: forest.starts.front() = -1; return true;
    case 9: forest.values.back() = dice.one_in(2) ? HUGE_VAL : std::nan(""); return true;
    case 10: forest.n_pure = std::max(forest.n_leaves(), forest.n_outputs) + 1; return true;
    case 11: forest.nodes.pop_back(); forest.nodes.shrink_to_fit(); return true;
    case 12: if (has_terms) forest.features.back() = dice.one_in(2) ? -1 : n_features;
      return has_terms;
    case 13: if (forest.n_pure > 0) forest.values[0] = 0.5;
      return forest.n_pure > 0;
    default:  // repeat the last column of a projection
      for (std::size_t k = forest.n_projections(); k > 0; --k) {
        const std::int32_t last = forest.starts[k] - 1;
        if (last == forest.starts[k - 1]) continue;
        forest.features[last] = forest.features[last - 1];
        return true;
      }
      return false;
  }
}

}  // namespace jarf_tests
