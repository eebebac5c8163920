// Bindings of the training matrix.
#pragma once

#include <vector>

#include "bindings_arrays.hpp"
#include "columns.hpp"

namespace jarf_bindings {

// Keeps the shared training arrays alive. They are stored by column: shape (n_columns, n_rows).
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

// The rotated columns of one tree: column k holds the values along projection k.
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
  std::vector<jarf::Key> scratch;
  for (std::size_t j = 0; j < d; ++j) {
    n_bins.data()[j] = jarf::bin_column(
        values.data() + j * n, n, codes.data() + j * n, lowest.data() + j * jarf::kMaxBins,
        highest.data() + j * jarf::kMaxBins, scratch);
  }
}

inline void register_columns(nb::module_& m) {
  nb::class_<TrainingColumns>(m, "TrainingColumns")
      .def(nb::init<In<float, 2>, In<std::uint8_t, 2>, In<float, 2>, In<float, 2>,
                    In<std::int32_t, 1>>(),
           as_is("values"), as_is("codes"), as_is("lowest"), as_is("highest"), as_is("n_bins"));
  nb::class_<RotatedColumns, TrainingColumns>(m, "RotatedColumns")
      .def(nb::init<In<float, 2>, In<std::int32_t, 1>, In<std::int32_t, 1>, In<float, 1>>(),
           as_is("values"), as_is("starts"), as_is("features"), as_is("loadings"));
  m.def("bin_columns", &bin_columns, as_is("values"), as_is("codes"), as_is("lowest"),
        as_is("highest"), as_is("n_bins"));
}

}  // namespace jarf_bindings
