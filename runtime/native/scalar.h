// A number from Python as the bytes of a scalar slot. Only a Python `int` or `float` is converted, to a
// type that has the same number; scalars of NumPy and `bool` are of one type.
#pragma once

#include <Python.h>

#include <cstdint>

#include "field_view.h"

namespace fieldforge {

enum class Taken { good, wrong_type, out_of_range };

// Writes `value` to the 8 bytes at `slot` if it is a number of type `dtype`.
Taken take_scalar(PyObject* value, DType dtype, void* slot);

// Whether `value` is a number of NumPy; unlike those of Python, equal ones are different objects.
bool is_numpy_number(PyObject* value);

// Whether both are numbers of one type, NumPy's or `float`, with the same bits.
bool is_same_number(PyObject* one, PyObject* other);

// The integer in `slot`, as the integer programs of a plan see it; at most the largest of 64 bits.
int64_t slot_as_int(DType dtype, const void* slot);

// Learns NumPy's scalar types; -1 with a Python error set if that fails.
int prepare_scalars();

}  // namespace fieldforge
