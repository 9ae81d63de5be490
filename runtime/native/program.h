// The callable of a program: its variants behind one vectorcall.
#pragma once

#include <Python.h>

#include <memory>
#include <vector>

#include "binding.h"
#include "call.h"
#include "entry.h"
#include "static_argument.h"
#include "watch.h"

namespace fieldforge {

// An entry and the values that it was compiled for.
struct Variant {
    Entry* entry;
    std::vector<StaticArgument> values;
};

struct Program {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    Signature signature;
    PyObject* on_miss;
    // Handles calls without all parameters, the last of them by keyword; null: refuse them.
    PyObject* otherwise;
    // Entries that ask most of the layout come first. Read and changed with the interpreter's lock
    // held, and an entry, which is owned, is held while it is in use.
    std::vector<Variant>* variants;
    uint64_t generation;  // changes when entries are added or removed
    Watch* watch;
    PyObject* weak_references;
    PyObject* python_call;  // takes every call while it is set; see `route`
};

extern PyTypeObject* program_type;

inline Program* program_of(PyObject* self) { return reinterpret_cast<Program*>(self); }

// Calls with bound arguments; null with a Python error set.
PyObject* call_ordered(Program* self, const Bound& bound);
PyObject* vectorcall_program(PyObject* callable, PyObject* const* values, size_t flags,
                             PyObject* keywords) noexcept;
// The same, but refuses arguments that do not fit the parameters.
PyObject* call_program(Program* self, const Given& given) noexcept;

// Runs the first entry that fits: 1. It asks for no entry and refuses nothing: where none fits or one
// refuses the call the result is 0, and -1 with a Python error set where running one failed.
int try_call(Program* self, const Bound& bound);

// A call as it will be, without calling. Where no entry fits the result is null without an error,
// where the arguments are refused it is null with one.
std::shared_ptr<const Prepared> prepare(Program* self, const Bound& bound,
                                        const std::vector<Substitute>& substitutes);

// Raises the error of a call that an entry refuses or that failed; the result is null.
PyObject* refuse(Program* self, const Entry* entry, const Bound& bound, const Refusal& refusal);

int add_program(PyObject* module);

}  // namespace fieldforge
