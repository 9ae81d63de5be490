// Arrays of NumPy read in place: the buffer protocol allocates for every array of every call.
#pragma once

#include <Python.h>

#include "field_view.h"

namespace fieldforge {

// Learns where NumPy keeps what an array is, and tests it on arrays; where that fails, arrays are
// read by the buffer protocol. -1 with a Python error set if NumPy is not there.
int prepare_numpy_arrays();

// Whether an object is exactly an `ndarray`, no subclass.
bool is_numpy_array(PyObject* array);
// The same, or of a subclass.
bool is_array_of_numpy(PyObject* array);

// Sets up a view of such an array, which is held, for as long as a call takes. False where the buffer
// protocol has to be asked; a Python error may be set.
bool fill_from_numpy(FieldView* view, PyObject* array, PyObject* dims);

}  // namespace fieldforge
