// The best threshold along one candidate direction: exact by sorting in small nodes, by
// histograms in large ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "columns.hpp"
#include "sorting.hpp"

namespace jarf {

// The best split of a node so far. `found` says whether there is one.
struct Split {
  double score = -std::numeric_limits<double>::infinity();
  float threshold = 0.0f;
  bool found = false;
};

template <class Target>
class SplitSearch {
 public:
  SplitSearch(Target& target, std::size_t min_leaf) : target_(target), min_leaf_(min_leaf) {}

  // Every threshold between two neighbouring values. True if `best` was improved.
  bool exact(const float* values, std::size_t n_rows, float lowest, float highest, Split& best) {
    if (first_.size() < n_rows) {  // nodes that are searched otherwise need no keys
      first_.resize(n_rows);
      second_.resize(n_rows);
    }
    Key *keys = first_.data(), *spare = second_.data();
    for (std::size_t i = 0; i < n_rows; ++i) keys[i] = make_key(values[i], i);
    sort_keys(keys, spare, values, n_rows, lowest, highest, counts_);
    typename Target::Sides sides(target_);
    std::size_t best_at = 0;
    const std::size_t last = n_rows - min_leaf_;
    for (std::size_t i = 0; i < last; ++i) {
      sides.move_row(key_row(keys[i]));
      if (i + 1 < min_leaf_ || key_bits(keys[i]) == key_bits(keys[i + 1])) continue;
      if (improves(best, sides.score())) best_at = i + 1;
    }
    if (best_at == 0) return false;
    best.threshold = between(float_of_bits(key_bits(keys[best_at - 1])),
                             float_of_bits(key_bits(keys[best_at])));
    return true;
  }

  // Thresholds between the bins that `codes` name. With bins that are values this is exact.
  bool binned(const std::uint8_t* codes, const std::uint32_t* rows, std::size_t n_rows,
              std::size_t n_bins, const float* lowest, const float* highest, Split& best) {
    fill(n_bins, n_rows, [&](std::size_t i) { return codes[rows[i]]; });
    return filled(histogram_.data(), counts_.data(), n_rows, n_bins, lowest, highest, best);
  }

  // The same, in a histogram that is there already.
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

  // Whether bins could be coarse enough to cost less than the rows, yet be fine enough.
  bool can_sample(std::size_t n_rows) const { return n_rows >= kMinEdges * target_.bin_width(); }

  // Thresholds between quantiles of a sample of the values.
  bool sampled(const float* values, std::size_t n_rows, float lowest, float highest, Split& best) {
    choose_edges(values, n_rows, lowest, highest);
    fill(edges_.size() + 1, n_rows, [&](std::size_t i) { return bin_of(values[i], lowest); });
    std::size_t below = 0, above = 0;
    const auto improved = [&](std::size_t left, std::size_t right) {
      below = left;
      above = right;
    };
    scan(histogram_.data(), counts_.data(), edges_.size() + 1, n_rows, best, improved);
    if (below == above) return false;
    best.threshold = edges_[below];
    return true;
  }

  // The number of bins filled in the last histogram; one means: constant as far as bins can tell.
  std::size_t n_filled() const { return n_filled_; }

 private:
  static bool improves(Split& best, double score) {
    if (!(score > best.score)) return false;
    best.score = score;
    best.found = true;
    return true;
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

  // Calls `improved` with the filled bins on both sides of each threshold that is the best so far.
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
          improves(best, sides.score())) {
        improved(previous, bin);
      }
      sides.move_bin(histogram + bin * width);
      n_left += counts[bin];
      previous = bin;
    }
  }

  // Edges lie where the sorted sample, every k-th value, first changes after an equal share of
  // it: quantiles, and all values where they are few. A table over equal steps of the range
  // says where to begin looking for a value's bin.
  void choose_edges(const float* values, std::size_t n_rows, float lowest, float highest) {
    const std::size_t n_edges =
        std::min(kMaxEdges, std::max(kMinEdges, n_rows / target_.bin_width()));
    const std::size_t n_sample = std::min(n_rows, 2 * n_edges);
    sample_.resize(n_sample);
    for (std::size_t i = 0; i < n_sample; ++i) sample_[i] = values[i * n_rows / n_sample];
    std::sort(sample_.begin(), sample_.end());
    edges_.clear();
    const std::size_t share = n_sample / n_edges;
    for (std::size_t at = 1, due = share; at < n_sample; ++at) {
      if (at < due || !(sample_[at - 1] < sample_[at])) continue;
      edges_.push_back(between(sample_[at - 1], sample_[at]));
      due = at + share;
    }
    if (edges_.empty()) edges_.push_back(between(lowest, highest));
    step_ = static_cast<float>(kCells) / (highest - lowest);
    if (!(step_ < 1e30f)) step_ = 0.0f;
    std::size_t cell = 0;
    for (std::size_t edge = 0; edge < edges_.size(); ++edge) {
      const std::size_t reached = cell_of(edges_[edge], lowest);
      while (cell <= reached) first_edge_[cell++] = static_cast<std::uint16_t>(edge);
    }
    while (cell <= kCells + 1) first_edge_[cell++] = static_cast<std::uint16_t>(edges_.size());
  }

  std::size_t cell_of(float value, float lowest) const {
    return std::min(static_cast<std::size_t>((value - lowest) * step_), kCells);
  }

  // The number of edges below `value`: monotone cells leave few edges to look at.
  std::size_t bin_of(float value, float lowest) const {
    const std::size_t cell = cell_of(value, lowest);
    std::size_t bin = first_edge_[cell];
    const std::size_t end = first_edge_[cell + 1];
    if (end - bin > 4) {
      return std::lower_bound(edges_.begin() + bin, edges_.begin() + end, value) - edges_.begin();
    }
    while (bin < end && edges_[bin] < value) ++bin;
    return bin;
  }

  static constexpr std::size_t kMinEdges = 48, kMaxEdges = 160, kCells = 512;

  Target& target_;
  std::size_t min_leaf_;
  std::vector<Key> first_, second_;
  std::vector<double> histogram_;
  std::vector<std::uint32_t> counts_;
  std::size_t n_filled_ = 0;
  std::vector<float> sample_, edges_;
  std::uint16_t first_edge_[kCells + 2];
  float step_ = 0.0f;
};

}  // namespace jarf
