// Sums of outer products of mostly zero rows in dense storage, such as a tree's gradients.
#pragma once

#include <cstddef>
#include <vector>

namespace jarf {

// Adds sum_i w_i g_i g_i' to the lower triangle of total (n_features, n_features), row by row.
// weights may be nullptr. Beyond reading a row, only its non-zero entries cost time.
inline void add_outer_products(const double* rows, const double* weights, std::size_t n_rows,
                               std::size_t n_features, double* total) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < n_rows; ++i) {
    const double* row = rows + i * n_features;
    const double weight = weights ? weights[i] : 1.0;
    places.clear();
    for (std::size_t j = 0; j < n_features; ++j) {
      if (row[j] != 0.0) places.push_back(j);
    }
    for (std::size_t a = 0; a < places.size(); ++a) {
      double* line = total + places[a] * n_features;
      const double scaled = weight * row[places[a]];
      for (std::size_t b = 0; b <= a; ++b) line[places[b]] += scaled * row[places[b]];
    }
  }
}

}  // namespace jarf
