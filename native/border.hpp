// Checks of everything that comes from Python. They run once, and the kernels rely on them. This
// file includes no Python header, so that the fuzz target (native/tests) uses the same checks as
// the bindings.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "columns.hpp"
#include "gradient_draws.hpp"

namespace jarf {

inline void require(bool fine, const char* what) {
  if (!fine) throw std::invalid_argument(what);
}

inline void check_matrix(const float* values, std::size_t n_columns, std::size_t n_rows) {
  require(n_rows > 0 && n_columns > 0, "the training matrix must not be empty");
  require(n_rows <= (1ULL << 30) && n_columns < (1ULL << 31),
          "the training matrix must have at most 2**30 rows and fewer than 2**31 columns");
  require(all_finite(values, n_rows * n_columns),
          "the training matrix must be finite in float32: divide columns that are too large");
}

// Checks the bins of a validated matrix: bins are in ascending order and every value lies in its
// bin. A wrong code would send rows to the wrong side of a split or leave a side empty.
inline void check_bins(const Columns& columns) {
  for (std::size_t j = 0; j < columns.n_columns; ++j) {
    const std::int64_t n_bins = std::llabs(columns.n_bins[j]);
    require(n_bins >= 1 && n_bins <= static_cast<std::int64_t>(kMaxBins),
            "n_bins must lie between 1 and 256, or between -256 and -1");
    const float* lowest = columns.lowest + j * kMaxBins;
    const float* highest = columns.highest + j * kMaxBins;
    bool ascend = true;
    for (std::int64_t bin = 1; bin < n_bins; ++bin) ascend &= highest[bin - 1] < lowest[bin];
    require(ascend, "bins must ascend");
    const float* column = columns.column(j);
    const std::uint8_t* codes = columns.code_column(j);
    bool inside = true;
    for (std::size_t i = 0; i < columns.n_rows; ++i) {
      const std::uint8_t bin = codes[i];  // any byte is a valid index of lowest and highest
      inside &= bin < n_bins && lowest[bin] <= column[i] && column[i] <= highest[bin];
    }
    require(inside,
            "codes put a value into a bin that is not there or not its own: they belong to another "
            "matrix, or the training matrix changed after they were made; pass a copy of X");
  }
}

// Checks the row weights. The criteria square their sum, which must not overflow.
inline void check_weights(const double* weights, std::size_t n_rows) {
  double total = 0.0;
  bool fine = true;
  for (std::size_t i = 0; i < n_rows; ++i) {
    fine &= weights[i] >= 0.0;
    total += weights[i];
  }
  require(fine, "weights must not be negative or NaN");
  require(total > 0.0, "at least one row must have a weight above zero");
  require(std::isfinite(total * total), "weights are too large: the square of their sum overflows");
}

inline void check_labels(const std::int32_t* labels, std::size_t n_rows, std::size_t n_classes) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    require(labels[i] >= 0 && static_cast<std::size_t>(labels[i]) < n_classes,
            "labels must lie between 0 and n_classes - 1");
  }
}

// Checks the groups of rows; a negative group is none.
inline void check_groups(const std::int32_t* groups, std::size_t n_rows, std::size_t n_groups) {
  bool fine = true;
  for (std::size_t i = 0; i < n_rows; ++i) {
    fine &= groups[i] < 0 || static_cast<std::size_t>(groups[i]) < n_groups;
  }
  require(fine, "groups must be smaller than the number of rows of total");
}

// Checks responses, gradients or hessians (n_rows, width). Their sums over rows are squared.
inline void check_responses(const double* responses, const double* weights, std::size_t n_rows,
                            std::size_t width, const char* name = "responses") {
  double sizes = 0.0, weighted = 0.0;
  for (std::size_t i = 0; i < n_rows; ++i) {
    for (std::size_t c = 0; c < width; ++c) {
      const double size = std::fabs(responses[i * width + c]);
      sizes += size;
      weighted += weights[i] * size;
    }
  }
  if (std::isfinite(sizes * sizes) && std::isfinite(weighted * weighted)) return;
  throw std::invalid_argument(std::string(name) +
                              " are NaN or too large: the square of their sum overflows; divide "
                              "them by their standard deviation");
}

inline void check_chances(const double* chances, std::size_t n) {
  double total = 0.0;
  bool fine = true;
  for (std::size_t k = 0; k < n; ++k) {
    fine &= chances[k] >= 0.0;
    total += chances[k];
  }
  require(fine && std::isfinite(total), "chances must not be negative, infinite or NaN");
}

inline void check_n_candidates(std::size_t n_candidates) {
  require(n_candidates < (1ULL << 31), "n_candidates must be below 2**31");
}

inline void check_sparse_random(double mean_size, const float* scales, std::size_t n_columns) {
  require(mean_size > 0.0 && mean_size <= static_cast<double>(n_columns),
          "mean_size must lie between 0 and the number of columns");
  require(all_finite(scales, n_columns), "scales must be finite");
}

// `n_places` is the number of training rows if some of them have no gradient.
inline void check_gradients(const GradientSource& source, std::size_t n_rows,
                            std::size_t n_features, std::size_t n_places = 0) {
  for (std::size_t i = 0; source.places && i < n_places; ++i) {
    require(source.places[i] < 0 || static_cast<std::size_t>(source.places[i]) < n_rows,
            "places names a gradient that is not there");
  }
  require(source.features || source.width == n_features,
          "gradients must be dense, or name the column of every entry");
  require(all_finite(source.values, n_rows * source.width), "gradients must be finite");
  for (std::size_t k = 0; source.features && k < n_rows * source.width; ++k) {
    require(source.features[k] >= 0 && static_cast<std::size_t>(source.features[k]) < n_features,
            "a gradient names a column that is not there");
  }
}

// Checks projections (starts, features, loadings): complete, and none empty. A column may occur in
// a projection only once, because finite differences move a single term of it.
inline void check_projections(const std::int32_t* starts, std::size_t n_projections,
                              const std::int32_t* features, std::size_t n_loadings,
                              std::size_t n_columns) {
  bool fine = starts[0] == 0;
  for (std::size_t k = 0; k < n_projections; ++k) fine = fine && starts[k] < starts[k + 1];
  fine = fine && static_cast<std::size_t>(starts[n_projections]) == n_loadings;
  for (std::size_t k = 0; k < n_loadings; ++k) {
    fine = fine && features[k] >= 0 && static_cast<std::size_t>(features[k]) < n_columns;
  }
  require(fine, "a projection points outside the columns or the pools");
  std::vector<std::size_t> last(n_projections > 0 ? n_columns : 0, n_projections);
  for (std::size_t k = 0; k < n_projections; ++k) {
    for (std::int32_t at = starts[k]; at < starts[k + 1]; ++at) {
      require(last[features[at]] != k, "a projection names a column twice");
      last[features[at]] = k;
    }
  }
}

}  // namespace jarf
