// Newton steps of one output under monotone constraints on columns, as in scikit-learn's
// HistGradientBoosting. Every node has bounds, and its value is clipped to them. A split on a
// constrained column must put its children's values in the right order. Their midpoint then
// separates the children's bounds, so that all descendants keep the order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "newton.hpp"

namespace jarf {

class MonotoneNewton : public Newton<1> {
 public:
  // `signs`: 1, -1 or 0 (unconstrained) for each column.
  MonotoneNewton(Newton<1> steps, const std::int8_t* signs)
      : Newton<1>(std::move(steps)), signs_(signs) {}

  // Constrained columns are only split as axes: a sum of columns could violate the constraint.
  bool allows(const Direction& direction) const {
    if (direction.is_axis()) return true;
    for (std::size_t k = 0; k < direction.size; ++k) {
      if (signs_[direction.features[k]] != 0 && direction.loadings[k] != 0.0f) return false;
    }
    return true;
  }
  int sign_of(const Direction& direction) const {
    return direction.is_axis() ? signs_[direction.features[0]] : 0;
  }
  // Sets the direction whose splits are scored next.
  void face(const Direction& direction) { sign_ = sign_of(direction); }

  // Sets the bounds of the current node.
  void set_bounds(const double* bounds) {
    lower_ = bounds[0];
    upper_ = bounds[1];
  }
  double value() const { return value_of(totals_[0], totals_[1]); }
  double score() const { return part(totals_[0], totals_[1], value()); }
  std::int32_t leaf(std::vector<double>& values) const {
    values.push_back(value());
    return static_cast<std::int32_t>(values.size()) - 1;
  }

  class Sides {
   public:
    explicit Sides(MonotoneNewton& target) : target_(target) {}
    void move_row(std::size_t i) { move_bin(target_.node_.data() + 2 * i); }
    void move_bin(const double* bin) {
      gradient_ += bin[0];
      hessian_ += bin[1];
    }
    bool can_beat(double) const { return true; }
    double score() const {
      const double rest = target_.totals_[0] - gradient_;
      const double hessian_rest = target_.totals_[1] - hessian_;
      const double noise = kNoise * target_.totals_[1];
      const double left = hessian_ > noise ? hessian_ : 0.0;
      const double right = hessian_rest > noise ? hessian_rest : 0.0;
      const double of_left = target_.value_of(gradient_, left);
      const double of_right = target_.value_of(rest, right);
      // If both sides have the same value, for example after clipping, any gain is rounding error.
      const bool in_order = target_.sign_ == 0  ? of_left != of_right
                            : target_.sign_ > 0 ? of_left < of_right
                                                : of_left > of_right;
      const bool enough = hessian_ >= target_.min_side_ && hessian_rest >= target_.min_side_;
      if (!(in_order && enough)) return -std::numeric_limits<double>::infinity();
      return target_.part(gradient_, left, of_left) + target_.part(rest, right, of_right);
    }

   private:
    const MonotoneNewton& target_;
    double gradient_ = 0.0, hessian_ = 0.0;
  };

 private:
  double value_of(double gradient, double hessian) const {
    return std::min(std::max(step(gradient, hessian), lower_), upper_);
  }
  // The decrease of the penalised loss for a step of this value.
  double part(double gradient, double hessian, double value) const {
    return -(2.0 * gradient + (hessian + l2_) * value) * value;
  }

  const std::int8_t* signs_;
  int sign_ = 0;
  double lower_ = -std::numeric_limits<double>::infinity();
  double upper_ = std::numeric_limits<double>::infinity();
};

template <>
inline constexpr bool kIsMonotone<MonotoneNewton> = true;

}  // namespace jarf
