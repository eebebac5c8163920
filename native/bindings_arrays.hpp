// Array types of the Python bindings: contiguous and of an exact dtype.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

#include "border.hpp"

namespace jarf_bindings {

namespace nb = nanobind;
using namespace nb::literals;

template <typename T, int N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <typename T, int N>
using Out = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

using jarf::require;

// An array argument that is never converted. A wrong dtype or stride raises an error: a silent copy
// could truncate indices or lose what is written to the array.
inline auto as_is(const char* name) { return nb::arg(name).noconvert(); }

// Hands a vector over to NumPy without a copy.
template <typename T>
nb::object to_numpy(std::vector<T>&& vector) {
  auto* owned = new std::vector<T>(std::move(vector));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

template <typename T>
std::vector<T> to_vector(In<T, 1> array) {
  return std::vector<T>(array.data(), array.data() + array.shape(0));
}

}  // namespace jarf_bindings
