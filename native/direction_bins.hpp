// Bins of one direction in one node, one byte per row. Bins have equal width. If values crowd into
// a few bins, the range is narrowed first; if they still crowd, the bins are chosen to hold about
// equal numbers of rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace jarf {

class DirectionBins {
 public:
  // A bin with more than 1/kCrowd of the rows is crowded.
  static constexpr std::size_t kCrowd = 8;

  // Assigns the values to `n_bins` (at most 256). Returns false if their range is too narrow.
  bool make(const float* values, std::size_t n_rows, std::size_t n_bins, float lowest,
            float highest) {
    if (codes_.size() < n_rows) codes_.resize(n_rows);
    n_bins_ = n_bins;
    for (int round = 0;; ++round) {
      const float scale = static_cast<float>(n_bins) / (highest - lowest);
      if (!(scale < 1e30f)) return false;
      assign(values, n_rows, lowest, scale);
      if (!is_crowded(n_rows)) return true;
      const float from = lowest;
      if (round == 2 || !narrow(n_rows, from, 1.0f / scale, lowest, highest)) {
        spread(values, n_rows, from, scale);
        return true;
      }
    }
  }

  const std::uint8_t* codes() const { return codes_.data(); }
  const std::uint32_t* counts() const { return counts_; }
  std::size_t count(std::size_t bin) const { return counts_[bin]; }
  bool is_crowded(std::size_t bin, std::size_t n_rows) const {
    return counts_[bin] * kCrowd > n_rows;
  }
  // Whether all values of a non-empty bin are equal.
  bool is_value(std::size_t bin, const float* values, std::size_t n_rows) const {
    std::size_t i = first_row(bin);
    const float value = values[i];
    while (++i < n_rows) {
      if (codes_[i] == bin && values[i] != value) return false;
    }
    return true;
  }
  std::size_t first_row(std::size_t bin) const {
    std::size_t i = 0;
    while (codes_[i] != bin) ++i;
    return i;
  }

 private:
  void assign(const float* values, std::size_t n_rows, float lowest, float scale) {
    const float last = static_cast<float>(n_bins_ - 1);
    std::uint8_t* codes = codes_.data();
    for (std::size_t i = 0; i < n_rows; ++i) {
      float place = (values[i] - lowest) * scale;
      place = place > 0.0f ? place : 0.0f;
      place = place < last ? place : last;
      codes[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(place));
    }
    count_rows(n_rows);
  }

  // Assigns bins by the cumulative share of rows, assumed to be linear within each bin.
  void spread(const float* values, std::size_t n_rows, float lowest, float scale) {
    const float last = static_cast<float>(n_bins_ - 1);
    const float per_row = static_cast<float>(n_bins_) / static_cast<float>(n_rows);
    float shares[257];
    std::size_t passed = 0;
    for (std::size_t bin = 0; bin < n_bins_; ++bin) {
      shares[bin] = static_cast<float>(passed) * per_row;
      passed += counts_[bin];
    }
    shares[n_bins_] = static_cast<float>(n_bins_);
    for (std::size_t i = 0; i < n_rows; ++i) {
      const std::size_t bin = codes_[i];
      const float inside = (values[i] - lowest) * scale - static_cast<float>(bin);
      const float begin = shares[bin], end = shares[bin + 1];
      float place = begin + (inside > 0.0f ? inside : 0.0f) * (end - begin);
      place = place < end ? place : end;
      place = place < last ? place : last;
      codes_[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(place));
    }
    count_rows(n_rows);
  }

  // Two sets of counters, so that consecutive rows in the same bin need not wait for each other.
  void count_rows(std::size_t n_rows) {
    const std::uint8_t* codes = codes_.data();
    std::uint32_t odd[256];
    std::fill(counts_, counts_ + n_bins_, 0U);
    std::fill(odd, odd + n_bins_, 0U);
    std::size_t i = 0;
    for (; i + 2 <= n_rows; i += 2) {
      ++counts_[codes[i]];
      ++odd[codes[i + 1]];
    }
    if (i < n_rows) ++counts_[codes[i]];
    for (std::size_t bin = 0; bin < n_bins_; ++bin) counts_[bin] += odd[bin];
  }

  bool is_crowded(std::size_t n_rows) const {
    return *std::max_element(counts_, counts_ + n_bins_) * kCrowd > n_rows;
  }

  // The bins' range without 1/64 of the rows at each end. Returns false if barely narrower.
  bool narrow(std::size_t n_rows, float from, float width, float& lowest, float& highest) const {
    const std::size_t spared = n_rows / 64;
    std::size_t first = 0, last = n_bins_ - 1;
    for (std::size_t passed = counts_[0]; passed <= spared; passed += counts_[++first]) {}
    for (std::size_t passed = counts_[last]; passed <= spared; passed += counts_[--last]) {}
    if (2 * (last - first + 1) > n_bins_) return false;
    lowest = from + static_cast<float>(first) * width;
    highest = from + static_cast<float>(last + 1) * width;
    return true;
  }

  std::size_t n_bins_ = 0;
  std::vector<std::uint8_t> codes_;
  std::uint32_t counts_[256];
};

}  // namespace jarf
