// Newton steps of boosting: a node with gradient sum G and hessian sum H scores G^2 / (H + lambda),
// and a leaf holds -G / (H + lambda), for one output or for several at once (vector leaves).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "target.hpp"

namespace jarf {

// K is the number of outputs if known at compile time, else 0. Gradients and hessians have shape
// (n_rows, n_outputs); both are multiplied by the row weights.
template <std::size_t K>
class Newton {
 public:
  Newton(const double* gradients, const double* hessians, const double* weights,
         std::size_t n_rows, std::size_t n_outputs, double l2, double min_hessian)
      : weights_(weights),
        k_(n_outputs),
        l2_(l2),
        min_side_(min_hessian),
        pairs_(2 * n_rows * n_outputs),
        node_(2 * n_rows * n_outputs),
        totals_(2 * n_outputs),
        left_(2 * n_outputs),
        label_weights_(n_rows),
        labels_(n_rows * n_outputs) {
    for (std::size_t i = 0; i < n_rows; ++i) {
      double hessian = 0.0;
      for (std::size_t c = 0; c < k(); ++c) {
        const std::size_t at = i * k() + c;
        pairs_[2 * at] = weights[i] * gradients[at];
        pairs_[2 * at + 1] = weights[i] * hessians[at];
        hessian += pairs_[2 * at + 1];
      }
      whole_ += label_weights_[i] = hessian / static_cast<double>(k());
      for (std::size_t c = 0; c < k(); ++c) {
        const std::size_t at = i * k() + c;
        labels_[at] = label_weights_[i] > 0.0 ? -pairs_[2 * at] / label_weights_[i] : 0.0;
      }
    }
  }

  // A split must leave at least this share of the hessians, averaged over outputs, on each side.
  void set_min_share(double share) {
    min_side_ = std::max(min_side_, share * whole_) * static_cast<double>(k());
  }
  double whole() const { return whole_; }
  std::size_t n_outputs() const { return k(); }
  // Because of the penalty, a split can be worse than no split.
  static constexpr bool kMustGain = true;
  static constexpr bool kBinsAdd = true;
  static constexpr bool kHasPairs = false;

  void enter(const std::uint32_t* rows, std::size_t n_rows) {
    const std::size_t width = 2 * k();
    rows_ = rows;
    weight_ = 0.0;
    std::fill(totals_.begin(), totals_.end(), 0.0);
    for (std::size_t i = 0; i < n_rows; ++i) {
      weight_ += weights_[rows[i]];
      const double* from = pairs_.data() + rows[i] * width;
      double* to = node_.data() + i * width;
      for (std::size_t c = 0; c < width; ++c) totals_[c] += to[c] = from[c];
    }
  }

  bool is_pure() const { return false; }
  double weight() const { return weight_; }
  double score() const {
    double score = 0.0;
    for (std::size_t c = 0; c < k(); ++c) score += part(totals_[2 * c], totals_[2 * c + 1]);
    return score;
  }
  // The Newton step of each row as its response, and its hessian as its weight.
  NodeLabels labels() const {
    return {label_weights_.data(), nullptr, 0, labels_.data(), k(), rows_};
  }
  std::int32_t leaf(std::vector<double>& values) const {
    for (std::size_t c = 0; c < k(); ++c) {
      values.push_back(step(totals_[2 * c], totals_[2 * c + 1]));
    }
    return static_cast<std::int32_t>(values.size() / k()) - 1;
  }

  class Sides {
   public:
    explicit Sides(Newton& target) : target_(target), left_(target.left_.data()) {
      std::fill(left_, left_ + 2 * target.k(), 0.0);
    }
    void move_row(std::size_t i) { move_bin(target_.node_.data() + i * 2 * target_.k()); }
    void move_bin(const double* bin) {
      for (std::size_t c = 0; c < 2 * target_.k(); ++c) left_[c] += bin[c];
    }
    bool can_beat(double) const { return true; }
    double score() const {
      double score = 0.0, left_hessian = 0.0, right_hessian = 0.0;
      for (std::size_t c = 0; c < target_.k(); ++c) {
        const double gradient = left_[2 * c], hessian = left_[2 * c + 1];
        const double rest = target_.totals_[2 * c] - gradient;
        const double hessian_rest = target_.totals_[2 * c + 1] - hessian;
        const double noise = kNoise * target_.totals_[2 * c + 1];
        left_hessian += hessian;
        right_hessian += hessian_rest;
        score += target_.part(gradient, hessian > noise ? hessian : 0.0) +
                 target_.part(rest, hessian_rest > noise ? hessian_rest : 0.0);
      }
      if (!(left_hessian >= target_.min_side_ && right_hessian >= target_.min_side_)) {
        return -std::numeric_limits<double>::infinity();
      }
      return score;
    }

   private:
    const Newton& target_;
    double* left_;
  };

  // Hessians smaller than kTiny count as zero, to avoid dividing by them. A side's hessian also
  // counts as zero if it is below the share kNoise of its node's: a difference of two sums may be
  // pure rounding error.
  static constexpr double kTiny = 1e-16;
  static constexpr double kNoise = 1e-12;

  // A bin stores the gradient and hessian of each output in turn.
  std::size_t bin_width() const { return 2 * k(); }
  void add_to_bin(double* bin, std::size_t i) const {
    const double* from = node_.data() + i * 2 * k();
    for (std::size_t c = 0; c < 2 * k(); ++c) bin[c] += from[c];
  }
  // Adds every row to the bin given by its code.
  void fill(const std::uint8_t* codes, std::size_t n_rows, double* bins) const {
    const double* from = node_.data();
    for (std::size_t i = 0; i < n_rows; ++i, from += 2 * k()) {
      double* bin = bins + codes[i] * 2 * k();
      for (std::size_t c = 0; c < 2 * k(); ++c) bin[c] += from[c];
    }
  }

 protected:
  std::size_t k() const { return K ? K : k_; }
  double step(double gradient, double hessian) const {
    return hessian + l2_ > kTiny ? -gradient / (hessian + l2_) : 0.0;
  }
  double part(double gradient, double hessian) const {
    return hessian + l2_ > kTiny ? gradient * gradient / (hessian + l2_) : 0.0;
  }

  const double* weights_;
  std::size_t k_;
  double l2_, min_side_;
  std::vector<double> pairs_, node_, totals_, left_, label_weights_, labels_;
  const std::uint32_t* rows_ = nullptr;
  double whole_ = 0.0, weight_ = 0.0;
};

}  // namespace jarf
