// NumPy arrays as the bindings take and give them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "math/vectors.hpp"

namespace stiction {

namespace nb = nanobind;
using namespace nb::literals;  // "name"_a is an argument of that name

/// An array of numbers from Python, of any number of axes; it is converted where it must be, and only read.
template <class T, int... Shape>
using Input = nb::ndarray<const T, nb::shape<Shape...>, nb::c_contig, nb::device::cpu>;
/// An array that is written to: it must be just of this type and shape.
template <class T, int... Shape> using Output = nb::ndarray<T, nb::shape<Shape...>, nb::c_contig, nb::device::cpu>;

/// A new NumPy array that owns its numbers.
template <class T> nb::ndarray<nb::numpy, T> new_array(const std::vector<std::size_t>& shape, T** data) {
    std::size_t size = 1;
    for (std::size_t n : shape) size *= n;
    auto memory = std::make_unique<T[]>(size);
    *data = memory.get();
    nb::capsule owner(memory.release(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::ndarray<nb::numpy, T>(*data, shape.size(), shape.data(), owner);
}

/// A new NumPy array with these numbers, (n,) unless another shape is given.
template <class T> auto copy_of(const std::vector<T>& values, std::vector<std::size_t> shape = {}) {
    if (shape.empty()) shape = {values.size()};
    T* out;
    auto result = new_array<T>(shape, &out);
    std::copy(values.begin(), values.end(), out);
    return result;
}

/// A new array (n,) with item(i) at i.
template <class T, class Item> nb::ndarray<nb::numpy, T> values_of(std::size_t n, Item item) {
    T* out;
    auto result = new_array<T>({n}, &out);
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<T>(item(static_cast<int>(i)));
    return result;
}

/// A large new NumPy array, to be filled. NumPy makes it, since it asks the system for large pages: to get memory in
/// small ones takes as long as to fill it.
template <class T> nb::object unfilled_array(const std::vector<std::size_t>& shape, T** data) {
    static_assert(std::is_same_v<T, double> || std::is_same_v<T, std::int8_t>);
    nb::list sizes;
    for (std::size_t n : shape) sizes.append(n);
    nb::object array =
        nb::module_::import_("numpy").attr("empty")(sizes, std::is_same_v<T, double> ? "float64" : "int8");
    *data = nb::cast<nb::ndarray<T, nb::c_contig, nb::device::cpu>>(array).data();
    return array;
}

/// All numbers of an array, row after row.
template <class Array> auto numbers_of(const Array& array) {
    return std::vector<std::remove_const_t<typename Array::Scalar>>(array.data(), array.data() + array.size());
}

/// Raise unless all arrays have this number of rows.
template <class... Arrays> void check_rows(std::size_t rows, const Arrays&... arrays) {
    if (((arrays.shape(0) != rows) || ...)) throw nb::value_error("All arrays must have the same number of rows.");
}

/// A new array (n, width) with item(i) in row i: vectors, twists, wrenches or quaternions.
template <class Item> nb::ndarray<nb::numpy, double> rows_of(std::size_t n, std::size_t width, Item item) {
    double* out;
    auto result = new_array<double>({n, width}, &out);
    for (std::size_t i = 0; i < n; ++i) write(item(static_cast<int>(i)), out + width * i);
    return result;
}

/// A vector as a new array (3,), a wrench or a twist as one (6,).
template <class Value> auto array_of(const Value& value) {
    double* out;
    auto result = new_array<double>({sizeof(Value) / sizeof(double)}, &out);
    write(value, out);
    return result;
}

/// Refused with one sentence: Python raises stiction's InputError, see module.cpp.
struct Refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The fields of a struct that Python sees, as a NumPy dtype.
template <class Struct> class Fields {
  public:
    /// example: one of these structs, in whose fields the offsets are found
    explicit Fields(const Struct& example) : start_(reinterpret_cast<const char*>(&example)) {}

    template <class Field> Fields& add(const char* name, const char* format, const Field& field) {
        names_.append(name), formats_.append(format), offsets_.append(reinterpret_cast<const char*>(&field) - start_);
        return *this;
    }
    nb::object dtype() const {
        nb::dict all;
        all["names"] = names_, all["formats"] = formats_, all["offsets"] = offsets_, all["itemsize"] = sizeof(Struct);
        return nb::module_::import_("numpy").attr("dtype")(all);
    }

  private:
    const char* start_;
    nb::list names_, formats_, offsets_;
};

inline Tensor tensor_from(const double* x) { return {x[0], x[1], x[2], x[4], x[5], x[8]}; }

}  // namespace stiction
