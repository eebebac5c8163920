// Directions drawn from the local expected Jacobian outer product (EJOP): a randomly signed sum of
// the surrogate's gradients at a few random rows of the node. With independent signs, its
// covariance is the node's mean outer product of gradients, up to scale: global at the root, local
// deeper down.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#ifdef _MSC_VER
#include <intrin.h>
#endif

#include "proposals.hpp"

namespace jarf {

// Index of the lowest bit that is set; the word must not be zero.
inline std::size_t lowest_bit(std::uint64_t word) {
#ifdef _MSC_VER
  unsigned long at;
  _BitScanForward64(&at, word);
  return at;
#else
  return static_cast<std::size_t>(__builtin_ctzll(word));
#endif
}

// Gradients of one surrogate, `width` entries per row. Without `features`, rows are dense and width
// is the number of columns. Without `places`, every training row has a gradient; otherwise places[i]
// is the gradient of training row i, or -1 if it has none. A view: the caller owns the arrays.
struct GradientSource {
  const float* values;
  const std::int32_t* features;
  std::size_t width;
  const std::int32_t* places = nullptr;
};

struct GradientDrawsOptions {
  std::size_t n_features;
  std::size_t n_candidates;
  std::size_t n_rows;      // number of gradients mixed in a direction
  std::size_t n_loadings;  // number of largest loadings kept; 0: all
  float least;  // of all loadings, those of at most this share of the largest are dropped
};

class GradientDraws : public Proposal {
 public:
  GradientDraws(const std::vector<GradientSource>& sources, const std::vector<float>& scales,
                const GradientDrawsOptions& options)
      : sources_(sources),
        scales_(scales),
        options_(options),
        known_(sources.size()),
        sum_(options.n_features, 0.0f),
        touched_((options.n_features + 63) / 64, 0) {}

  void begin(const NodeView& node) override {
    node_ = node;
    n_found_ = n_tried_ = 0;
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      if (sources_[s].places) find_known(sources_[s].places, known_[s]);
    }
  }

  bool next(Direction& candidate) override {
    while (n_found_ < options_.n_candidates && n_tried_ < 2 * options_.n_candidates) {
      ++n_tried_;
      draw();
      if (features_.empty()) continue;
      ++n_found_;
      candidate = {features_.data(), loadings_.data(), features_.size()};
      return true;
    }
    return false;
  }
  void was_constant() override { --n_found_; }

 private:
  // Lists the gradients of the node's rows that have one.
  void find_known(const std::int32_t* places, std::vector<std::uint32_t>& known) const {
    known.clear();
    for (std::size_t i = 0; i < node_.n_rows; ++i) {
      const std::int32_t place = places[node_.rows[i]];
      if (place >= 0) known.push_back(static_cast<std::uint32_t>(place));
    }
  }

  void draw() {
    Rng& rng = *node_.rng;
    const std::size_t s =
        sources_.size() == 1 ? 0 : rng.below(static_cast<std::uint32_t>(sources_.size()));
    const GradientSource& source = sources_[s];
    const std::uint32_t* rows = source.places ? known_[s].data() : node_.rows;
    const std::size_t n_rows = source.places ? known_[s].size() : node_.n_rows;
    for (std::size_t k = std::min(options_.n_rows, n_rows); k > 0; --k) {
      const std::uint64_t bits = rng.next();
      const std::uint64_t place = ((bits >> 32) * n_rows) >> 32;
      add(source, rows[place], bits & 1 ? 1.0f : -1.0f);
    }
    features_.clear();
    least_ = least_of_all();
    if (source.features) {
      for_touched([&](std::int32_t feature) { offer(feature); });
    } else {
      for (std::size_t j = 0; j < sum_.size(); ++j) offer(static_cast<std::int32_t>(j));
    }
    loadings_.resize(features_.size());
    for (std::size_t k = 0; k < features_.size(); ++k) {
      // Converts a slope per standard deviation to the units of the column.
      loadings_[k] = sum_[features_[k]] / scales_[features_[k]];
    }
    if (features_.size() == 1) loadings_[0] = 1.0f;
    forget(source);
  }

  void forget(const GradientSource& source) {
    if (!source.features) {
      std::fill(sum_.begin(), sum_.end(), 0.0f);
      return;
    }
    for_touched([&](std::int32_t feature) { sum_[feature] = 0.0f; });
    std::fill(touched_.begin(), touched_.end(), std::uint64_t{0});
  }

  void add(const GradientSource& source, std::uint32_t row, float sign) {
    const float* values = source.values + row * source.width;
    if (!source.features) {
      for (std::size_t j = 0; j < source.width; ++j) sum_[j] += sign * values[j];
      return;
    }
    const std::int32_t* features = source.features + row * source.width;
    for (std::size_t k = 0; k < source.width; ++k) {
      const std::size_t feature = static_cast<std::size_t>(features[k]);
      sum_[feature] += sign * values[k];
      touched_[feature / 64] |= std::uint64_t{1} << (feature % 64);
    }
  }

  // If all loadings are kept: the size up to which they are dropped.
  float least_of_all() const {
    if (options_.n_loadings > 0 || options_.least <= 0.0f) return 0.0f;
    float largest = 0.0f;
    for (const float entry : sum_) largest = std::max(largest, std::fabs(entry));
    return options_.least * largest;
  }

  // Calls `visit` with the features of a sparse source in the sum, ascending.
  template <class Visit>
  void for_touched(Visit visit) const {
    for (std::size_t at = 0; at < touched_.size(); ++at) {
      for (std::uint64_t rest = touched_[at]; rest != 0; rest &= rest - 1) {
        visit(static_cast<std::int32_t>(64 * at + lowest_bit(rest)));
      }
    }
  }

  // Features are offered in ascending order. Keeps all, or the largest loadings in descending
  // order; ties go to the first column.
  void offer(std::int32_t feature) {
    const float size = std::fabs(sum_[feature]);
    if (size <= least_) return;  // the one test that most features need
    const std::size_t most = options_.n_loadings;
    if (most > 0 && features_.size() == most) {
      if (!(size > least_)) return;  // NaN
      features_.pop_back();
    }
    features_.push_back(feature);
    if (most == 0) return;
    for (std::size_t k = features_.size() - 1;
         k > 0 && size > std::fabs(sum_[features_[k - 1]]); --k) {
      std::swap(features_[k], features_[k - 1]);
    }
    if (features_.size() == most) least_ = std::fabs(sum_[features_.back()]);
  }

  std::vector<GradientSource> sources_;
  std::vector<float> scales_;
  GradientDrawsOptions options_;
  std::vector<std::vector<std::uint32_t>> known_;  // per source: gradients of the node's rows
  std::vector<float> sum_;
  std::vector<std::uint64_t> touched_;  // one bit per feature: a sparse source's part of the sum
  std::vector<std::int32_t> features_;
  std::vector<float> loadings_;
  float least_ = 0.0f;  // sizes up to this one are not kept
  std::size_t n_found_ = 0, n_tried_ = 0;
  NodeView node_{};
};

}  // namespace jarf
