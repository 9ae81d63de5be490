// What a person calls: the variants of one program behind one vectorcall.
#pragma once

#include <Python.h>

namespace fieldforge {

int add_program(PyObject* module);

}  // namespace fieldforge
