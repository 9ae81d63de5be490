// The arguments of a call in the order of the parameters, whichever way they were given.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "names.h"
#include "refusal.h"

namespace fieldforge {

// What a call may give, and who tells the person that it gave something else. References are owned.
struct Signature {
    PyObject* name;
    PyObject* parameters;  // interned names
    PyObject* on_reject;
    Names* names;
};

// The arguments of one call as the interpreter hands them over; all borrowed.
struct Given {
    PyObject* const* values;
    Py_ssize_t positional;
    PyObject* keywords;  // tuple of names or null
};

// The same in the order of the parameters, and what stands beside them.
struct Bound {
    PyObject** values;
    Py_ssize_t count;
    PyObject* provider = nullptr;
};

// Puts the arguments in the order of the parameters; false with a Python error set, or `quietly`
// without one where they do not fit.
bool bind(const Signature& signature, const Given& given, Bound& into, bool quietly = false);

// Hands the case over to Python, which raises the error for the person; steals the detail.
PyObject* reject(const Signature& signature, PyObject* plan, PyObject* arguments, Reason reason,
                 PyObject* detail);

// Takes the names, interned, so that identity is enough nearly always; false with an error set.
bool set_signature(Signature& signature, PyObject* name, PyObject* parameters, PyObject* on_reject);
void clear_signature(Signature& signature);

PyObject* tuple_of(PyObject* const* values, Py_ssize_t count);
PyObject* tuple_of(const std::vector<int64_t>& numbers);

}  // namespace fieldforge
