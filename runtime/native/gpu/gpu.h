// The part of `_core` that is the GPU runtime.
#pragma once

#include <nanobind/nanobind.h>

namespace fieldforge {
struct FieldView;
}

namespace fieldforge::gpu {

bool is_device_array(PyObject* object);  // of any library; one whose memory no buffer lends
bool is_own_array(PyObject* object);
// Sets up a view of an array that offers no buffer; false with a Python error set.
bool fill_from_device_array(FieldView* view, PyObject* array, PyObject* dims, PyObject* starts);

void add_gpu(nanobind::module_& module);

}  // namespace fieldforge::gpu
