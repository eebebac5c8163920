// Regression targets: squared error of one response or of several at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "target.hpp"

namespace jarf {

class SquaredError {
 public:
  SquaredError(const double* responses, const double* weights, std::size_t n_rows)
      : responses_(responses),
        weights_(weights),
        centred_(n_rows),
        row_weights_(n_rows),
        whole_(std::accumulate(weights, weights + n_rows, 0.0)) {}

  // A split must leave at least this share of the tree's weight on each side.
  void set_min_share(double share) { min_side_ = share * whole_; }
  double whole() const { return whole_; }
  std::size_t n_outputs() const { return 1; }
  static constexpr bool kMustGain = false;
  static constexpr bool kBinsAdd = false;
  static constexpr bool kHasPairs = true;

  // Responses are centred within the node to keep precision in sums of squares.
  void enter(const std::uint32_t* rows, std::size_t n_rows) {
    total_ = 0.0;
    double sum = 0.0, lowest = responses_[rows[0]], highest = lowest;
    for (std::size_t i = 0; i < n_rows; ++i) {
      const double response = responses_[rows[i]];
      row_weights_[i] = weights_[rows[i]];
      total_ += row_weights_[i];
      sum += row_weights_[i] * response;
      lowest = std::min(lowest, response);
      highest = std::max(highest, response);
    }
    pure_ = !(lowest < highest);
    mean_ = pure_ ? lowest : sum / total_;
    sum_ = 0.0;
    for (std::size_t i = 0; i < n_rows; ++i) {
      centred_[i] = responses_[rows[i]] - mean_;
      sum_ += row_weights_[i] * centred_[i];
    }
  }

  bool is_pure() const { return pure_; }
  double weight() const { return total_; }
  double score() const { return sum_ * sum_ / total_; }
  NodeLabels labels() const {
    return {row_weights_.data(), nullptr, 0, centred_.data(), 1, nullptr};
  }

  std::int32_t leaf(std::vector<double>& values) const {
    values.push_back(mean_);
    return static_cast<std::int32_t>(values.size()) - 1;
  }

  class Sides {
   public:
    explicit Sides(SquaredError& target)
        : weights_(target.row_weights_.data()),
          centred_(target.centred_.data()),
          total_(target.total_),
          sum_(target.sum_),
          min_side_(target.min_side_) {}

    void move_row(std::size_t i) { move(weights_[i], weights_[i] * centred_[i]); }
    void move_bin(const double* bin) { move(bin[0], bin[1]); }
    // False: the score is certainly not above `best`. Cheaper than the score.
    bool can_beat(double best) const {
      const double right_sum = sum_ - left_sum_;
      return quotients_can_beat(left_sum_ * left_sum_, left_total_, right_sum * right_sum,
                                total_ - left_total_, best);
    }
    double score() const {
      const double right_total = total_ - left_total_, right_sum = sum_ - left_sum_;
      if (left_total_ < min_side_ || right_total < min_side_ || !(right_total > 0.0)) {
        return -std::numeric_limits<double>::infinity();
      }
      return left_sum_ * left_sum_ / left_total_ + right_sum * right_sum / right_total;
    }

   private:
    void move(double weight, double weighted_response) {
      left_total_ += weight;
      left_sum_ += weighted_response;
    }

    const double* weights_;
    const double* centred_;
    double total_, sum_, min_side_, left_total_ = 0.0, left_sum_ = 0.0;
  };

  // A bin stores the weight and the weighted response.
  std::size_t bin_width() const { return 2; }
  void add_to_bin(double* bin, std::size_t i) const {
    bin[0] += row_weights_[i];
    bin[1] += row_weights_[i] * centred_[i];
  }
  // A row's part of a bin.
  std::pair<double, double> pair(std::size_t i) const {
    return {row_weights_[i], row_weights_[i] * centred_[i]};
  }
  // Adds every row to the bin given by its code.
  void fill(const std::uint8_t* codes, std::size_t n_rows, double* bins) const {
    const double *weights = row_weights_.data(), *centred = centred_.data();
    for (std::size_t i = 0; i < n_rows; ++i) {
      double* bin = bins + 2 * codes[i];
      bin[0] += weights[i];
      bin[1] += weights[i] * centred[i];
    }
  }

 private:
  const double* responses_;
  const double* weights_;
  std::vector<double> centred_, row_weights_;
  double whole_;
  bool pure_ = false;
  double min_side_ = 0.0;
  double total_ = 0.0, mean_ = 0.0, sum_ = 0.0;
};

// Several responses at once: sums their squared errors and stores vectors in the leaves.
class VectorSquaredError {
 public:
  VectorSquaredError(const double* responses, const double* weights, std::size_t n_rows,
                     std::size_t n_responses)
      : responses_(responses),
        weights_(weights),
        k_(n_responses),
        centred_(n_rows * n_responses),
        row_weights_(n_rows),
        means_(n_responses),
        sums_(n_responses),
        left_(n_responses),
        whole_(std::accumulate(weights, weights + n_rows, 0.0)) {}

  void set_min_share(double share) { min_side_ = share * whole_; }
  double whole() const { return whole_; }
  std::size_t n_outputs() const { return k_; }
  static constexpr bool kMustGain = false;
  static constexpr bool kBinsAdd = false;
  static constexpr bool kHasPairs = false;

  void enter(const std::uint32_t* rows, std::size_t n_rows) {
    total_ = 0.0;
    pure_ = true;
    std::fill(means_.begin(), means_.end(), 0.0);
    const double* first = responses_ + rows[0] * k_;
    for (std::size_t i = 0; i < n_rows; ++i) {
      const double* response = responses_ + rows[i] * k_;
      total_ += row_weights_[i] = weights_[rows[i]];
      for (std::size_t c = 0; c < k_; ++c) {
        means_[c] += row_weights_[i] * response[c];
        pure_ = pure_ && response[c] == first[c];
      }
    }
    for (std::size_t c = 0; c < k_; ++c) means_[c] = pure_ ? first[c] : means_[c] / total_;
    std::fill(sums_.begin(), sums_.end(), 0.0);
    for (std::size_t i = 0; i < n_rows; ++i) {
      const double* response = responses_ + rows[i] * k_;
      for (std::size_t c = 0; c < k_; ++c) {
        centred_[i * k_ + c] = response[c] - means_[c];
        sums_[c] += row_weights_[i] * centred_[i * k_ + c];
      }
    }
  }

  bool is_pure() const { return pure_; }
  double weight() const { return total_; }
  double score() const {
    double score = 0.0;
    for (const double sum : sums_) score += sum * sum;
    return score / total_;
  }
  NodeLabels labels() const {
    return {row_weights_.data(), nullptr, 0, centred_.data(), k_, nullptr};
  }
  std::int32_t leaf(std::vector<double>& values) const {
    values.insert(values.end(), means_.begin(), means_.end());
    return static_cast<std::int32_t>(values.size() / k_) - 1;
  }

  class Sides {
   public:
    explicit Sides(VectorSquaredError& target) : target_(target), left_(target.left_.data()) {
      std::fill(left_, left_ + target.k_, 0.0);
    }
    void move_row(std::size_t i) {
      const double weight = target_.row_weights_[i];
      const double* centred = target_.centred_.data() + i * target_.k_;
      left_total_ += weight;
      for (std::size_t c = 0; c < target_.k_; ++c) left_[c] += weight * centred[c];
    }
    void move_bin(const double* bin) {
      left_total_ += bin[0];
      for (std::size_t c = 0; c < target_.k_; ++c) left_[c] += bin[1 + c];
    }
    bool can_beat(double) const { return true; }
    double score() const {
      const double right_total = target_.total_ - left_total_;
      if (left_total_ < target_.min_side_ || right_total < target_.min_side_ ||
          !(right_total > 0.0)) {
        return -std::numeric_limits<double>::infinity();
      }
      double left = 0.0, right = 0.0;
      for (std::size_t c = 0; c < target_.k_; ++c) {
        const double rest = target_.sums_[c] - left_[c];
        left += left_[c] * left_[c];
        right += rest * rest;
      }
      return left / left_total_ + right / right_total;
    }

   private:
    const VectorSquaredError& target_;
    double* left_;
    double left_total_ = 0.0;
  };

  // A bin stores the weight and the weighted responses.
  std::size_t bin_width() const { return 1 + k_; }
  void add_to_bin(double* bin, std::size_t i) const {
    bin[0] += row_weights_[i];
    for (std::size_t c = 0; c < k_; ++c) bin[1 + c] += row_weights_[i] * centred_[i * k_ + c];
  }
  void fill(const std::uint8_t* codes, std::size_t n_rows, double* bins) const {
    for (std::size_t i = 0; i < n_rows; ++i) add_to_bin(bins + codes[i] * (1 + k_), i);
  }

 private:
  const double* responses_;
  const double* weights_;
  std::size_t k_;
  std::vector<double> centred_, row_weights_, means_, sums_, left_;
  double whole_;
  bool pure_ = false;
  double min_side_ = 0.0, total_ = 0.0;
};

}  // namespace jarf
