// A stencil of GTScript: arrays, origins and a domain in, one call of a program out.
#pragma once

#include <Python.h>

#include <vector>

#include "names.h"
#include "program.h"
#include "stencil_arguments.h"

namespace fieldforge {

constexpr size_t most_arguments = 160;

// What a call may give beside the arguments, in this order.
enum Option { option_domain, option_origin, option_exec_info, option_validate_args, option_count };

struct Stencil {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    Program* program;
    PyObject* arguments;   // names, interned
    PyObject* call_names;  // the same, then the options of a call
    PyObject* run_names;   // the same, then those of `run`
    Names* of_call;
    Names* of_run;
    Py_ssize_t positional;             // arguments that may be given by position
    std::vector<PyObject*>* defaults;  // owned; null where there is none
    std::vector<Slot>* slots;
    size_t fields;
    int64_t least_levels;
    int waits;  // whether a call waits for the device
    PyObject* weak_references;
};

inline Stencil* stencil_of(PyObject* self) { return reinterpret_cast<Stencil*>(self); }

PyObject* vectorcall_stencil(PyObject* object, PyObject* const* values, size_t flags,
                             PyObject* keywords) noexcept;
// The method `run`: origin and domain are decided.
PyObject* run_stencil(PyObject* object, PyObject* const* values, Py_ssize_t count, PyObject* keywords);

// Adds `Stencil` to the module; -1 with a Python error set if that fails.
int add_stencil(PyObject* module);

}  // namespace fieldforge
