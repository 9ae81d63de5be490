// Calls that were recorded, to be made again in one crossing from Python.
#pragma once

#include <Python.h>

#include "binding.h"

namespace fieldforge {

struct Program;

// Takes down a call that was made; false with a Python error set.
bool record(PyObject* sequence, Program* program, const Bound& bound);

int add_sequence(PyObject* module);

}  // namespace fieldforge
