// A stencil of GTScript: arrays, origins and a domain in, one call of a program out.
#pragma once

#include <Python.h>

namespace fieldforge {

// Adds `Stencil` to the module; -1 with a Python error set if that fails.
int add_stencil(PyObject* module);

}  // namespace fieldforge
