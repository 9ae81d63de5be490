// The part of `_core` that is the GPU runtime.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

namespace fieldforge {
struct FieldView;
}

namespace fieldforge::gpu {

bool is_device_array(PyObject* object);  // of any library; one whose memory no buffer lends
bool is_own_array(PyObject* object);
// The libraries that have a current stream of their own, as bits.
enum Library : uint8_t { library_none = 0, library_cupy = 1, library_torch = 2 };

// Contiguous memory of a device that may be written.
struct Span {
    uintptr_t address;
    size_t size;
    int32_t device_type, device_id;
};
bool is_device_memory(PyObject* object);  // an array that no buffer lends, or a `Buffer`
bool span_of(PyObject* object, Span& span);  // false with a Python error set

// Sets up a view of an array that offers no buffer; false with a Python error set.
bool fill_from_device_array(FieldView* view, PyObject* array, PyObject* dims, PyObject* starts);

void add_gpu(nanobind::module_& module);

}  // namespace fieldforge::gpu
