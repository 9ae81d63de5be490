// Recording, as the rest of the core sees it.
#pragma once

#include <Python.h>

#include "binding.h"

namespace fieldforge {

struct Program;

// Takes down a call that was made; false with a Python error set.
bool record(PyObject* sequence, Program* program, const Bound& bound);

int add_sequence(PyObject* module);

}  // namespace fieldforge
