// The border of the tree grower and the forest predictor.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "border.hpp"
#include "canonical.hpp"
#include "gradient_draws.hpp"
#include "grower.hpp"
#include "predictor.hpp"
#include "proposals.hpp"

namespace jarf_bindings {

namespace nb = nanobind;
using namespace nb::literals;

template <typename T, int N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <typename T, int N>
using Out = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

using jarf::require;

// An array that crosses as it is: another dtype or stride is an error instead of a copy, which
// would cut indices short or swallow what is written to it.
inline auto as_is(const char* name) { return nb::arg(name).noconvert(); }

// Keeps the shared training arrays alive. Columns are rows here: shape (n_columns, n_rows).
struct TrainingColumns {
  TrainingColumns(In<float, 2> values_, In<std::uint8_t, 2> codes_, In<float, 2> lowest_,
                  In<float, 2> highest_, In<std::int32_t, 1> n_bins_)
      : TrainingColumns(values_) {
    codes = codes_, lowest = lowest_, highest = highest_, n_bins = n_bins_;
    const std::size_t d = values.shape(0), n = values.shape(1);
    if (codes.shape(0) == 0) return;
    require(codes.shape(0) == d && codes.shape(1) == n, "codes must have the shape of values");
    require(lowest.shape(0) == d && lowest.shape(1) == jarf::kMaxBins && highest.shape(0) == d &&
                highest.shape(1) == jarf::kMaxBins && n_bins.shape(0) == d,
            "lowest, highest and n_bins must describe every column");
    view.codes = codes.data();
    view.lowest = lowest.data();
    view.highest = highest.data();
    view.n_bins = n_bins.data();
    jarf::check_bins(view);
  }
  explicit TrainingColumns(In<float, 2> values_) : values(values_) {
    const std::size_t d = values.shape(0), n = values.shape(1);
    jarf::check_matrix(values.data(), d, n);
    view.values = values.data();
    view.n_rows = n;
    view.n_columns = d;
  }
  In<float, 2> values;
  In<std::uint8_t, 2> codes;
  In<float, 2> lowest, highest;
  In<std::int32_t, 1> n_bins;
  jarf::Columns view;
};

// The columns of one tree, sums of the shared ones: column k along projection k.
struct RotatedColumns : TrainingColumns {
  RotatedColumns(In<float, 2> values_, In<std::int32_t, 1> starts_, In<std::int32_t, 1> features_,
                 In<float, 1> loadings_)
      : TrainingColumns(values_), starts(starts_), features(features_), loadings(loadings_) {
    require(starts.shape(0) > 1, "there must be a projection");
    require(features.shape(0) == loadings.shape(0), "features and loadings must be of one length");
    const std::size_t n_columns = starts.shape(0) - 1;
    jarf::check_projections(starts.data(), n_columns, features.data(), features.shape(0),
                            values.shape(0));
    rotation = {starts.data(), features.data(), loadings.data()};
    view.n_columns = n_columns;
    view.rotation = &rotation;
  }
  RotatedColumns(const RotatedColumns&) = delete;
  In<std::int32_t, 1> starts, features;
  In<float, 1> loadings;
  jarf::Rotation rotation;
};

inline void bin_columns(In<float, 2> values, Out<std::uint8_t, 2> codes, Out<float, 2> lowest,
                        Out<float, 2> highest, Out<std::int32_t, 1> n_bins) {
  const std::size_t d = values.shape(0), n = values.shape(1);
  require(codes.shape(0) == d && codes.shape(1) == n && n_bins.shape(0) == d &&
              lowest.shape(0) == d && lowest.shape(1) == jarf::kMaxBins && highest.shape(0) == d &&
              highest.shape(1) == jarf::kMaxBins,
          "codes, lowest, highest and n_bins must describe every column");
  jarf::check_matrix(values.data(), d, n);
  nb::gil_scoped_release release;
  std::vector<float> sorted;
  for (std::size_t j = 0; j < d; ++j) {
    n_bins.data()[j] = jarf::bin_column(
        values.data() + j * n, n, codes.data() + j * n, lowest.data() + j * jarf::kMaxBins,
        highest.data() + j * jarf::kMaxBins, sorted);
  }
}

// Hands a vector over to NumPy without copying it.
template <typename T>
nb::object to_numpy(std::vector<T>&& vector) {
  auto* owned = new std::vector<T>(std::move(vector));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

// Asked from inside the growth: did the caller raise the flag, or is there a signal to handle?
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

inline nb::tuple grow_tree(const TrainingColumns& columns, const jarf::ProposalSpec& spec,
                           int criterion, In<std::int32_t, 1> labels, In<double, 1> responses,
                           std::size_t n_classes, In<double, 1> weights, std::uint64_t seed,
                           std::size_t max_depth, std::size_t max_leaves, std::size_t min_split,
                           std::size_t min_leaf, double min_leaf_weight,
                           double min_gain, std::size_t histogram_from, std::size_t sample_from,
                           In<std::uint8_t, 1> stop) {
  const std::size_t n = columns.view.n_rows;
  const bool classifies = criterion < 2;
  require(criterion >= 0 && criterion <= 2, "criterion must be 0, 1 or 2");
  require(!columns.view.rotation || dynamic_cast<const jarf::AxesSpec*>(&spec),
          "rotated columns exist nowhere: only Axes can propose them");
  require(weights.shape(0) == n, "weights must have one entry a row");
  require(classifies ? labels.shape(0) == n : responses.shape(0) == n,
          "labels or responses must have one entry a row");
  require(stop.shape(0) == 1, "stop must be one flag");
  require(min_leaf >= 1, "min_leaf must be at least 1");
  jarf::check_weights(weights.data(), n);
  if (classifies) {
    jarf::check_labels(labels.data(), n, n_classes);
  } else {
    jarf::check_responses(responses.data(), weights.data(), n);
  }
  const auto is_used = [](double weight) { return weight > 0.0; };
  std::vector<std::uint32_t> rows;
  rows.reserve(std::count_if(weights.data(), weights.data() + n, is_used));
  for (std::size_t i = 0; i < n; ++i) {
    if (is_used(weights.data()[i])) rows.push_back(static_cast<std::uint32_t>(i));
  }
  const jarf::Limits limits{max_depth, max_leaves, min_split, std::min(min_leaf, n),
                            min_leaf_weight, min_gain, histogram_from, sample_from};
  jarf::GrownTree tree;
  {
    nb::gil_scoped_release release;
    const std::unique_ptr<jarf::Proposal> proposal = spec.make(columns.view);
    const auto grow = [&](auto&& target) {
      using Target = std::decay_t<decltype(target)>;
      tree = jarf::Grower<Target>::grow(columns.view, target, *proposal, std::move(rows), seed,
                                        limits, StopAsked(stop.data()));
    };
    if (criterion == 0) {
      grow(jarf::ClassTarget<jarf::Gini>(labels.data(), weights.data(), n, n_classes));
    } else if (criterion == 1) {
      grow(jarf::ClassTarget<jarf::Entropy>(labels.data(), weights.data(), n, n_classes));
    } else {
      grow(jarf::SquaredError(responses.data(), weights.data(), n));
    }
  }
  static_assert(sizeof(jarf::Node) == 16, "nodes cross the border as four 32-bit words");
  std::vector<std::int32_t> words(tree.nodes.size() * 4);
  std::memcpy(words.data(), tree.nodes.data(), words.size() * sizeof(std::int32_t));
  return nb::make_tuple(to_numpy(std::move(words)), to_numpy(std::move(tree.weights)),
                        to_numpy(std::move(tree.gains)), to_numpy(std::move(tree.starts)),
                        to_numpy(std::move(tree.features)), to_numpy(std::move(tree.loadings)),
                        to_numpy(std::move(tree.values)));
}

// Keeps a fitted forest's arrays alive; checked when made, so that walks need no checks.
struct CheckedObliqueForest {
  CheckedObliqueForest(In<std::int32_t, 2> nodes_, In<std::int32_t, 1> roots_,
                       In<std::int32_t, 1> starts_, In<std::int32_t, 1> features_,
                       In<float, 1> loadings_, In<double, 2> values_, std::size_t n_pure,
                       std::size_t n_features_)
      : nodes(nodes_), roots(roots_), starts(starts_), features(features_), loadings(loadings_),
        values(values_), n_features(n_features_) {
    require(nodes.shape(1) == 4, "nodes must have four 32-bit words each");
    require(starts.shape(0) >= 1 && features.shape(0) == loadings.shape(0),
            "starts must not be empty, features and loadings must be of one length");
    view = {{reinterpret_cast<const jarf::Node*>(nodes.data()), nodes.shape(0), roots.data(),
             roots.shape(0), values.data(), values.shape(0), values.shape(1)},
            starts.data(), starts.shape(0) - 1, features.data(), loadings.data(),
            loadings.shape(0), n_pure};
    view.check(n_features);
  }
  In<std::int32_t, 2> nodes;
  In<std::int32_t, 1> roots, starts, features;
  In<float, 1> loadings;
  In<double, 2> values;
  std::size_t n_features;
  jarf::ObliqueForest view;
};

inline void add_predictions(const CheckedObliqueForest& forest, In<float, 2> rows,
                            nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::device::cpu> skip,
                            Out<double, 2> sums) {
  require(rows.shape(1) == forest.n_features, "rows must have the forest's number of columns");
  require(sums.shape(0) == rows.shape(0) && sums.shape(1) == forest.view.trees.n_outputs,
          "sums must have the shape (rows, outputs)");
  const bool skips = skip.shape(0) != 0;
  require(!skips || (skip.shape(0) == forest.view.trees.n_trees &&
                     skip.shape(1) == rows.shape(0) && skip.stride(0) >= 0 && skip.stride(1) == 1),
          "skip must have the shape (trees, rows), its rows side by side");
  nb::gil_scoped_release release;
  jarf::add_predictions(forest.view, rows.data(), rows.shape(0), rows.shape(1),
                        skips ? skip.data() : nullptr, skips ? skip.stride(0) : 0, sums.data());
}

inline void find_leaves(const CheckedObliqueForest& forest, In<float, 2> rows,
                        Out<std::int64_t, 2> leaves) {
  require(rows.shape(1) == forest.n_features, "rows must have the forest's number of columns");
  require(leaves.shape(0) == rows.shape(0) && leaves.shape(1) == forest.view.trees.n_trees,
          "leaves must have the shape (rows, trees)");
  nb::gil_scoped_release release;
  jarf::find_leaves(forest.view, rows.data(), rows.shape(0), rows.shape(1), leaves.data());
}

// --- recipes -----------------------------------------------------------------------------------

template <typename T>
std::vector<T> to_vector(In<T, 1> array) {
  return std::vector<T>(array.data(), array.data() + array.shape(0));
}

inline void make_axes(jarf::AxesSpec* self, std::size_t n_candidates, In<double, 1> chances) {
  jarf::check_n_candidates(n_candidates);
  jarf::check_chances(chances.data(), chances.shape(0));
  new (self) jarf::AxesSpec;
  self->n_candidates = n_candidates;
  self->chances = to_vector<double>(chances);
}

inline void make_sparse_random(jarf::SparseRandomSpec* self, std::size_t n_candidates,
                               double mean_size, In<float, 1> scales, In<double, 1> chances) {
  jarf::check_n_candidates(n_candidates);
  jarf::check_sparse_random(mean_size, scales.data(), scales.shape(0));
  jarf::check_chances(chances.data(), chances.shape(0));
  new (self) jarf::SparseRandomSpec;
  self->n_candidates = n_candidates;
  self->mean_size = mean_size;
  self->scales = to_vector<float>(scales);
  self->chances = to_vector<double>(chances);
}

// LAPACK's dsyev out of SciPy's capsule, whose name is the signature of the function in it.
inline jarf::Dsyev dsyev_of(nb::handle capsule) {
  require(PyCapsule_CheckExact(capsule.ptr()), "dsyev must be a capsule of SciPy's cython_lapack");
  const char* name = PyCapsule_GetName(capsule.ptr());
  const char* begins = "void (char *, char *, int *, ";
  require(name && std::strncmp(name, begins, std::strlen(begins)) == 0 &&
              std::count(name, name + std::strlen(name), ',') == 8,
          "dsyev is a capsule of another function");
  return reinterpret_cast<jarf::Dsyev>(PyCapsule_GetPointer(capsule.ptr(), name));
}

inline void make_canonical(jarf::CanonicalSpec* self, std::size_t n_features, bool resample,
                           std::size_t max_rows, std::size_t max_components, nb::handle dsyev,
                           In<double, 1> chances) {
  jarf::check_chances(chances.data(), chances.shape(0));
  const jarf::Dsyev function = dsyev_of(dsyev);
  new (self) jarf::CanonicalSpec;
  self->chances = to_vector<double>(chances);
  self->options = {n_features, resample, max_rows, max_components, function};
}

// Gradients of one surrogate at all training rows; checked when made, kept alive by the recipe.
struct Gradients {
  Gradients(In<float, 2> values_, In<std::int32_t, 2> features_, std::size_t n_features_)
      : values(values_), features(features_), n_features(n_features_) {
    const bool dense = features.shape(0) == 0;
    require(dense || (features.shape(0) == values.shape(0) &&
                      features.shape(1) == values.shape(1)),
            "gradients must be dense, or name the column of every entry");
    view = {values.data(), dense ? nullptr : features.data(), values.shape(1)};
    jarf::check_gradients(view, values.shape(0), n_features);
  }
  In<float, 2> values;
  In<std::int32_t, 2> features;
  std::size_t n_features;
  jarf::GradientSource view;
};

struct GradientDrawsSpec : jarf::ProposalSpec {
  std::vector<std::shared_ptr<Gradients>> sources;
  std::vector<float> spreads;
  jarf::GradientDrawsOptions options;
  std::unique_ptr<jarf::Proposal> make(const jarf::Columns& columns) const override {
    std::vector<jarf::GradientSource> views;
    for (const auto& source : sources) {
      if (source->values.shape(0) != columns.n_rows || source->n_features != spreads.size() ||
          columns.n_columns != spreads.size()) {
        throw std::invalid_argument("gradients must belong to the training rows and columns");
      }
      views.push_back(source->view);
    }
    return std::make_unique<jarf::GradientDraws>(views, spreads, options);
  }
};

inline void make_gradient_draws(GradientDrawsSpec* self,
                                std::vector<std::shared_ptr<Gradients>> sources,
                                In<float, 1> spreads, std::size_t n_candidates, std::size_t n_rows,
                                std::size_t n_loadings) {
  require(!sources.empty() && n_rows > 0, "directions need a source and at least one row");
  require(std::find(sources.begin(), sources.end(), nullptr) == sources.end(),
          "a source is None");
  jarf::check_n_candidates(n_candidates);
  new (self) GradientDrawsSpec;
  self->sources = std::move(sources);
  self->spreads = to_vector<float>(spreads);
  self->options = {spreads.shape(0), n_candidates, n_rows, n_loadings};
}

inline void make_large_nodes(jarf::LargeNodesSpec* self, std::size_t min_rows,
                             std::shared_ptr<jarf::ProposalSpec> inner) {
  require(inner != nullptr, "an inner proposal is needed");
  new (self) jarf::LargeNodesSpec;
  self->min_rows = min_rows;
  self->inner = std::move(inner);
}

inline void make_sequence(jarf::SequenceSpec* self,
                          std::vector<std::shared_ptr<jarf::ProposalSpec>> parts) {
  require(!parts.empty() && std::find(parts.begin(), parts.end(), nullptr) == parts.end(),
          "a sequence needs at least one proposal, and none of them may be None");
  new (self) jarf::SequenceSpec;
  self->parts = std::move(parts);
}

inline void register_forest(nb::module_& m) {
  nb::class_<TrainingColumns>(m, "TrainingColumns")
      .def(nb::init<In<float, 2>, In<std::uint8_t, 2>, In<float, 2>, In<float, 2>,
                    In<std::int32_t, 1>>(),
           as_is("values"), as_is("codes"), as_is("lowest"), as_is("highest"), as_is("n_bins"));
  nb::class_<RotatedColumns, TrainingColumns>(m, "RotatedColumns")
      .def(nb::init<In<float, 2>, In<std::int32_t, 1>, In<std::int32_t, 1>, In<float, 1>>(),
           as_is("values"), as_is("starts"), as_is("features"), as_is("loadings"));
  m.def("bin_columns", &bin_columns, as_is("values"), as_is("codes"), as_is("lowest"),
        as_is("highest"), as_is("n_bins"));

  nb::class_<jarf::ProposalSpec>(m, "Proposal");
  nb::class_<jarf::AxesSpec, jarf::ProposalSpec>(m, "Axes")
      .def("__init__", &make_axes, "n_candidates"_a, as_is("chances"));
  nb::class_<jarf::SparseRandomSpec, jarf::ProposalSpec>(m, "SparseRandom")
      .def("__init__", &make_sparse_random, "n_candidates"_a, "mean_size"_a, as_is("scales"),
           as_is("chances"));
  nb::class_<jarf::CanonicalSpec, jarf::ProposalSpec>(m, "CanonicalCorrelation")
      .def("__init__", &make_canonical, "n_features"_a, "resample"_a, "max_rows"_a,
           "max_components"_a, "dsyev"_a, as_is("chances"));
  nb::class_<Gradients>(m, "Gradients")
      .def(nb::init<In<float, 2>, In<std::int32_t, 2>, std::size_t>(), as_is("values"),
           as_is("features"), "n_features"_a);
  nb::class_<GradientDrawsSpec, jarf::ProposalSpec>(m, "GradientDraws")
      .def("__init__", &make_gradient_draws, "sources"_a, as_is("spreads"), "n_candidates"_a,
           "n_rows"_a, "n_loadings"_a);
  nb::class_<jarf::LargeNodesSpec, jarf::ProposalSpec>(m, "LargeNodes")
      .def("__init__", &make_large_nodes, "min_rows"_a, "inner"_a);
  nb::class_<jarf::SequenceSpec, jarf::ProposalSpec>(m, "Sequence")
      .def("__init__", &make_sequence, "parts"_a);

  nb::exception<jarf::Stopped>(m, "Stopped");
  m.def("grow_tree", &grow_tree, "columns"_a, "proposal"_a, "criterion"_a, as_is("labels"),
        as_is("responses"), "n_classes"_a, as_is("weights"), "seed"_a, nb::kw_only(), "max_depth"_a,
        "max_leaves"_a, "min_split"_a, "min_leaf"_a,
        "min_leaf_weight"_a, "min_gain"_a, "histogram_from"_a,
        "sample_from"_a, as_is("stop"));

  nb::class_<CheckedObliqueForest>(m, "CheckedObliqueForest")
      .def(nb::init<In<std::int32_t, 2>, In<std::int32_t, 1>, In<std::int32_t, 1>,
                    In<std::int32_t, 1>, In<float, 1>, In<double, 2>, std::size_t, std::size_t>(),
           as_is("nodes"), as_is("roots"), as_is("starts"), as_is("features"), as_is("loadings"),
           as_is("values"), "n_pure"_a, "n_features"_a);
  m.def("add_predictions", &add_predictions, "forest"_a, as_is("rows"), as_is("skip"),
        as_is("sums"));
  m.def("find_leaves", &find_leaves, "forest"_a, as_is("rows"), as_is("leaves"));
}

}  // namespace jarf_bindings
