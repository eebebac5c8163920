// Values of a node's rows along a direction, and the rotated columns of a subtree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "columns.hpp"

namespace jarf {

// Values along a direction are summed in double precision and rounded once to float. Products of
// two floats are exact in double, so fused multiply-adds and zero terms change nothing. A different
// order of the terms changes about one rounded value in 10^8. A matrix product in double precision
// therefore agrees.

// Adds `n_terms` terms of a direction, starting at term `first`, for every row. Sums start at zero
// or continue `sums`; they are rounded to `out` or left in `sums`.
template <std::size_t n_terms, bool begins, bool ends>
inline void add_terms(const Columns& columns, const Direction& direction, std::size_t first,
                      const std::uint32_t* rows, std::size_t n_rows, double* sums, float* out) {
  const float* values[n_terms];
  double loadings[n_terms];
  for (std::size_t k = 0; k < n_terms; ++k) {
    values[k] = columns.column(direction.features[first + k]);
    loadings[k] = direction.loadings[first + k];
  }
  for (std::size_t i = 0; i < n_rows; ++i) {
    double sum = begins ? 0.0 : sums[i];
    for (std::size_t k = 0; k < n_terms; ++k) sum += loadings[k] * values[k][rows[i]];
    if (ends) {
      out[i] = static_cast<float>(sum);
    } else {
      sums[i] = sum;
    }
  }
}

// Adds the last one to four terms of a direction.
template <bool begins>
inline void add_last_terms(const Columns& columns, const Direction& direction, std::size_t first,
                           const std::uint32_t* rows, std::size_t n_rows, double* sums,
                           float* out) {
  const auto add = [&](auto pass) { pass(columns, direction, first, rows, n_rows, sums, out); };
  switch (direction.size - first) {
    case 1: return add(add_terms<1, begins, true>);
    case 2: return add(add_terms<2, begins, true>);
    case 3: return add(add_terms<3, begins, true>);
    default: return add(add_terms<4, begins, true>);
  }
}

// Computes the values of some rows along a direction over the matrix's columns.
inline void project_rows(const Columns& columns, const Direction& direction,
                         const std::uint32_t* rows, std::size_t n_rows, float* out) {
  if (direction.is_axis()) {
    const float* column = columns.column(direction.features[0]);
    for (std::size_t i = 0; i < n_rows; ++i) out[i] = column[rows[i]];
    return;
  }
  if (direction.size <= 4) {
    return add_last_terms<true>(columns, direction, 0, rows, n_rows, nullptr, out);
  }
  constexpr std::size_t kRows = 512;
  double sums[kRows];
  for (std::size_t done = 0; done < n_rows; done += kRows) {
    const std::size_t n = std::min(kRows, n_rows - done);
    add_terms<4, true, false>(columns, direction, 0, rows + done, n, sums, nullptr);
    std::size_t k = 4;
    for (; k + 4 < direction.size; k += 4) {
      add_terms<4, false, false>(columns, direction, k, rows + done, n, sums, nullptr);
    }
    add_last_terms<false>(columns, direction, k, rows + done, n, sums, out + done);
  }
}

// The rotated columns for the rows of one node, kept while its subtree grows. Larger nodes have no
// block and project every candidate anew. A tree therefore never holds more than half of the
// rotated matrix, or a sixteenth if the matrix is large. Nodes are ranges of the tree's rows; a
// split that moves rows also moves their `places`.
class RotatedBlock {
 public:
  RotatedBlock(const Columns& columns, std::size_t n_rows)
      : columns_(columns),
        most_rows_(std::max(n_rows / 16, std::min(n_rows / 2, kSmall / columns.n_columns))),
        places_(columns.rotation ? n_rows : 0) {}

  bool holds(std::size_t begin, std::size_t end) const { return begin_ <= begin && end <= end_; }
  bool can_hold(std::size_t n_rows) const { return n_rows <= most_rows_; }

  // Computes the columns of the rows in [begin, end). `pause` is called periodically.
  template <class Pause>
  void make(const std::uint32_t* rows, std::size_t begin, std::size_t end, Pause pause) {
    const std::size_t n_rows = end - begin;
    begin_ = end_ = 0;
    values_.resize(n_rows * columns_.n_columns);
    for (std::size_t k = 0; k < columns_.n_columns; ++k) {
      const Direction direction = columns_.rotation->direction(k);
      pause(n_rows * direction.size / 8);
      project_rows(columns_, direction, rows + begin, n_rows, values_.data() + k * n_rows);
    }
    std::iota(places_.begin() + begin, places_.begin() + end, 0U);
    begin_ = begin;
    end_ = end;
  }

  // Reads rotated column k for the rows in [begin, end), which the block must hold.
  void read(std::size_t k, std::size_t begin, std::size_t end, float* out) const {
    const float* column = values_.data() + k * (end_ - begin_);
    for (std::size_t i = begin; i < end; ++i) out[i - begin] = column[places_[i]];
  }

  std::uint32_t* places() { return places_.data(); }

 private:
  static constexpr std::size_t kSmall = 1 << 23;  // number of values: 32 MB

  const Columns& columns_;
  std::size_t most_rows_, begin_ = 1, end_ = 0;
  std::vector<float> values_;
  std::vector<std::uint32_t> places_;  // per row of the tree: its position in the block
};

}  // namespace jarf
