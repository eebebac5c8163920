// Exact finite differences of a forest along every coordinate, without 2 d m predictions.
//
// A probe that moves feature j of a row follows the row's own path until a node splits on j
// with its threshold between the two positions. So the path is walked once, and left only
// there, once per feature and side; every other difference is exactly zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "packed_forest.hpp"

namespace jarf {

// The rows to differentiate at, each with an upper and a lower position per feature.
struct Probes {
  const float* centre;  // (n_rows, n_features), as are upper and lower
  const float* upper;
  const float* lower;
  const std::int32_t* output;  // the one output of each row, or nullptr for all of them
  std::size_t n_rows;
  std::size_t n_features;
};

class TreeDifferences {
 public:
  TreeDifferences(const PackedForest& forest, const Probes& probes, double* sums)
      : forest_(forest),
        probes_(probes),
        sums_(sums),
        n_kept_(probes.output ? 1 : forest.n_outputs) {}

  // Adds f(upper_j) - f(lower_j), summed over trees, to sums (n_rows, n_kept, n_features).
  // Trees outside, a tile of rows that stays in the cache inside.
  void accumulate() {
    const std::size_t tile = std::max<std::size_t>(kLanes, kTileValues / probes_.n_features);
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

  // A row on its way down.
  struct Lane {
    const Node* node;
    const float* centre;
    const float* upper;
    const float* lower;
    std::uint64_t seen[2];  // a bit for every feature (modulo 64) whose probe has left, per side
  };

  // A probe that has left its row's path, on its own way down.
  struct Departure {
    const Node* node;
    std::int32_t feature;
    float moved;
    std::uint32_t lane;
    float sign;
  };

  // Several rows go down together: while one waits for its node, the others move on.
  void walk(std::int32_t root, std::size_t first, std::size_t n_rows) {
    departures_.clear();
    for (std::size_t i = 0; i < n_rows; ++i) {
      const std::size_t offset = (first + i) * probes_.n_features;
      lanes_[i] = {forest_.nodes + root, probes_.centre + offset, probes_.upper + offset,
                   probes_.lower + offset, {0, 0}};
    }
    for (bool moving = true; moving;) {
      moving = false;
      for (std::size_t i = 0; i < n_rows; ++i) {
        if (PackedForest::is_leaf(*lanes_[i].node)) continue;
        step(lanes_[i], static_cast<std::uint32_t>(i));
        moving = true;
      }
    }
    finish_departures();
    for (const Departure& departure : departures_) add(first, departure);
  }

  void step(Lane& lane, std::uint32_t index) {
    const Node& node = *lane.node;
    const std::int32_t j = node.feature;
    const int here = PackedForest::side(node, lane.centre[j]);
    const int above = PackedForest::side(node, lane.upper[j]);
    const int below = PackedForest::side(node, lane.lower[j]);
    lane.node = forest_.nodes + node.child[here];
    if ((here ^ above) | (here ^ below)) {
      if (here != above) depart(node.child[above], j, lane.upper[j], index, 0);
      if (here != below) depart(node.child[below], j, lane.lower[j], index, 1);
    }
  }

  // Leave the path towards `start` with feature j moved, unless its probe left before.
  void depart(std::int32_t start, std::int32_t j, float moved, std::uint32_t lane, int side) {
    const std::uint64_t bit = std::uint64_t{1} << (j & 63);
    const float sign = side == 0 ? 1.0f : -1.0f;
    if (lanes_[lane].seen[side] & bit) {
      for (const Departure& before : departures_) {
        if (before.feature == j && before.lane == lane && before.sign == sign) return;
      }
    }
    lanes_[lane].seen[side] |= bit;
    departures_.push_back({forest_.nodes + start, j, moved, lane, sign});
  }

  void finish_departures() {
    for (std::size_t first = 0; first < departures_.size(); first += kLanes) {
      const std::size_t last = std::min(first + kLanes, departures_.size());
      for (bool moving = true; moving;) {
        moving = false;
        for (std::size_t i = first; i < last; ++i) {
          Departure& probe = departures_[i];
          const Node& node = *probe.node;
          if (PackedForest::is_leaf(node)) continue;
          const float x = node.feature == probe.feature ? probe.moved
                                                        : lanes_[probe.lane].centre[node.feature];
          probe.node = forest_.nodes + node.child[PackedForest::side(node, x)];
          moving = true;
        }
      }
    }
  }

  void add(std::size_t first, const Departure& departure) {
    const std::size_t n_outputs = forest_.n_outputs;
    const std::size_t row = first + departure.lane;
    const double* there = forest_.values + departure.node->child[0] * n_outputs;
    const double* here = forest_.values + lanes_[departure.lane].node->child[0] * n_outputs;
    double* sum = sums_ + row * n_kept_ * probes_.n_features + departure.feature;
    if (probes_.output) {
      const std::int32_t c = probes_.output[row];
      *sum += departure.sign * (there[c] - here[c]);
      return;
    }
    for (std::size_t c = 0; c < n_outputs; ++c) {
      sum[c * probes_.n_features] += departure.sign * (there[c] - here[c]);
    }
  }

  const PackedForest& forest_;
  const Probes& probes_;
  double* sums_;
  std::size_t n_kept_;
  Lane lanes_[kLanes];
  std::vector<Departure> departures_;
};

}  // namespace jarf
