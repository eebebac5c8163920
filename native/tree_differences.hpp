// Exact finite differences of a forest along every coordinate, without 2 d m predictions.
//
// A probe that moves feature j of a row follows the row's own path until a node splits on j
// with its threshold between the two positions. So the path is walked once, and left only
// there, once per feature and side; every other difference is exactly zero.
#pragma once

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
        n_kept_(probes.output ? 1 : forest.n_outputs),
        left_upper_(probes.n_features, 0),
        left_lower_(probes.n_features, 0) {}

  // Adds f(upper_j) - f(lower_j), summed over trees, to sums (n_rows, n_kept, n_features).
  void accumulate() {
    for (std::size_t tree = 0; tree < forest_.n_trees; ++tree) {
      for (std::size_t row = 0; row < probes_.n_rows; ++row) {
        walk(forest_.roots[tree], row);
      }
    }
  }

 private:
  struct Departure {
    std::int32_t feature;
    std::int32_t leaf;
    double sign;
  };

  void walk(std::int32_t root, std::size_t row) {
    const float* centre = probes_.centre + row * probes_.n_features;
    const float* upper = probes_.upper + row * probes_.n_features;
    const float* lower = probes_.lower + row * probes_.n_features;
    departures_.clear();
    ++visit_;
    const Node* node = forest_.nodes + root;
    while (!PackedForest::is_leaf(*node)) {
      const std::int32_t j = node->feature;
      const std::int32_t next = PackedForest::step(*node, centre[j]);
      depart(*node, next, centre, j, upper[j], +1.0, left_upper_);
      depart(*node, next, centre, j, lower[j], -1.0, left_lower_);
      node = forest_.nodes + next;
    }
    for (const Departure& departure : departures_) {
      add(row, departure, node->left);
    }
  }

  // Leave the path if the probe goes the other way here, and did not leave it before.
  void depart(const Node& node, std::int32_t next, const float* centre, std::int32_t j,
              float moved, double sign, std::vector<std::uint64_t>& left) {
    const std::int32_t other = PackedForest::step(node, moved);
    if (other == next || left[j] == visit_) return;
    left[j] = visit_;
    departures_.push_back({j, forest_.leaf_of_moved(other, centre, j, moved), sign});
  }

  void add(std::size_t row, const Departure& departure, std::int32_t home) {
    const std::size_t n_outputs = forest_.n_outputs;
    const double* there = forest_.values + departure.leaf * n_outputs;
    const double* here = forest_.values + home * n_outputs;
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
  std::uint64_t visit_ = 0;
  std::vector<std::uint64_t> left_upper_;  // the visit in which the probe of j left the path
  std::vector<std::uint64_t> left_lower_;
  std::vector<Departure> departures_;
};

}  // namespace jarf
