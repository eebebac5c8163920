// Targets as Python objects: checked on construction, each grows trees of its own kind.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "border.hpp"
#include "class_target.hpp"
#include "grower.hpp"
#include "monotone.hpp"
#include "newton.hpp"
#include "squared_error.hpp"
#include "symmetric.hpp"

namespace jarf {

// The inputs of a tree's growth, apart from its target.
struct Growth {
  const Columns& columns;
  const ProposalSpec& proposal;
  const double* weights;  // per row; rows with zero weight are ignored
  std::uint64_t seed;
  const Limits& limits;
  std::function<bool()> should_stop;
  bool keep_leaves;
  Team team = Team();
};

class TargetSpec {
 public:
  virtual ~TargetSpec() = default;
  virtual std::size_t n_rows() const = 0;
  // Checks that depend on a tree's weights; `grow` relies on them.
  virtual void check(const double* weights) const { check_weights(weights, n_rows()); }
  virtual GrownTree grow(const Growth& growth) const = 0;
};

// The rows of positive weight.
inline std::vector<std::uint32_t> used_rows(const Growth& growth) {
  const std::size_t n = growth.columns.n_rows;
  const auto is_used = [](double weight) { return weight > 0.0; };
  std::vector<std::uint32_t> rows;
  rows.reserve(std::count_if(growth.weights, growth.weights + n, is_used));
  for (std::size_t i = 0; i < n; ++i) {
    if (is_used(growth.weights[i])) rows.push_back(static_cast<std::uint32_t>(i));
  }
  return rows;
}

template <class Target>
GrownTree grow_with(Target target, const Growth& growth) {
  require(!growth.limits.symmetric,
          "symmetric trees are grown from Newton steps of one output, without monotonic");
  const std::unique_ptr<Proposal> proposal = growth.proposal.make(growth.columns);
  return Grower<Target>::grow(growth.columns, target, *proposal, used_rows(growth), growth.seed,
                              growth.limits, growth.should_stop, growth.keep_leaves,
                              growth.team);
}

// Class numbers, scored by Gini impurity or entropy.
template <class Criterion>
class ClassSpec : public TargetSpec {
 public:
  ClassSpec(const std::int32_t* labels, std::size_t n_rows, std::size_t n_classes)
      : labels_(labels), n_rows_(n_rows), n_classes_(n_classes) {
    check_labels(labels, n_rows, n_classes);
  }
  std::size_t n_rows() const override { return n_rows_; }
  GrownTree grow(const Growth& growth) const override {
    return grow_with(ClassTarget<Criterion>(labels_, growth.weights, n_rows_, n_classes_), growth);
  }

 private:
  const std::int32_t* labels_;
  std::size_t n_rows_, n_classes_;
};

// Responses of shape (n_rows, n_responses).
class ResponseSpec : public TargetSpec {
 public:
  ResponseSpec(const double* responses, std::size_t n_rows, std::size_t n_responses)
      : responses_(responses), n_rows_(n_rows), k_(n_responses) {
    require(k_ > 0, "there must be a response");
  }
  std::size_t n_rows() const override { return n_rows_; }
  void check(const double* weights) const override {
    TargetSpec::check(weights);
    check_responses(responses_, weights, n_rows_, k_);
  }
  GrownTree grow(const Growth& growth) const override {
    if (k_ == 1) return grow_with(SquaredError(responses_, growth.weights, n_rows_), growth);
    return grow_with(VectorSquaredError(responses_, growth.weights, n_rows_, k_), growth);
  }

 private:
  const double* responses_;
  std::size_t n_rows_, k_;
};

// Gradients and hessians of a loss, each of shape (n_rows, n_outputs).
class NewtonSpec : public TargetSpec {
 public:
  NewtonSpec(const double* gradients, const double* hessians, std::size_t n_rows,
             std::size_t n_outputs, double l2, double min_hessian)
      : gradients_(gradients), hessians_(hessians), n_rows_(n_rows), k_(n_outputs), l2_(l2),
        min_hessian_(min_hessian) {
    require(k_ > 0, "there must be an output");
    require(l2 >= 0.0 && std::isfinite(l2) && min_hessian >= 0.0 && std::isfinite(min_hessian),
            "l2_regularization and min_hessian must be finite and not negative");
  }
  std::size_t n_rows() const override { return n_rows_; }
  void check(const double* weights) const override {
    TargetSpec::check(weights);
    check_responses(gradients_, weights, n_rows_, k_, "gradients");
    check_responses(hessians_, weights, n_rows_, k_, "hessians");
    bool fine = true;
    double sum = 0.0;
    for (std::size_t i = 0; i < n_rows_; ++i) {
      for (std::size_t c = 0; c < k_; ++c) {
        fine &= hessians_[i * k_ + c] >= 0.0;
        sum += weights[i] * std::fabs(gradients_[i * k_ + c]);
      }
    }
    require(fine, "hessians must not be negative");
    require(std::isfinite(4.0 * sum * sum / Newton<1>::kTiny),  // margin for rounding
            "gradients are too large: the square of their sum overflows when it is divided by a "
            "small hessian");
  }
  GrownTree grow(const Growth& growth) const override {
    if (growth.limits.symmetric && k_ == 1) return grow_symmetric(growth);
    return k_ == 1 ? grow_with(make<1>(growth), growth) : grow_with(make<0>(growth), growth);
  }

 protected:
  GrownTree grow_symmetric(const Growth& growth) const {
    require(growth.columns.codes && !growth.columns.rotation &&
                dynamic_cast<const AxesSpec*>(&growth.proposal),
            "symmetric trees cut columns that have bins: only Axes can propose their cuts");
    const NewtonRows steps{gradients_, hessians_, growth.weights, n_rows_, l2_, min_hessian_};
    const std::unique_ptr<Proposal> proposal = growth.proposal.make(growth.columns);
    return SymmetricGrower::grow(growth.columns, steps, *proposal, used_rows(growth), growth.seed,
                                 growth.limits, growth.should_stop, growth.keep_leaves,
                                 growth.team);
  }

  template <std::size_t K>
  Newton<K> make(const Growth& growth) const {
    return {gradients_, hessians_, growth.weights, n_rows_, k_, l2_, min_hessian_};
  }

  const double* gradients_;
  const double* hessians_;
  std::size_t n_rows_, k_;
  double l2_, min_hessian_;
};

// Newton steps of one output, with a sign (-1, 0 or 1) for each column.
class MonotoneSpec : public NewtonSpec {
 public:
  MonotoneSpec(const double* gradients, const double* hessians, std::size_t n_rows,
               std::size_t n_outputs, double l2, double min_hessian,
               std::vector<std::int8_t> signs)
      : NewtonSpec(gradients, hessians, n_rows, n_outputs, l2, min_hessian),
        signs_(std::move(signs)) {
    require(k_ == 1, "monotonic is supported for one output: gradients must have one column");
    const auto is_sign = [](std::int8_t sign) { return sign >= -1 && sign <= 1; };
    require(std::all_of(signs_.begin(), signs_.end(), is_sign),
            "monotonic must hold -1 (decreasing), 0 (not constrained) or 1 (increasing)");
  }
  // A value may be clipped to that of rows with much smaller hessians.
  void check(const double* weights) const override {
    NewtonSpec::check(weights);
    double gradient = 0.0, hessian = l2_;
    for (std::size_t i = 0; i < n_rows_; ++i) {
      gradient += weights[i] * std::fabs(gradients_[i]);
      hessian += weights[i] * hessians_[i];
    }
    const double step = gradient / std::max(l2_, Newton<1>::kTiny);
    require(std::isfinite(4.0 * hessian * step * step),
            "gradients are too large for monotonic: a step times the sum of hessians overflows; "
            "divide both by the standard deviation of the gradients");
  }
  GrownTree grow(const Growth& growth) const override {
    require(signs_.size() == growth.columns.n_columns,
            "monotonic must have one entry per column");
    require(!growth.columns.rotation,
            "monotonic cannot hold on rotated columns: each of them is a sum of columns");
    return grow_with(MonotoneNewton(make<1>(growth), signs_.data()), growth);
  }

 private:
  std::vector<std::int8_t> signs_;
};

}  // namespace jarf
