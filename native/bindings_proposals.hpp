// Bindings of the proposal specifications, from which every tree creates its own proposal.
#pragma once

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "bindings_arrays.hpp"
#include "canonical.hpp"
#include "gradient_draws.hpp"
#include "proposals.hpp"

namespace jarf_bindings {

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

// LAPACK's dsyev from SciPy's capsule. The capsule's name is the signature of the function.
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

// Gradients of one surrogate at all training rows, or at those that have one of the `places`:
// checked once, kept alive by the proposal.
struct Gradients {
  Gradients(In<float, 2> values_, In<std::int32_t, 2> features_, std::size_t n_features_,
            In<std::int32_t, 1> places_)
      : values(values_), features(features_), places(places_), n_features(n_features_) {
    const bool dense = features.shape(0) == 0;
    require(dense || (features.shape(0) == values.shape(0) &&
                      features.shape(1) == values.shape(1)),
            "gradients must be dense, or name the column of every entry");
    view = {values.data(), dense ? nullptr : features.data(), values.shape(1),
            places.shape(0) == 0 ? nullptr : places.data()};
    jarf::check_gradients(view, values.shape(0), n_features, places.shape(0));
  }
  std::size_t n_rows() const { return view.places ? places.shape(0) : values.shape(0); }
  In<float, 2> values;
  In<std::int32_t, 2> features;
  In<std::int32_t, 1> places;
  std::size_t n_features;
  jarf::GradientSource view;
};

struct GradientDrawsSpec : jarf::ProposalSpec {
  std::vector<std::shared_ptr<Gradients>> sources;
  std::vector<float> scales;
  jarf::GradientDrawsOptions options;
  std::unique_ptr<jarf::Proposal> make(const jarf::Columns& columns) const override {
    std::vector<jarf::GradientSource> views;
    for (const auto& source : sources) {
      if (source->n_rows() != columns.n_rows || source->n_features != scales.size() ||
          columns.n_columns != scales.size()) {
        throw std::invalid_argument("gradients must belong to the training rows and columns");
      }
      views.push_back(source->view);
    }
    return std::make_unique<jarf::GradientDraws>(views, scales, options);
  }
};

inline void make_gradient_draws(GradientDrawsSpec* self,
                                std::vector<std::shared_ptr<Gradients>> sources,
                                In<float, 1> scales, std::size_t n_candidates, std::size_t n_rows,
                                std::size_t n_loadings, float least) {
  require(!sources.empty() && n_rows > 0, "directions need a source and at least one row");
  require(std::find(sources.begin(), sources.end(), nullptr) == sources.end(),
          "a source is None");
  require(least >= 0.0f && least < 1.0f, "least must lie between 0 and 1");
  jarf::check_n_candidates(n_candidates);
  new (self) GradientDrawsSpec;
  self->sources = std::move(sources);
  self->scales = to_vector<float>(scales);
  self->options = {scales.shape(0), n_candidates, n_rows, n_loadings, least};
}

// The nesting depth of a proposal that contains these parts.
inline std::size_t nesting_around(const std::vector<std::shared_ptr<jarf::ProposalSpec>>& parts) {
  std::size_t deepest = 0;
  for (const auto& part : parts) deepest = std::max(deepest, part->nesting);
  require(deepest < jarf::ProposalSpec::kMaxNesting, "proposals are nested more than 16 deep");
  return deepest + 1;
}

inline void make_large_nodes(jarf::LargeNodesSpec* self, std::size_t min_rows,
                             std::shared_ptr<jarf::ProposalSpec> inner) {
  require(inner != nullptr, "an inner proposal is needed");
  const std::size_t nesting = nesting_around({inner});
  new (self) jarf::LargeNodesSpec;
  self->nesting = nesting;
  self->min_rows = min_rows;
  self->inner = std::move(inner);
}

inline void make_sequence(jarf::SequenceSpec* self,
                          std::vector<std::shared_ptr<jarf::ProposalSpec>> parts) {
  require(!parts.empty() && std::find(parts.begin(), parts.end(), nullptr) == parts.end(),
          "a sequence needs at least one proposal, and none of them may be None");
  const std::size_t nesting = nesting_around(parts);
  new (self) jarf::SequenceSpec;
  self->nesting = nesting;
  self->parts = std::move(parts);
}

inline void register_proposals(nb::module_& m) {
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
      .def(nb::init<In<float, 2>, In<std::int32_t, 2>, std::size_t, In<std::int32_t, 1>>(),
           as_is("values"), as_is("features"), "n_features"_a, as_is("places"));
  nb::class_<GradientDrawsSpec, jarf::ProposalSpec>(m, "GradientDraws")
      .def("__init__", &make_gradient_draws, "sources"_a, as_is("scales"), "n_candidates"_a,
           "n_rows"_a, "n_loadings"_a, "least"_a);
  nb::class_<jarf::LargeNodesSpec, jarf::ProposalSpec>(m, "LargeNodes")
      .def("__init__", &make_large_nodes, "min_rows"_a, "inner"_a);
  nb::class_<jarf::SequenceSpec, jarf::ProposalSpec>(m, "Sequence")
      .def("__init__", &make_sequence, "parts"_a);
}

}  // namespace jarf_bindings
