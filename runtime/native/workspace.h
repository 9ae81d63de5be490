// Memory for temporaries that the caller provides.
#pragma once

#include <Python.h>

#include <atomic>
#include <cstddef>

namespace fieldforge {

struct Workspace {
    PyObject_HEAD
    Py_buffer buffer;
    std::byte* data;  // aligned to a cache line
    size_t size;      // from there on
    std::atomic<bool> is_taken;
};

bool is_workspace(PyObject* object);
int add_workspace(PyObject* module);

}  // namespace fieldforge
