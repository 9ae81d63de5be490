// Arrays by DLPack: the table of C functions of the library they come from, or `__dlpack__`.
#pragma once

#include "field_view.h"

namespace fieldforge {

// Whether an array offers DLPack; those with a table offer `__dlpack__` as well.
bool has_dlpack(PyObject* array);

// Sets up a view whose indices begin at 0; false, with or without a Python error, if that fails.
bool fill_from_dlpack(FieldView* view, PyObject* array, PyObject* dims);

}  // namespace fieldforge
