// Classification targets: Gini impurity and entropy.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "target.hpp"

namespace jarf {

struct Gini {
  void prepare(const double*, std::size_t) {}
  double part(double weight) const { return weight * weight; }
  double side(double parts, double total) const { return parts / total; }
  bool can_beat(double left, double left_total, double right, double right_total,
                double best) const {
    return quotients_can_beat(left, left_total, right, right_total, best);
  }
};

struct Entropy {
  // Integer weights (the case without sample weights) use a table of logarithms.
  void prepare(const double* weights, std::size_t n_rows) {
    double total = 0.0;
    bool whole = true;
    for (std::size_t i = 0; i < n_rows; ++i) {
      total += weights[i];
      whole = whole && weights[i] == std::floor(weights[i]);
    }
    if (!whole || total > 1e6) return;
    table_.resize(static_cast<std::size_t>(total) + 1);
    for (std::size_t k = 0; k < table_.size(); ++k) table_[k] = formula(static_cast<double>(k));
  }
  double part(double weight) const {
    return table_.empty() ? formula(weight) : table_[static_cast<std::size_t>(weight)];
  }
  double side(double parts, double total) const { return parts - part(total); }
  bool can_beat(double, double, double, double, double) const { return true; }

 private:
  static double formula(double weight) { return weight > 0.0 ? weight * std::log2(weight) : 0.0; }
  std::vector<double> table_;
};

template <class Criterion>
class ClassTarget {
 public:
  ClassTarget(const std::int32_t* labels, const double* weights, std::size_t n_rows,
              std::size_t n_classes)
      : labels_(labels), weights_(weights), n_outputs_(n_classes), local_of_(n_classes, kAbsent) {
    criterion_.prepare(weights, n_rows);
    whole_ = std::accumulate(weights, weights + n_rows, 0.0);
    classes_.resize(n_rows);
    row_weights_.resize(n_rows);
  }

  // A split must leave at least this share of the tree's weight on each side.
  void set_min_share(double share) { min_side_ = share * whole_; }
  double whole() const { return whole_; }
  std::size_t n_outputs() const { return n_outputs_; }
  // Whether splits without a gain are rejected. Classification trees grow until leaves are pure.
  static constexpr bool kMustGain = false;
  static constexpr bool kBinsAdd = false;
  static constexpr bool kHasPairs = true;

  void enter(const std::uint32_t* rows, std::size_t n_rows) {
    for (const std::int32_t known : present_) local_of_[known] = kAbsent;
    present_.clear();
    totals_.clear();
    total_ = 0.0;
    for (std::size_t i = 0; i < n_rows; ++i) {
      const std::int32_t label = labels_[rows[i]];
      if (local_of_[label] == kAbsent) {
        local_of_[label] = static_cast<std::uint32_t>(present_.size());
        present_.push_back(label);
        totals_.push_back(0.0);
      }
      classes_[i] = local_of_[label];
      row_weights_[i] = weights_[rows[i]];
      totals_[classes_[i]] += row_weights_[i];
      total_ += row_weights_[i];
    }
    parts_ = 0.0;
    for (const double weight : totals_) parts_ += criterion_.part(weight);
    left_.resize(totals_.size());
  }

  bool is_pure() const { return present_.size() == 1; }
  double weight() const { return total_; }
  double score() const { return criterion_.side(parts_, total_); }
  NodeLabels labels() const {
    return {row_weights_.data(), classes_.data(), present_.size(), nullptr, 0, nullptr};
  }

  // Returns the row of values of a leaf. A pure leaf returns -1 - class and stores no row.
  std::int32_t leaf(std::vector<double>& values) const {
    if (is_pure()) return -1 - present_[0];
    const std::size_t start = values.size();
    values.resize(start + n_outputs_, 0.0);
    for (std::size_t c = 0; c < present_.size(); ++c) {
      values[start + present_[c]] = totals_[c] / total_;
    }
    return static_cast<std::int32_t>(start / n_outputs_);
  }

  // The two sides of a threshold that moves across the rows of one candidate. A small separate
  // object, so that the compiler can keep its sums in registers.
  class Sides {
   public:
    explicit Sides(ClassTarget& target)
        : criterion_(target.criterion_),
          classes_(target.classes_.data()),
          weights_(target.row_weights_.data()),
          totals_(target.totals_.data()),
          left_(target.left_.data()),
          n_classes_(target.totals_.size()),
          total_(target.total_),
          min_side_(target.min_side_),
          right_parts_(target.parts_) {
      std::fill(left_, left_ + n_classes_, 0.0);
    }

    void move_row(std::size_t i) { move(classes_[i], weights_[i]); }
    void move_bin(const double* bin) {
      for (std::size_t c = 0; c < n_classes_; ++c) {
        if (bin[c] != 0.0) move(c, bin[c]);
      }
    }
    // False: the score is certainly not above `best`. Cheaper than the score.
    bool can_beat(double best) const {
      return criterion_.can_beat(left_parts_, left_total_, right_parts_, total_ - left_total_, best);
    }
    double score() const {
      const double right_total = total_ - left_total_;
      if (left_total_ < min_side_ || right_total < min_side_ || !(right_total > 0.0)) {
        return -std::numeric_limits<double>::infinity();
      }
      return criterion_.side(left_parts_, left_total_) + criterion_.side(right_parts_, right_total);
    }

   private:
    void move(std::size_t c, double weight) {
      const double left = left_[c], right = totals_[c] - left;
      left_parts_ += criterion_.part(left + weight) - criterion_.part(left);
      right_parts_ += criterion_.part(right - weight) - criterion_.part(right);
      left_[c] = left + weight;
      left_total_ += weight;
    }

    const Criterion& criterion_;
    const std::uint32_t* classes_;
    const double* weights_;
    const double* totals_;
    double* left_;
    std::size_t n_classes_;
    double total_, min_side_, right_parts_, left_total_ = 0.0, left_parts_ = 0.0;
  };

  // A bin stores the weight of each class.
  std::size_t bin_width() const { return totals_.size(); }
  void add_to_bin(double* bin, std::size_t i) const { bin[classes_[i]] += row_weights_[i]; }
  // A row's part of a bin, if the node has two classes.
  std::pair<double, double> pair(std::size_t i) const {
    const double second = classes_[i];
    return {(1.0 - second) * row_weights_[i], second * row_weights_[i]};
  }
  // Adds every row to the bin given by its code.
  void fill(const std::uint8_t* codes, std::size_t n_rows, double* bins) const {
    const std::size_t width = bin_width();
    const std::uint32_t* classes = classes_.data();
    const double* weights = row_weights_.data();
    for (std::size_t i = 0; i < n_rows; ++i) bins[codes[i] * width + classes[i]] += weights[i];
  }

 private:
  static constexpr std::uint32_t kAbsent = 0xffffffffU;

  Criterion criterion_;
  const std::int32_t* labels_;
  const double* weights_;
  std::size_t n_outputs_;
  std::vector<std::uint32_t> local_of_;  // maps a class to its number within the node
  std::vector<std::int32_t> present_;    // inverse of local_of_
  std::vector<std::uint32_t> classes_;
  std::vector<double> row_weights_, totals_, left_;
  double whole_ = 0.0, min_side_ = 0.0;
  double total_ = 0.0, parts_ = 0.0;
};

}  // namespace jarf
