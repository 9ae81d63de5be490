// Calls that were recorded, and what is needed to make them again.
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
    PyObject* on_fallback;  // on_fallback(fields, why): makes the calls the ordinary way
    std::vector<Recorded>* calls;
    std::vector<std::shared_ptr<const Round>>* rounds;
    size_t next;  // round to be replaced
    Arena* arena;
    bool has_others;  // calls of what is no native program
};

inline Recorder* recorder_of(PyObject* self) { return reinterpret_cast<Recorder*>(self); }

// Makes the calls again, with fields for slots by name.
PyObject* vectorcall_recorder(PyObject* callable, PyObject* const* values, size_t flags,
                              PyObject* keywords) noexcept;

}  // namespace fieldforge
