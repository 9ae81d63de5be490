// The way from a parameter into its nested tuples and named collections.
#pragma once

#include <Python.h>

#include <vector>

#include "plan.h"

namespace fieldforge {

// A new reference to the leaf, or null with the depth at which the value is not a tuple or
// dataclass of the right length; no Python error is left set.
PyObject* walk(PyObject* value, const std::vector<Step>& steps, int64_t& depth);

}  // namespace fieldforge
