// Bindings of fitted forests: predictions, leaves and finite differences.
#pragma once

#include "bindings_arrays.hpp"
#include "forest.hpp"
#include "predictor.hpp"
#include "tree_differences.hpp"

namespace jarf_bindings {

// Keeps a fitted forest's arrays alive. They are checked once, so tree walks need no checks.
struct CheckedForest {
  CheckedForest(In<std::int32_t, 2> nodes_, In<std::int32_t, 1> roots_,
                In<std::int32_t, 1> starts_, In<std::int32_t, 1> features_,
                In<float, 1> loadings_, In<double, 2> values_, std::size_t n_pure,
                std::size_t n_features)
      : nodes(nodes_), roots(roots_), starts(starts_), features(features_), loadings(loadings_),
        values(values_) {
    require(nodes.shape(1) == 4, "nodes must have four 32-bit words each");
    require(starts.shape(0) >= 1 && features.shape(0) == loadings.shape(0),
            "starts must not be empty, features and loadings must be of one length");
    view = {reinterpret_cast<const jarf::Node*>(nodes.data()),
            nodes.shape(0),
            roots.data(),
            roots.shape(0),
            values.data(),
            values.shape(0),
            values.shape(1),
            starts.data(),
            starts.shape(0) - 1,
            features.data(),
            loadings.data(),
            loadings.shape(0),
            n_pure,
            n_features};
    view.check();
  }
  In<std::int32_t, 2> nodes;
  In<std::int32_t, 1> roots, starts, features;
  In<float, 1> loadings;
  In<double, 2> values;
  jarf::Forest view;
};

inline void add_predictions(const CheckedForest& forest, In<float, 2> rows,
                            nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::device::cpu> skip,
                            Out<double, 2> sums) {
  require(rows.shape(1) == forest.view.n_features, "rows must have the forest's number of columns");
  require(sums.shape(0) == rows.shape(0) && sums.shape(1) == forest.view.n_outputs,
          "sums must have the shape (rows, outputs)");
  const bool skips = skip.shape(0) != 0;
  require(!skips || (skip.shape(0) == forest.view.n_trees && skip.shape(1) == rows.shape(0) &&
                     skip.stride(0) >= 0 && skip.stride(1) == 1),
          "skip must have the shape (trees, rows), its rows side by side");
  nb::gil_scoped_release release;
  jarf::add_predictions(forest.view, rows.data(), rows.shape(0), skips ? skip.data() : nullptr,
                        skips ? skip.stride(0) : 0, sums.data());
}

inline void find_leaves(const CheckedForest& forest, In<float, 2> rows,
                        Out<std::int64_t, 2> leaves) {
  require(rows.shape(1) == forest.view.n_features, "rows must have the forest's number of columns");
  require(leaves.shape(0) == rows.shape(0) && leaves.shape(1) == forest.view.n_trees,
          "leaves must have the shape (rows, trees)");
  nb::gil_scoped_release release;
  jarf::find_leaves(forest.view, rows.data(), rows.shape(0), leaves.data());
}

inline void tree_differences(const CheckedForest& forest, In<float, 2> centre, In<float, 2> upper,
                             In<float, 2> lower, In<std::int32_t, 1> output, Out<double, 3> above,
                             Out<double, 3> below) {
  const std::size_t m = centre.shape(0), d = centre.shape(1);
  const std::size_t n_outputs = forest.view.n_outputs;
  const bool observed = output.shape(0) != 0, apart = below.shape(0) != 0;
  require(d == forest.view.n_features, "centre must have as many columns as the forest features");
  require(upper.shape(0) == m && upper.shape(1) == d && lower.shape(0) == m && lower.shape(1) == d,
          "centre, upper and lower must have one shape");
  require(!observed || output.shape(0) == m, "output must be empty or name one output per row");
  const auto fits = [&](const Out<double, 3>& sums) {
    return sums.shape(0) == m && sums.shape(1) == (observed ? 1 : n_outputs) && sums.shape(2) == d;
  };
  require(fits(above) && (!apart || fits(below)),
          "above and below must have the shape (rows, outputs kept, features)");
  for (std::size_t i = 0; i < output.shape(0); ++i) {
    require(output.data()[i] >= 0 && static_cast<std::size_t>(output.data()[i]) < n_outputs,
            "output names an output that the forest does not have");
  }
  const jarf::Probes probes{centre.data(), upper.data(), lower.data(),
                            observed ? output.data() : nullptr, m};
  nb::gil_scoped_release release;
  jarf::TreeDifferences(forest.view, probes, above.data(), apart ? below.data() : nullptr)
      .accumulate();
}

inline void register_forest(nb::module_& m) {
  nb::class_<CheckedForest>(m, "CheckedForest")
      .def(nb::init<In<std::int32_t, 2>, In<std::int32_t, 1>, In<std::int32_t, 1>,
                    In<std::int32_t, 1>, In<float, 1>, In<double, 2>, std::size_t, std::size_t>(),
           as_is("nodes"), as_is("roots"), as_is("starts"), as_is("features"), as_is("loadings"),
           as_is("values"), "n_pure"_a, "n_features"_a);
  m.def("add_predictions", &add_predictions, "forest"_a, as_is("rows"), as_is("skip"),
        as_is("sums"));
  m.def("find_leaves", &find_leaves, "forest"_a, as_is("rows"), as_is("leaves"));
  m.def("tree_differences", &tree_differences, "forest"_a, as_is("centre"), as_is("upper"),
        as_is("lower"), as_is("output"), as_is("above"), as_is("below"));
}

}  // namespace jarf_bindings
