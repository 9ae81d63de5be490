// `rows(value, shape, atom)` of the module `_values`.
#pragma once

#include <Python.h>

namespace fieldforge {

PyObject* rows_of(PyObject*, PyObject* args);

}  // namespace fieldforge
