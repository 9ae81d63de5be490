// A callable with wishes of its own.
#pragma once

#include <Python.h>

namespace fieldforge {

int add_limited(PyObject* module);

}  // namespace fieldforge
