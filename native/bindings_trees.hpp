// Bindings of targets, limits and the grower.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>

#include "bindings_arrays.hpp"
#include "bindings_columns.hpp"
#include "proposals.hpp"
#include "targets.hpp"

namespace jarf_bindings {

// Targets keep the arrays they point to alive.
template <class Criterion>
struct Classes : jarf::ClassSpec<Criterion> {
  Classes(In<std::int32_t, 1> labels_, std::size_t n_classes)
      : jarf::ClassSpec<Criterion>(labels_.data(), labels_.shape(0), n_classes), labels(labels_) {}
  In<std::int32_t, 1> labels;
};

struct Responses : jarf::ResponseSpec {
  explicit Responses(In<double, 2> responses_)
      : jarf::ResponseSpec(responses_.data(), responses_.shape(0), responses_.shape(1)),
        responses(responses_) {}
  In<double, 2> responses;
};

inline void check_shapes(const In<double, 2>& gradients, const In<double, 2>& hessians) {
  require(gradients.shape(0) == hessians.shape(0) && gradients.shape(1) == hessians.shape(1),
          "gradients and hessians must have one shape");
}

struct NewtonSteps : jarf::NewtonSpec {
  NewtonSteps(In<double, 2> gradients_, In<double, 2> hessians_, double l2, double min_hessian)
      : jarf::NewtonSpec(gradients_.data(), hessians_.data(), gradients_.shape(0),
                         gradients_.shape(1), l2, min_hessian),
        gradients(gradients_),
        hessians(hessians_) {
    check_shapes(gradients, hessians);
  }
  In<double, 2> gradients, hessians;
};

struct MonotoneSteps : jarf::MonotoneSpec {
  MonotoneSteps(In<double, 2> gradients_, In<double, 2> hessians_, double l2, double min_hessian,
                In<std::int8_t, 1> monotonic)
      : jarf::MonotoneSpec(gradients_.data(), hessians_.data(), gradients_.shape(0),
                           gradients_.shape(1), l2, min_hessian, to_vector(monotonic)),
        gradients(gradients_),
        hessians(hessians_) {
    check_shapes(gradients, hessians);
  }
  In<double, 2> gradients, hessians;
};

// Called during growth: whether the caller has set the stop flag or a signal is pending.
class StopAsked {
 public:
  explicit StopAsked(const std::uint8_t* flag) : flag_(flag), last_(Clock::now()) {}
  bool operator()() {
    if (*static_cast<const volatile std::uint8_t*>(flag_)) return true;
    if (Clock::now() - last_ < std::chrono::milliseconds(100)) return false;
    last_ = Clock::now();
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const std::uint8_t* flag_;
  Clock::time_point last_;
};

inline void make_limits(jarf::Limits* self, std::optional<std::size_t> max_depth,
                        std::optional<std::size_t> max_leaf_nodes, std::size_t min_samples_split,
                        std::size_t min_samples_leaf, double min_weight_fraction_leaf,
                        double min_impurity_decrease, std::size_t histogram_from,
                        std::size_t sample_from, bool symmetric) {
  require(min_samples_leaf >= 1, "min_samples_leaf must be at least 1");
  require(!max_leaf_nodes || *max_leaf_nodes >= 1, "max_leaf_nodes must be at least 1");
  require(min_weight_fraction_leaf >= 0.0 && min_weight_fraction_leaf <= 1.0,
          "min_weight_fraction_leaf must lie between 0 and 1");
  require(min_impurity_decrease >= 0.0, "min_impurity_decrease must not be negative");
  new (self) jarf::Limits{max_depth.value_or(SIZE_MAX),
                          max_leaf_nodes.value_or(0),
                          min_samples_split,
                          min_samples_leaf,
                          min_weight_fraction_leaf,
                          min_impurity_decrease,
                          histogram_from,
                          sample_from,
                          symmetric};
}

inline nb::tuple grow_tree(const TrainingColumns& columns, const jarf::ProposalSpec& proposal,
                           const jarf::TargetSpec& target, In<double, 1> weights,
                           std::uint64_t seed, const jarf::Limits& limits, bool keep_leaves,
                           In<std::uint8_t, 1> stop, std::size_t n_threads) {
  const std::size_t n = columns.view.n_rows;
  require(!columns.view.rotation || dynamic_cast<const jarf::AxesSpec*>(&proposal),
          "rotated columns exist nowhere: only Axes can propose them");
  require(weights.shape(0) == n, "weights must have one entry per row");
  require(target.n_rows() == n, "the target must have one entry per row");
  require(stop.shape(0) == 1, "stop must be one flag");
  require(n_threads >= 1 && n_threads <= 4096, "n_threads must lie between 1 and 4096");
  target.check(weights.data());
  jarf::Limits bounded = limits;
  bounded.min_samples_leaf = std::min(limits.min_samples_leaf, n);
  jarf::GrownTree tree;
  {
    nb::gil_scoped_release release;
    tree = target.grow({columns.view, proposal, weights.data(), seed, bounded,
                        StopAsked(stop.data()), keep_leaves, jarf::Team(n_threads)});
  }
  std::vector<std::int32_t> words(tree.nodes.size() * 4);
  std::memcpy(words.data(), tree.nodes.data(), words.size() * sizeof(std::int32_t));
  return nb::make_tuple(to_numpy(std::move(words)), to_numpy(std::move(tree.weights)),
                        to_numpy(std::move(tree.gains)), to_numpy(std::move(tree.starts)),
                        to_numpy(std::move(tree.features)), to_numpy(std::move(tree.loadings)),
                        to_numpy(std::move(tree.values)), to_numpy(std::move(tree.leaves)),
                        to_numpy(std::move(tree.bounds)));
}

inline void register_trees(nb::module_& m) {
  nb::class_<jarf::TargetSpec>(m, "Target");
  nb::class_<Classes<jarf::Gini>, jarf::TargetSpec>(m, "Gini")
      .def(nb::init<In<std::int32_t, 1>, std::size_t>(), as_is("labels"), "n_classes"_a);
  nb::class_<Classes<jarf::Entropy>, jarf::TargetSpec>(m, "Entropy")
      .def(nb::init<In<std::int32_t, 1>, std::size_t>(), as_is("labels"), "n_classes"_a);
  nb::class_<Responses, jarf::TargetSpec>(m, "SquaredError")
      .def(nb::init<In<double, 2>>(), as_is("responses"));
  nb::class_<NewtonSteps, jarf::TargetSpec>(m, "Newton")
      .def(nb::init<In<double, 2>, In<double, 2>, double, double>(), as_is("gradients"),
           as_is("hessians"), "l2_regularization"_a, "min_hessian"_a);
  nb::class_<MonotoneSteps, jarf::TargetSpec>(m, "MonotoneNewton")
      .def(nb::init<In<double, 2>, In<double, 2>, double, double, In<std::int8_t, 1>>(),
           as_is("gradients"), as_is("hessians"), "l2_regularization"_a, "min_hessian"_a,
           as_is("monotonic"));
  nb::class_<jarf::Limits>(m, "Limits")
      .def("__init__", &make_limits, nb::kw_only(), "max_depth"_a = nb::none(),
           "max_leaf_nodes"_a = nb::none(), "min_samples_split"_a = 2, "min_samples_leaf"_a = 1,
           "min_weight_fraction_leaf"_a = 0.0, "min_impurity_decrease"_a = 0.0,
           "histogram_from"_a, "sample_from"_a, "symmetric"_a = false);
  nb::exception<jarf::Stopped>(m, "Stopped");
  m.def("grow_tree", &grow_tree, "columns"_a, "proposal"_a, "target"_a, as_is("weights"), "seed"_a,
        "limits"_a, "keep_leaves"_a, as_is("stop"), "n_threads"_a);
}

}  // namespace jarf_bindings
