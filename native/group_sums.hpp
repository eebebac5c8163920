// Sums of rows by group, such as gradients by leaf.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jarf {

// Adds weights[i] * values[i] to the row groups[i] of total, row by row; a negative group is left
// out. values is (n_rows, n_columns), total (n_groups, n_columns).
inline void add_by_group(const double* values, const double* weights, const std::int32_t* groups,
                         std::size_t n_rows, std::size_t n_columns, double* total) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    if (groups[i] < 0) continue;
    const double* row = values + i * n_columns;
    double* sums = total + static_cast<std::size_t>(groups[i]) * n_columns;
    const double weight = weights[i];
    for (std::size_t j = 0; j < n_columns; ++j) sums[j] += weight * row[j];
  }
}

}  // namespace jarf
