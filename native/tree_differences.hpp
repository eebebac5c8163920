// Exact finite differences of a forest along every coordinate, without 2 d m predictions.
//
// A probe that moves feature j of a row follows the row's own path until a node sends the moved row
// to the other side: the node's threshold lies between the two positions or, at an oblique node,
// between the projections of the row and of the moved row. The path is walked once, and each probe
// leaves it at most once. The differences of all other probes are exactly zero.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "forest.hpp"

namespace jarf {

// The rows to differentiate at, with an upper and a lower position per feature.
struct Probes {
  const float* centre;  // (n_rows, n_features), like upper and lower
  const float* upper;
  const float* lower;
  const std::int32_t* output;  // the output of interest of each row; nullptr: all outputs
  std::size_t n_rows;
};

class TreeDifferences {
 public:
  // Adds f(upper_j) - f(centre), summed over trees, to `above` and f(lower_j) - f(centre) to
  // `below`, both of shape (n_rows, n_kept, n_features). Without `below`, adds f(upper_j) -
  // f(lower_j) to `above`.
  TreeDifferences(const Forest& forest, const Probes& probes, double* above, double* below)
      : forest_(forest),
        probes_(probes),
        sums_{above, below ? below : above},
        signs_{1.0, below ? 1.0 : -1.0},
        n_kept_(probes.output ? 1 : forest.n_outputs),
        n_words_((forest.n_features + 63) / 64),
        seen_(kLanes * 2 * n_words_, 0) {}

  // The outer loop runs over trees, the inner one over a tile of rows that stays in the cache.
  void accumulate() {
    const std::size_t tile = std::max<std::size_t>(kLanes, kTileValues / forest_.n_features);
    for (std::size_t start = 0; start < probes_.n_rows; start += tile) {
      const std::size_t stop = std::min(start + tile, probes_.n_rows);
      for (std::size_t tree = 0; tree < forest_.n_trees; ++tree) {
        for (std::size_t row = start; row < stop; row += kLanes) {
          walk(forest_.roots[tree], row, std::min(kLanes, stop - row));
        }
      }
    }
  }

 private:
  static constexpr std::size_t kTileValues = 1 << 14;
  static constexpr std::size_t kLanes = 8;

  // A row on its path down a tree.
  struct Lane {
    const Node* node;
    const float* centre;
    const float* moved[2];  // the upper and the lower positions
  };

  // A probe that has left its row's path and continues on its own.
  struct Departure {
    const Node* node;
    std::int32_t feature;
    float moved;
    std::uint32_t lane;
    std::uint32_t side;
  };

  // Several rows walk down together: memory latency of one overlaps with work on the others.
  void walk(std::int32_t root, std::size_t first, std::size_t n_rows) {
    departures_.clear();
    for (std::size_t i = 0; i < n_rows; ++i) {
      const std::size_t offset = (first + i) * forest_.n_features;
      lanes_[i] = {forest_.nodes + root,
                   probes_.centre + offset,
                   {probes_.upper + offset, probes_.lower + offset}};
    }
    for (bool moving = true; moving;) {
      moving = false;
      for (std::size_t i = 0; i < n_rows; ++i) {
        const Node& node = *lanes_[i].node;
        if (Forest::is_leaf(node)) continue;
        if (node.feature >= 0) {
          step_axis(static_cast<std::uint32_t>(i));
        } else {
          step_oblique(static_cast<std::uint32_t>(i));
        }
        moving = true;
      }
    }
    finish_departures();
    for (const Departure& departure : departures_) {
      add(first, departure);
      seen_word(departure.lane, departure.side, departure.feature) = 0;
    }
  }

  void step_axis(std::uint32_t index) {
    Lane& lane = lanes_[index];
    const Node& node = *lane.node;
    const std::int32_t j = node.feature;
    const float upper = lane.moved[0][j], lower = lane.moved[1][j];
    const int here = Forest::side(node, lane.centre[j]);
    const int above = Forest::side(node, upper);
    const int below = Forest::side(node, lower);
    lane.node = forest_.nodes + node.child[here];
    if ((here ^ above) | (here ^ below)) {
      if (here != above) depart(node.child[above], j, upper, index, 0);
      if (here != below) depart(node.child[below], j, lower, index, 1);
    }
  }

  // Every column of the projection may send its probe to the other side.
  void step_oblique(std::uint32_t index) {
    Lane& lane = lanes_[index];
    const Node& node = *lane.node;
    const Direction direction = forest_.direction(node);
    double sum = 0.0, size = 0.0;
    for (std::size_t k = 0; k < direction.size; ++k) {
      const double loading = direction.loadings[k];
      const double term = loading * lane.centre[direction.features[k]];
      sum += term;
      size += std::fabs(term);
    }
    const int here = Forest::side(node, static_cast<float>(sum));
    lane.node = forest_.nodes + node.child[here];
    const double near = surely_near(node, sum, size, direction.size);
    for (std::size_t k = 0; k < direction.size; ++k) {
      const std::int32_t j = direction.features[k];
      const double loading = direction.loadings[k], centre = lane.centre[j];
      for (std::uint32_t side = 0; side < 2; ++side) {
        const float moved = lane.moved[side][j];
        if (std::fabs(loading * (moved - centre)) < near) continue;
        if (moved == lane.centre[j] || has_left(index, side, j)) continue;
        const int there = side_moved(node, lane, j, moved, sum, size, loading, direction.size);
        if (there != here) depart(node.child[there], j, moved, index, side);
      }
    }
  }

  // A projection that moves by less than this stays on its side, whatever the rounding. This one
  // comparison settles most probes. Negative or NaN if rounding could decide.
  static double surely_near(const Node& node, double sum, double size, std::size_t n_terms) {
    const double rate = slack_rate(n_terms);
    const double gap = std::fabs(node.threshold - sum) - float_step(node);
    return (gap - 3.0 * rate * size) / (1.0 + rate);
  }

  // Bounds the rounding error of a sum in double precision, relative to the size of its terms.
  static double slack_rate(std::size_t n_terms) {
    return static_cast<double>(n_terms + 4) * std::numeric_limits<double>::epsilon();
  }
  // At least the distance from the threshold to the next float: a sum farther above the threshold
  // stays above it when rounded.
  static double float_step(const Node& node) {
    return std::numeric_limits<float>::epsilon() * std::fabs(static_cast<double>(node.threshold)) +
           std::numeric_limits<float>::denorm_min();
  }

  // The side of a row whose feature j is moved. The projection plus loading times step decides,
  // unless rounding could matter: then the sum is recomputed in the order used by predictions.
  int side_moved(const Node& node, const Lane& lane, std::int32_t j, float moved, double sum,
                 double size, double loading, std::size_t n_terms) const {
    const double shift = loading * (static_cast<double>(moved) - lane.centre[j]);
    const double reached = sum + shift, largest = size + std::fabs(loading * moved);
    const double slack = slack_rate(n_terms) * (size + largest) + float_step(node);
    if (std::fabs(reached - node.threshold) > slack) return reached > node.threshold;
    return Forest::side(node, forest_.value_moved(node, lane.centre, j, moved));
  }

  // Leaves the path towards `start` with feature j moved, unless its probe has already left.
  void depart(std::int32_t start, std::int32_t j, float moved, std::uint32_t lane,
              std::uint32_t side) {
    if (has_left(lane, side, j)) return;
    seen_word(lane, side, j) |= bit_of(j);
    departures_.push_back({forest_.nodes + start, j, moved, lane, side});
  }

  bool has_left(std::uint32_t lane, std::uint32_t side, std::int32_t j) {
    return (seen_word(lane, side, j) & bit_of(j)) != 0;
  }

  // Maps a feature to its bit in the mask of probes that have left the path.
  static std::uint64_t bit_of(std::int32_t j) { return std::uint64_t{1} << (j & 63); }
  std::uint64_t& seen_word(std::uint32_t lane, std::uint32_t side, std::int32_t j) {
    return seen_[(2 * lane + side) * n_words_ + static_cast<std::size_t>(j) / 64];
  }

  void finish_departures() {
    for (std::size_t first = 0; first < departures_.size(); first += kLanes) {
      const std::size_t last = std::min(first + kLanes, departures_.size());
      for (bool moving = true; moving;) {
        moving = false;
        for (std::size_t i = first; i < last; ++i) {
          Departure& probe = departures_[i];
          const Node& node = *probe.node;
          if (Forest::is_leaf(node)) continue;
          const float* row = lanes_[probe.lane].centre;
          const float x = forest_.value_moved(node, row, probe.feature, probe.moved);
          probe.node = forest_.nodes + node.child[Forest::side(node, x)];
          moving = true;
        }
      }
    }
  }

  void add(std::size_t first, const Departure& departure) {
    const std::size_t n_outputs = forest_.n_outputs, d = forest_.n_features;
    const std::size_t row = first + departure.lane;
    const double* there = forest_.values + departure.node->child[0] * n_outputs;
    const double* here = forest_.values + lanes_[departure.lane].node->child[0] * n_outputs;
    const double sign = signs_[departure.side];
    double* sum = sums_[departure.side] + row * n_kept_ * d + departure.feature;
    if (probes_.output) {
      const std::int32_t c = probes_.output[row];
      *sum += sign * (there[c] - here[c]);
      return;
    }
    for (std::size_t c = 0; c < n_outputs; ++c) sum[c * d] += sign * (there[c] - here[c]);
  }

  const Forest& forest_;
  const Probes& probes_;
  double* sums_[2];
  double signs_[2];
  std::size_t n_kept_, n_words_;
  std::vector<std::uint64_t> seen_;
  Lane lanes_[kLanes];
  std::vector<Departure> departures_;
};

}  // namespace jarf
