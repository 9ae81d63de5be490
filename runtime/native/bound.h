// A program with arguments fixed.
#pragma once

#include <Python.h>

namespace fieldforge {

int add_bound_call(PyObject* module);

}  // namespace fieldforge
