// Recorded calls, and what replay needs.
#pragma once

#include <Python.h>

#include <memory>
#include <vector>

#include "replay.h"

namespace fieldforge {

struct Recorder {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject* slots;        // dictionary from the names to the recorded fields
    PyObject* on_fallback;  // on_fallback(fields, why): replays on the normal call path
    std::vector<Recorded>* calls;
    std::vector<std::shared_ptr<const Round>>* rounds;
    size_t next;            // round to be replaced
    Py_ssize_t most_ready;  // rounds that are kept; time levels are two or three
    Arena* arena;
    bool has_others;  // calls of callables that are no native programs
};

inline Recorder* recorder_of(PyObject* self) { return reinterpret_cast<Recorder*>(self); }

// Replays the calls with fields for the slots, by name.
PyObject* vectorcall_recorder(PyObject* callable, PyObject* const* values, size_t flags,
                              PyObject* keywords) noexcept;

}  // namespace fieldforge
