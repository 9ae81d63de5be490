// A compiled variant of a program: its plan, its address, and what keeps the code loaded.
#pragma once

#include <Python.h>

#include "arena.h"
#include "call.h"
#include "plan.h"

namespace fieldforge {

struct Entry {
    PyObject_HEAD
    CallPlan* plan;
    Arena* arena;
    EntryPoint address;
    PyObject* source;  // the Python plan; the dimensions in `plan` are borrowed from it
    PyObject* keepalive;
};

extern PyTypeObject* entry_type;

int add_entry(PyObject* module);

}  // namespace fieldforge
