// Cache-sized copies of the columns for the rows of a subtree. Within the subtree, candidates read
// the copy instead of rows scattered over the training matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "columns.hpp"

namespace jarf {

// The location of a node's values: row i of the node is row rows[i] of `columns`.
struct NodeColumns {
  const Columns* columns;
  const std::uint32_t* rows;
};

// Nodes are ranges of the tree's rows, and the tree must grow depth first. There are two copies:
// one of a subtree that fits the L2 cache, and one of a part of it that fits the L1 cache. A split
// that moves rows also moves their `places`, which refer to the innermost copy that holds them.
class PackedColumns {
 public:
  // If not `active`, every node reads from the matrix.
  PackedColumns(const Columns& columns, std::size_t n_rows, bool active) : columns_(columns) {
    const std::size_t d = columns.n_columns;
    if (active && n_rows * d > 4 * kSizes[0]) most_rows_[0] = kSizes[0] / d;
    if (active) most_rows_[1] = kSizes[1] / d;
    // A wide table's copies would hold few rows, and nodes would read few of their columns.
    for (std::size_t& most : most_rows_) most = most < kLeastRows || 8 * most < d ? 0 : most;
    if (most_rows_[0] > 0 || most_rows_[1] > 0) places_.resize(n_rows);
  }

  // The location of the rows in [begin, end); `rows` are all rows of the tree.
  NodeColumns find(const std::uint32_t* rows, std::size_t begin, std::size_t end) const {
    for (std::size_t level = 2; level-- > 0;) {
      if (copies_[level].holds(begin, end)) {
        return {&copies_[level].columns, places_.data() + begin};
      }
    }
    return {&columns_, rows + begin};
  }

  // Copies the node's rows if the subtree below is large enough to repay the cost.
  void enter(const std::uint32_t* rows, std::size_t begin, std::size_t end) {
    const std::size_t n_rows = end - begin;
    if (n_rows < kLeastRows) return;
    for (std::size_t level = 0; level < 2; ++level) {
      if (n_rows > most_rows_[level] || copies_[level].holds(begin, end)) continue;
      const NodeColumns from = find(rows, begin, end);
      copies_[level].make(*from.columns, from.rows, begin, end);
      std::iota(places_.begin() + begin, places_.begin() + end, 0U);
      if (level == 0) copies_[1].drop();
    }
  }

  // The position in the copy of each row in [begin, end), or null if there is no copy.
  std::uint32_t* places(std::size_t begin, std::size_t end) {
    const bool held = copies_[0].holds(begin, end) || copies_[1].holds(begin, end);
    return held ? places_.data() + begin : nullptr;
  }

 private:
  struct Copy {
    std::size_t begin = 1, end = 0;
    std::vector<float> values;
    Columns columns{nullptr, 0, 0};

    bool holds(std::size_t from, std::size_t to) const { return begin <= from && to <= end; }
    void drop() { end = 0, begin = 1; }
    void make(const Columns& source, const std::uint32_t* rows, std::size_t from, std::size_t to) {
      const std::size_t n_rows = to - from;
      values.resize(n_rows * source.n_columns);
      for (std::size_t j = 0; j < source.n_columns; ++j) {
        const float* column = source.column(j);
        float* out = values.data() + j * n_rows;
        for (std::size_t i = 0; i < n_rows; ++i) out[i] = column[rows[i]];
      }
      columns = {values.data(), n_rows, source.n_columns};
      begin = from;
      end = to;
    }
  };

  static constexpr std::size_t kSizes[2] = {1 << 16, 1 << 12};  // values: 256 KB and 16 KB
  static constexpr std::size_t kLeastRows = 32;

  const Columns& columns_;
  std::size_t most_rows_[2] = {0, 0};
  Copy copies_[2];
  std::vector<std::uint32_t> places_;
};

}  // namespace jarf
