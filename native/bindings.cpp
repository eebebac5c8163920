// The thin border: contiguous typed arrays in, checks once, the GIL released.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "bindings_forest.hpp"
#include "border.hpp"
#include "outer_products.hpp"
#include "packed_forest.hpp"
#include "tree_differences.hpp"

namespace nb = nanobind;
using namespace nb::literals;

using jarf::require;
using jarf_bindings::as_is;
using jarf_bindings::In;
using jarf_bindings::Out;

// Keeps the arrays alive that its view points to; checked when made, so walks need no checks.
struct CheckedForest {
  CheckedForest(In<std::int32_t, 2> nodes_, In<std::int32_t, 1> roots_, In<double, 2> values_,
                std::size_t n_features_)
      : nodes(nodes_), roots(roots_), values(values_), n_features(n_features_) {
    require(nodes.shape(1) == 4, "nodes must have four 32-bit words each");
    require(n_features > 0, "a forest needs at least one feature");
    view = {reinterpret_cast<const jarf::Node*>(nodes.data()), nodes.shape(0),
            roots.data(), roots.shape(0), values.data(), values.shape(0), values.shape(1)};
    view.check(n_features);
    require(jarf::all_finite(values.data(), values.size()), "values of leaves must be finite");
  }
  In<std::int32_t, 2> nodes;
  In<std::int32_t, 1> roots;
  In<double, 2> values;
  std::size_t n_features;
  jarf::PackedForest view;
};

static void tree_differences(const CheckedForest& forest, In<float, 2> centre, In<float, 2> upper,
                             In<float, 2> lower, In<std::int32_t, 1> output, Out<double, 3> sums) {
  const std::size_t m = centre.shape(0), d = centre.shape(1);
  const std::size_t n_outputs = forest.view.n_outputs;
  const bool observed = output.shape(0) != 0;
  require(d == forest.n_features, "centre must have as many columns as the forest has features");
  require(upper.shape(0) == m && upper.shape(1) == d && lower.shape(0) == m && lower.shape(1) == d,
          "centre, upper and lower must have one shape");
  require(!observed || output.shape(0) == m, "output must be empty or name one output a row");
  require(sums.shape(0) == m && sums.shape(1) == (observed ? 1 : n_outputs) && sums.shape(2) == d,
          "sums must have the shape (rows, outputs kept, features)");
  for (std::size_t i = 0; i < output.shape(0); ++i) {
    require(output.data()[i] >= 0 && static_cast<std::size_t>(output.data()[i]) < n_outputs,
            "output names an output that the forest does not have");
  }
  const jarf::Probes probes{centre.data(), upper.data(), lower.data(),
                            observed ? output.data() : nullptr, m, d};
  nb::gil_scoped_release release;
  jarf::TreeDifferences(forest.view, probes, sums.data()).accumulate();
}

static void add_outer_products(In<double, 2> rows, In<double, 1> weights, Out<double, 2> total) {
  const std::size_t m = rows.shape(0), d = rows.shape(1);
  const bool weighted = weights.shape(0) != 0;
  require(!weighted || weights.shape(0) == m, "weights must be empty or one a row");
  require(total.shape(0) == d && total.shape(1) == d, "total must be (features, features)");
  nb::gil_scoped_release release;
  jarf::add_outer_products(rows.data(), weighted ? weights.data() : nullptr, m, d, total.data());
}

NB_MODULE(_kernels, m) {
  // A model that is alive when Python ends is no leak.
  nb::set_leak_warnings(false);
  nb::class_<CheckedForest>(m, "CheckedForest")
      .def(nb::init<In<std::int32_t, 2>, In<std::int32_t, 1>, In<double, 2>, std::size_t>(),
           as_is("nodes"), as_is("roots"), as_is("values"), "n_features"_a);
  m.def("tree_differences", &tree_differences, "forest"_a, as_is("centre"),
        as_is("upper"), as_is("lower"), as_is("output"),
        as_is("sums"));
  jarf_bindings::register_forest(m);
  m.def("add_outer_products", &add_outer_products, as_is("rows"), as_is("weights"),
        as_is("total"));
}
