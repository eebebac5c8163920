// The training matrix shared by all trees of a forest: float32 columns and, for large nodes, the
// bin of every value as one byte.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "sorting.hpp"

namespace jarf {

constexpr std::size_t kMaxBins = 256;

// A sparse vector over the columns. A single feature with loading 1 is a plain axis.
struct Direction {
  const std::int32_t* features = nullptr;
  const float* loadings = nullptr;
  std::size_t size = 0;
  bool is_axis() const { return size == 1 && loadings[0] == 1.0f; }
};

// The rotation of a tree: its column k holds the values along direction k.
struct Rotation {
  const std::int32_t* starts;  // offset of each direction in the two arrays below
  const std::int32_t* features;
  const float* loadings;
  Direction direction(std::size_t k) const {
    return {features + starts[k], loadings + starts[k],
            static_cast<std::size_t>(starts[k + 1] - starts[k])};
  }
};

// A view: the caller owns the arrays. Without bins, `codes` is null. With a rotation, a tree has
// `n_columns` rotated columns, which are not stored; `column` still returns one of the matrix.
struct Columns {
  const float* values;  // column-major
  std::size_t n_rows;
  std::size_t n_columns;
  const Rotation* rotation = nullptr;
  const std::uint8_t* codes = nullptr;    // column-major
  const float* lowest = nullptr;          // (n_columns, kMaxBins): smallest value of each bin
  const float* highest = nullptr;         // (n_columns, kMaxBins): largest value of each bin
  const std::int32_t* n_bins = nullptr;   // negative: every bin is one distinct value

  const float* column(std::size_t feature) const { return values + feature * n_rows; }
  const std::uint8_t* code_column(std::size_t feature) const { return codes + feature * n_rows; }
  std::size_t bins(std::size_t feature) const {
    return static_cast<std::size_t>(n_bins[feature] < 0 ? -n_bins[feature] : n_bins[feature]);
  }
  bool bins_are_values(std::size_t feature) const { return n_bins[feature] < 0; }
};

// Neither NaN nor infinite. Branch-free, so that compilers vectorise it.
template <typename T>
bool all_finite(const T* values, std::size_t n) {
  bool spoiled = false;
  for (std::size_t i = 0; i < n; ++i) spoiled |= !(values[i] - values[i] == T{0});
  return !spoiled;
}

// Divides one column into at most kMaxBins bins with about equal numbers of rows. Equal values
// share a bin; with few enough distinct values, each has its own bin. The copy is checked because
// another thread may write to the column, and sorting NaN would be meaningless.
inline std::int32_t bin_column(const float* column, std::size_t n_rows, std::uint8_t* codes,
                               float* lowest, float* highest, std::vector<Key>& scratch) {
  scratch.resize(2 * n_rows);
  Key *keys = scratch.data(), *spare = keys + n_rows;
  bool spoiled = false;
  for (std::size_t i = 0; i < n_rows; ++i) {
    const float value = column[i];
    spoiled |= !(value - value == 0.0f);
    keys[i] = make_key(value, i);
  }
  if (spoiled) {
    throw std::invalid_argument(
        "the training matrix must be finite in float32: divide columns that are too large");
  }
  if (n_rows > 0) radix_sort(keys, spare, n_rows);
  const auto is_new = [&](std::size_t i) { return key_bits(keys[i]) != key_bits(keys[i - 1]); };
  std::size_t n_distinct = n_rows > 0 ? 1 : 0;
  for (std::size_t i = 1; i < n_rows; ++i) n_distinct += is_new(i);
  const bool each_its_own = n_distinct <= kMaxBins;
  std::size_t n_bins = 0, begin = 0;
  while (begin < n_rows) {
    // Takes an equal share of the remaining rows, then extends to the end of a run of equal values.
    std::size_t end = begin + 1;
    if (!each_its_own) {
      end = begin + std::max<std::size_t>(1, (n_rows - begin) / (kMaxBins - n_bins));
    }
    if (n_bins + 1 == kMaxBins) end = n_rows;
    while (end < n_rows && !is_new(end)) ++end;
    lowest[n_bins] = float_of_bits(key_bits(keys[begin]));
    highest[n_bins] = float_of_bits(key_bits(keys[end - 1]));
    for (; begin < end; ++begin) codes[key_row(keys[begin])] = static_cast<std::uint8_t>(n_bins);
    ++n_bins;
  }
  return each_its_own ? -static_cast<std::int32_t>(n_bins) : static_cast<std::int32_t>(n_bins);
}

// Smallest and largest of some values, in four independent lanes. Both are NaN if any value is NaN.
inline void range_of(const float* values, std::size_t n, float& lowest, float& highest) {
  float low[4], high[4];
  bool spoiled[4] = {};
  for (int lane = 0; lane < 4; ++lane) low[lane] = high[lane] = values[0];
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int lane = 0; lane < 4; ++lane) {
      const float value = values[i + lane];
      low[lane] = value < low[lane] ? value : low[lane];
      high[lane] = value > high[lane] ? value : high[lane];
      spoiled[lane] |= value != value;
    }
  }
  for (; i < n; ++i) {
    low[0] = values[i] < low[0] ? values[i] : low[0];
    high[0] = values[i] > high[0] ? values[i] : high[0];
    spoiled[0] |= values[i] != values[i];
  }
  lowest = std::min(std::min(low[0], low[1]), std::min(low[2], low[3]));
  highest = std::max(std::max(high[0], high[1]), std::max(high[2], high[3]));
  if (spoiled[0] || spoiled[1] || spoiled[2] || spoiled[3]) {
    lowest = highest = std::numeric_limits<float>::quiet_NaN();
  }
}

// A float32 t with low <= t < high, as close to the midpoint as float32 allows.
inline float between(float low, float high) {
  const float middle = static_cast<float>(0.5 * low + 0.5 * static_cast<double>(high));
  return middle < high ? middle : low;
}

}  // namespace jarf
