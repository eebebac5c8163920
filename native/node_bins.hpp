// Histograms of all columns of a node, for trees that try every axis in every node. The bins of one
// child are filled from its rows; subtracting them from the parent's gives the sibling's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "team.hpp"

namespace jarf {

// The bins of one node: for each bin of each column, the target's sums and the number of rows.
struct BinSums {
  std::vector<double> sums;
  std::vector<std::uint32_t> counts;
  bool empty() const { return counts.empty(); }
};

class NodeBins {
 public:
  // `tried`: the columns, in ascending order. `width`: how many numbers the target stores per bin.
  NodeBins(const Columns& columns, std::vector<std::uint32_t> tried, std::size_t width)
      : columns_(columns),
        tried_(std::move(tried)),
        width_(width),
        starts_(columns.n_columns, kNowhere) {
    for (const std::uint32_t feature : tried_) {
      starts_[feature] = n_cells_;
      n_cells_ += columns_.bins(feature);
    }
  }

  bool has(std::size_t feature) const { return starts_[feature] != kNowhere; }
  std::size_t bytes() const { return n_cells_ * (width_ * sizeof(double) + sizeof(std::uint32_t)); }

  // `add(bin, i)` adds row i of the node to a bin. The team's threads share the columns; `pause` is
  // called after every column of the calling thread.
  template <class Add, class Pause>
  BinSums fill(const std::uint32_t* rows, std::size_t n_rows, const Team& team, const Add& add,
               const Pause& pause) {
    BinSums bins = fresh();
    const auto fill_column = [&](std::size_t k) {
      const std::uint32_t feature = tried_[k];
      const std::uint8_t* codes = columns_.code_column(feature);
      double* sums = bins.sums.data() + starts_[feature] * width_;
      std::uint32_t* counts = bins.counts.data() + starts_[feature];
      for (std::size_t i = 0; i < n_rows; ++i) {
        const std::size_t bin = codes[rows[i]];
        ++counts[bin];
        add(sums + bin * width_, i);
      }
    };
    team.share(tried_.size(), n_rows * tried_.size(), fill_column, pause);
    return bins;
  }

  // Turns the parent's bins into those of the other child. Bins without rows become exactly zero.
  void subtract(BinSums& parent, const BinSums& child) const {
    for (std::size_t cell = 0; cell < n_cells_; ++cell) {
      parent.counts[cell] -= child.counts[cell];
      const bool is_empty = parent.counts[cell] == 0;
      for (std::size_t c = cell * width_; c < (cell + 1) * width_; ++c) {
        parent.sums[c] = is_empty ? 0.0 : parent.sums[c] - child.sums[c];
      }
    }
  }

  const double* sums(const BinSums& bins, std::size_t feature) const {
    return bins.sums.data() + starts_[feature] * width_;
  }
  const std::uint32_t* counts(const BinSums& bins, std::size_t feature) const {
    return bins.counts.data() + starts_[feature];
  }

  // Keeps the memory of unused bins for later nodes.
  void recycle(BinSums&& bins) {
    if (!bins.empty()) spare_.push_back(std::move(bins));
  }

 private:
  BinSums fresh() {
    BinSums bins;
    if (!spare_.empty()) {
      bins = std::move(spare_.back());
      spare_.pop_back();
    }
    bins.sums.assign(n_cells_ * width_, 0.0);
    bins.counts.assign(n_cells_, 0);
    return bins;
  }

  static constexpr std::size_t kNowhere = SIZE_MAX;

  const Columns& columns_;
  std::vector<std::uint32_t> tried_;
  std::size_t width_, n_cells_ = 0;
  std::vector<std::size_t> starts_;  // offset of each column, in cells
  std::vector<BinSums> spare_;
};

}  // namespace jarf
