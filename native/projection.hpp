// Values of a node's rows along a direction, and the rotated columns of a subtree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "columns.hpp"

namespace jarf {

// Adds a few weighted columns in one pass, one after the other for each row.
template <std::size_t n_columns>
inline void add_columns(const Columns& columns, const Direction& direction, std::size_t first,
                        const std::uint32_t* rows, std::size_t n_rows, float* out) {
  const float* values[n_columns];
  float loadings[n_columns];
  for (std::size_t k = 0; k < n_columns; ++k) {
    values[k] = columns.column(direction.features[first + k]);
    loadings[k] = direction.loadings[first + k];
  }
  for (std::size_t i = 0; i < n_rows; ++i) {
    float sum = out[i];
    for (std::size_t k = 0; k < n_columns; ++k) sum += loadings[k] * values[k][rows[i]];
    out[i] = sum;
  }
}

// The values of some rows along a direction of the matrix's columns.
inline void project_rows(const Columns& columns, const Direction& direction,
                         const std::uint32_t* rows, std::size_t n_rows, float* out) {
  const float* column = columns.column(direction.features[0]);
  if (direction.is_axis()) {
    for (std::size_t i = 0; i < n_rows; ++i) out[i] = column[rows[i]];
    return;
  }
  const float first = direction.loadings[0];
  for (std::size_t i = 0; i < n_rows; ++i) out[i] = first * column[rows[i]];
  std::size_t k = 1;
  for (; k + 4 <= direction.size; k += 4) add_columns<4>(columns, direction, k, rows, n_rows, out);
  for (; k + 2 <= direction.size; k += 2) add_columns<2>(columns, direction, k, rows, n_rows, out);
  for (; k < direction.size; ++k) add_columns<1>(columns, direction, k, rows, n_rows, out);
}

// The rotated columns of one node's rows, kept while its subtree grows. Larger nodes do without
// and project every candidate anew: a tree never holds more than half of the rotated matrix, and of
// a large one no more than a sixteenth. Nodes are ranges of the tree's rows; a split that moves
// rows moves their `places` too.
class RotatedBlock {
 public:
  RotatedBlock(const Columns& columns, std::size_t n_rows)
      : columns_(columns),
        most_rows_(std::max(n_rows / 16, std::min(n_rows / 2, kSmall / columns.n_columns))),
        places_(columns.rotation ? n_rows : 0) {}

  bool holds(std::size_t begin, std::size_t end) const { return begin_ <= begin && end <= end_; }
  bool can_hold(std::size_t n_rows) const { return n_rows <= most_rows_; }

  // Makes the columns of the rows in [begin, end). `pause` is called now and then.
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

  // Rotated column k in the rows of [begin, end), which the block holds.
  void read(std::size_t k, std::size_t begin, std::size_t end, float* out) const {
    const float* column = values_.data() + k * (end_ - begin_);
    for (std::size_t i = begin; i < end; ++i) out[i - begin] = column[places_[i]];
  }

  std::uint32_t* places() { return places_.data(); }

 private:
  static constexpr std::size_t kSmall = 1 << 23;  // values: 32 MB

  const Columns& columns_;
  std::size_t most_rows_, begin_ = 1, end_ = 0;
  std::vector<float> values_;
  std::vector<std::uint32_t> places_;  // of each of the tree's rows: where the block has it
};

}  // namespace jarf
