// The Python module: takes contiguous typed arrays, checks them once and releases the GIL.
#include "bindings_arrays.hpp"
#include "bindings_columns.hpp"
#include "bindings_forest.hpp"
#include "bindings_proposals.hpp"
#include "bindings_trees.hpp"
#include "group_sums.hpp"
#include "outer_products.hpp"

using namespace jarf_bindings;

static void add_outer_products(In<double, 2> rows, In<double, 1> weights, Out<double, 2> total) {
  const std::size_t m = rows.shape(0), d = rows.shape(1);
  const bool weighted = weights.shape(0) != 0;
  require(!weighted || weights.shape(0) == m, "weights must be empty or have one entry per row");
  require(total.shape(0) == d && total.shape(1) == d, "total must be (features, features)");
  nb::gil_scoped_release release;
  jarf::add_outer_products(rows.data(), weighted ? weights.data() : nullptr, m, d, total.data());
}

static void add_by_group(In<double, 2> values, In<double, 1> weights, In<std::int32_t, 1> groups,
                         Out<double, 2> total) {
  const std::size_t n = values.shape(0);
  require(weights.shape(0) == n && groups.shape(0) == n,
          "weights and groups must have one entry per row");
  require(total.shape(1) == values.shape(1), "total must have the columns of values");
  jarf::check_groups(groups.data(), n, total.shape(0));
  nb::gil_scoped_release release;
  jarf::add_by_group(values.data(), weights.data(), groups.data(), n, values.shape(1),
                     total.data());
}

NB_MODULE(_kernels, m) {
  // Models that are still alive when Python exits are not leaks.
  nb::set_leak_warnings(false);
  register_columns(m);
  register_proposals(m);
  register_trees(m);
  register_forest(m);
  m.def("add_outer_products", &add_outer_products, as_is("rows"), as_is("weights"),
        as_is("total"));
  m.def("add_by_group", &add_by_group, as_is("values"), as_is("weights"), as_is("groups"),
        as_is("total"));
}
