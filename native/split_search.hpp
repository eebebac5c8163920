// The best threshold along one candidate direction: exact by sorting in small nodes, by histograms
// in large ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "columns.hpp"
#include "direction_bins.hpp"
#include "sorting.hpp"

namespace jarf {

// The best split of a node so far; `found` is false if there is none.
struct Split {
  double score = -std::numeric_limits<double>::infinity();
  float threshold = 0.0f;
  bool found = false;
};

template <class Target>
class SplitSearch {
 public:
  SplitSearch(Target& target, std::size_t min_leaf) : target_(target), min_leaf_(min_leaf) {}

  // Tries every threshold between neighbouring values. Returns true if `best` was improved.
  bool exact(const float* values, std::size_t n_rows, float lowest, float highest, Split& best) {
    reserve(n_rows);
    Key *keys = first_.data(), *spare = second_.data();
    for (std::size_t i = 0; i < n_rows; ++i) keys[i] = make_key(values[i], i);
    sort_keys(keys, spare, values, n_rows, lowest, highest, counts_);
    const std::size_t best_at = scan_keys(keys, n_rows, best);
    if (best_at == 0) return false;
    set_threshold(keys, best_at, best);
    return true;
  }

  // The same for a column whose bins are single values. Bytes are cheaper to read and to sort.
  bool coded(const std::uint8_t* codes, const std::uint32_t* rows, std::size_t n_rows,
             const float* values, Split& best) {
    reserve(n_rows);
    Key *keys = first_.data(), *spare = second_.data();
    std::uint32_t lowest = kMaxBins, highest = 0;
    for (std::size_t i = 0; i < n_rows; ++i) {
      const std::uint32_t code = codes[rows[i]];
      keys[i] = (static_cast<Key>(code) << 32) | static_cast<std::uint32_t>(i);
      lowest = std::min(lowest, code);
      highest = std::max(highest, code);
    }
    n_filled_ = lowest < highest && std::isfinite(values[highest] - values[lowest]) ? 2 : 1;
    if (n_filled_ == 1) return false;
    sort_codes(keys, spare, n_rows, lowest, highest);
    const std::size_t best_at = scan_keys(keys, n_rows, best);
    if (best_at == 0) return false;
    best.threshold = between(values[key_bits(keys[best_at - 1])], values[key_bits(keys[best_at])]);
    return true;
  }

  // Tries thresholds between the bins given by `codes`. Exact if every bin is a single value.
  bool binned(const std::uint8_t* codes, const std::uint32_t* rows, std::size_t n_rows,
              std::size_t n_bins, const float* lowest, const float* highest, Split& best) {
    const auto bin_of = [&](std::size_t i) { return codes[rows[i]]; };
    if (!fill_pairs(n_bins, n_rows, bin_of)) fill(n_bins, n_rows, bin_of);
    return filled(histogram_.data(), counts_.data(), n_rows, n_bins, lowest, highest, best);
  }

  // The same for a histogram that is already filled.
  bool filled(const double* histogram, const std::uint32_t* counts, std::size_t n_rows,
              std::size_t n_bins, const float* lowest, const float* highest, Split& best) {
    std::size_t below = 0, above = 0;
    scan(histogram, counts, n_bins, n_rows, best, [&](std::size_t left, std::size_t right) {
      below = left;
      above = right;
    });
    if (below == above) return false;
    best.threshold = between(highest[below], lowest[above]);
    return true;
  }

  // Whether there are enough rows for bins that are fine enough and still cost less than sorting.
  bool bins_pay(std::size_t n_rows) const { return n_rows >= kLeastBins * target_.bin_width(); }

  // Tries thresholds between the bins of a direction, then every threshold around the best of them
  // and within crowded bins.
  bool directed(const float* values, std::size_t n_rows, float lowest, float highest, Split& best) {
    const std::size_t n_bins =
        std::min(kMostBins, std::max(kLeastBins, n_rows / target_.bin_width()));
    if (!bins_.make(values, n_rows, n_bins, lowest, highest)) {
      return exact(values, n_rows, lowest, highest, best);
    }
    const std::size_t width = target_.bin_width();
    histogram_.assign(n_bins * width, 0.0);
    target_.fill(bins_.codes(), n_rows, histogram_.data());
    Split coarse;
    std::size_t below = 0, above = 0;
    const auto improved = [&](std::size_t left, std::size_t right) {
      below = left;
      above = right;
    };
    scan(histogram_.data(), bins_.counts(), n_bins, n_rows, coarse, improved);
    if (!coarse.found) return exact(values, n_rows, lowest, highest, best);
    bool better = is_near(coarse, best) && refine(values, n_rows, below, above, best);
    for (std::size_t bin = 0; bin < n_bins; ++bin) {
      if (bins_.is_crowded(bin, n_rows) && !bins_.is_value(bin, values, n_rows)) {
        better |= refine(values, n_rows, bin, bin, best);
      }
    }
    return better;
  }

  // Number of non-empty bins in the last histogram; one means constant, as far as bins can tell.
  std::size_t n_filled() const { return n_filled_; }

 private:
  static bool improves(Split& best, double score) {
    if (!(score > best.score)) return false;
    best.score = score;
    best.found = true;
    return true;
  }

  // Tries every threshold between neighbouring keys; returns the number of rows left of the best
  // one, or 0 if none improves `best`.
  std::size_t scan_keys(const Key* keys, std::size_t n_rows, Split& best) {
    typename Target::Sides sides(target_);
    std::size_t best_at = 0;
    const std::size_t last = n_rows - min_leaf_;
    for (std::size_t i = 0; i < last; ++i) {
      sides.move_row(key_row(keys[i]));
      if (i + 1 < min_leaf_ || key_bits(keys[i]) == key_bits(keys[i + 1])) continue;
      if (sides.can_beat(best.score) && improves(best, sides.score())) best_at = i + 1;
    }
    return best_at;
  }

  template <class BinOf>
  void fill(std::size_t n_bins, std::size_t n_rows, BinOf bin_of) {
    const std::size_t width = target_.bin_width();
    histogram_.assign(n_bins * width, 0.0);
    counts_.assign(n_bins, 0);
    for (std::size_t i = 0; i < n_rows; ++i) {
      const std::size_t bin = bin_of(i);
      ++counts_[bin];
      target_.add_to_bin(histogram_.data() + bin * width, i);
    }
  }

  // The same histogram for two bins of two sums each, which stay in registers: a level of a category
  // and two classes or a response. Adding zero to a sum does not change it.
  template <class BinOf>
  bool fill_pairs(std::size_t n_bins, std::size_t n_rows, BinOf bin_of) {
    if constexpr (Target::kHasPairs) {
      if (n_bins != 2 || target_.bin_width() != 2) return false;
      double sums[4] = {};
      std::uint32_t n_second = 0;
      for (std::size_t i = 0; i < n_rows; ++i) {
        const std::uint32_t bin = bin_of(i);
        const double in_second = bin, in_first = 1.0 - in_second;
        const auto [a, b] = target_.pair(i);
        sums[0] += in_first * a;
        sums[1] += in_first * b;
        sums[2] += in_second * a;
        sums[3] += in_second * b;
        n_second += bin;
      }
      histogram_.assign(sums, sums + 4);
      counts_.assign({static_cast<std::uint32_t>(n_rows) - n_second, n_second});
      return true;
    }
    return false;
  }

  // Calls `improved` with the non-empty bins on both sides of every new best threshold.
  template <class Improved>
  void scan(const double* histogram, const std::uint32_t* counts, std::size_t n_bins,
            std::size_t n_rows, Split& best, Improved improved) {
    const std::size_t width = target_.bin_width();
    typename Target::Sides sides(target_);
    std::size_t n_left = 0, previous = n_bins;
    n_filled_ = 0;
    for (std::size_t bin = 0; bin < n_bins; ++bin) {
      if (counts[bin] == 0) continue;
      ++n_filled_;
      if (n_left >= min_leaf_ && n_rows - n_left >= min_leaf_ && previous < n_bins &&
          sides.can_beat(best.score) && improves(best, sides.score())) {
        improved(previous, bin);
      }
      sides.move_bin(histogram + bin * width);
      n_left += counts[bin];
      previous = bin;
    }
  }

  // Whether a candidate could beat the best once thresholds within its bins are tried too.
  bool is_near(const Split& coarse, const Split& best) const {
    return !best.found || coarse.score > best.score - kSlack * (best.score - target_.score());
  }

  // Tries every threshold between neighbouring values of two bins; all bins between them are empty.
  bool refine(const float* values, std::size_t n_rows, std::size_t from, std::size_t to,
              Split& best) {
    const std::size_t width = target_.bin_width();
    typename Target::Sides sides(target_);
    std::size_t n_left = 0;
    for (std::size_t bin = 0; bin < from; ++bin) {
      if (bins_.count(bin) > 0) sides.move_bin(histogram_.data() + bin * width);
      n_left += bins_.count(bin);
    }
    const std::size_t n_keys = collect(values, n_rows, from, to);
    Key *keys = first_.data(), *spare = second_.data();
    sort_keys(keys, spare, n_keys);
    std::size_t best_at = 0;
    for (std::size_t i = 0; i + 1 < n_keys; ++i) {
      const std::size_t row = key_row(keys[i]);
      if (row < n_rows) {
        sides.move_row(row);
        ++n_left;
      } else {
        sides.move_bin(histogram_.data() + (row - n_rows) * width);
        n_left += bins_.count(row - n_rows);
      }
      if (n_left < min_leaf_ || key_bits(keys[i]) == key_bits(keys[i + 1])) continue;
      if (n_rows - n_left < min_leaf_) break;
      if (improves(best, sides.score())) best_at = i + 1;
    }
    if (best_at == 0) return false;
    set_threshold(keys, best_at, best);
    return true;
  }

  // Creates the keys of the rows in bins `from` and `to`; all bins between them are empty. A
  // crowded bin with a single value gets one key, whose row is the number of rows plus the bin's
  // index.
  std::size_t collect(const float* values, std::size_t n_rows, std::size_t from, std::size_t to) {
    const auto is_whole = [&](std::size_t bin) {
      return bins_.is_crowded(bin, n_rows) && bins_.is_value(bin, values, n_rows);
    };
    reserve(bins_.count(from) + bins_.count(to));
    const bool from_whole = from < to && is_whole(from), to_whole = from < to && is_whole(to);
    if (!from_whole && !to_whole) return collect_rows(values, n_rows, from, to, 0);
    std::size_t n_keys = 0;
    for (const std::size_t bin : {from, to}) {
      if (bin == from ? from_whole : to_whole) {
        first_[n_keys++] = make_key(values[bins_.first_row(bin)], n_rows + bin);
      } else {
        n_keys = collect_rows(values, n_rows, bin, bin, n_keys);
      }
    }
    return n_keys;
  }

  std::size_t collect_rows(const float* values, std::size_t n_rows, std::size_t from,
                           std::size_t to, std::size_t n_keys) {
    Key* keys = first_.data();
    const std::uint8_t* codes = bins_.codes();
    for (std::size_t i = 0; i < n_rows; ++i) {
      if (codes[i] >= from && codes[i] <= to) keys[n_keys++] = make_key(values[i], i);
    }
    return n_keys;
  }

  void reserve(std::size_t n_keys) {
    if (first_.size() >= n_keys) return;
    first_.resize(n_keys);
    second_.resize(n_keys);
  }

  static void set_threshold(const Key* keys, std::size_t at, Split& best) {
    best.threshold = between(float_of_bits(key_bits(keys[at - 1])), float_of_bits(key_bits(keys[at])));
  }

  static constexpr std::size_t kLeastBins = 32, kMostBins = 128;
  static constexpr double kSlack = 0.1;

  Target& target_;
  std::size_t min_leaf_;
  std::vector<Key> first_, second_;
  std::vector<double> histogram_;
  std::vector<std::uint32_t> counts_;
  std::size_t n_filled_ = 0;
  DirectionBins bins_;
};

}  // namespace jarf
