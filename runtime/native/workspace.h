// Memory for temporaries that the caller provides.
#pragma once

#include <Python.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace fieldforge {

struct Workspace {
    PyObject_HEAD
    Py_buffer buffer;  // of host memory
    PyObject* owner;   // of memory on a device, else null
    int32_t device_type, device_id;
    std::shared_ptr<void> last;  // where a device used it last, see `Device::lend`
    std::byte* data;  // aligned to a cache line
    size_t size;      // from there on
    std::atomic<bool> is_taken;
};

bool is_workspace(PyObject* object);
int add_workspace(PyObject* module);

}  // namespace fieldforge
