// The arguments of a stencil: what each must be, and how an array becomes a field of the program.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "array.h"
#include "dtype.h"

namespace fieldforge {

constexpr int spatial_axes = 3;

// What is declared of one argument; `dims` is owned.
struct Slot {
    int32_t place = -1;  // among the parameters of the program; -1: the stencil does not use it
    DType dtype = DType::none;
    PyObject* dims = nullptr;      // of a field; null for a number
    int32_t axes = 0;              // how many axes an array has
    int32_t axis[spatial_axes];    // which of I, J, K each of them is
    int64_t lower[spatial_axes];   // points before the domain that are read, by axis of the array
    int64_t upper[spatial_axes];   // and beyond it
    int32_t inwards[spatial_axes]; // the axes by the strides that the backend recommends, smallest first
    bool has_layout = false;       // whether it recommends any
};

// From a row (place, dtype) of a number, or (place, dtype, dims, axes, lower, upper, inwards) of a
// field; false with a Python error set.
bool read_slot(PyObject* row, Slot& into);

// Integers from an exact tuple or list of exactly `count` exact ints; false without an error.
bool read_integers(PyObject* given, int64_t* into, Py_ssize_t count);

// The argument `origin` of a call.
class Origin {
   public:
    // False without an error for what Python has to look at.
    bool read(PyObject* given);
    // The origin of one field by the axes of its array; false without an error.
    bool of(const Slot& slot, PyObject* name, int64_t* into) const;
    // The same of a field, which has an index 0 of its own; false without an error if another is given.
    bool of_field(const Slot& slot, PyObject* name, const FieldView& view, int64_t* into) const;

   private:
    bool is_given_ = false;
    int64_t all_[spatial_axes] = {0, 0, 0};
    PyObject* names_ = nullptr;  // borrowed: a dictionary by field
};

// The compute domain of a call: what is given, or what all fields have room for.
class Extent {
   public:
    // False without an error for what Python has to look at.
    bool read(PyObject* given);
    // Whether a field has room for the domain; without a given domain, it becomes smaller.
    bool has_room(const Slot& slot, const FieldView& view, const int64_t* origin);
    // Whether the domain is one, with enough levels; afterwards `sizes` are final.
    bool settle(int64_t least_levels);
    const int64_t* sizes() const { return sizes_; }

   private:
    bool is_given_ = false;
    int64_t sizes_[spatial_axes];
};

// A view whose index 0 is the first point of the domain; null without an error for what Python has
// to look at: another type, the attributes of gt4py, a layout that is not recommended.
PyObject* view_of_argument(const Slot& slot, PyObject* array, const int64_t* origin,
                           ArrayViews& views, size_t most);

// Whether a field has the dimensions, the type and the recommended layout of an argument.
bool is_of(const Slot& slot, const FieldView& view);

// Whether a number is of exactly the declared type: Python's int, float and bool are int64, float64
// and bool.
bool is_exactly(PyObject* number, DType dtype);

}  // namespace fieldforge
