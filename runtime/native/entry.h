// A compiled variant of a program: its plan, its address, and what keeps the code loaded.
#pragma once

#include <Python.h>

#include <cstdint>

#include "arena.h"
#include "first_tier.h"
#include "plan.h"
#include "pool.h"
#include "wishes.h"
#include "work.h"

namespace fieldforge {

struct Entry {
    PyObject_HEAD
    CallPlan* plan;
    const Device* device;
    Arena* arena;
    EntryPoint address;  // null if the entry has work for a device
    Work* work;
    const FirstTier* first_tier;  // `work`, if it stands in for compiled code
    OpenMP openmp;
    Crew crew;  // default of a call
    // What every call gets, with `crew` as its pool; version 0 where the device makes one a call.
    Context context;
    bool is_plain;  // a call is one call of `address` with `context`
    PyObject* source;  // the Python plan; the dimensions in `plan` are borrowed from it
    PyObject* keepalive;
    PyObject* ask;  // what the first tier calls, or null
};

extern PyTypeObject* entry_type;

int add_entry(PyObject* module);

}  // namespace fieldforge
