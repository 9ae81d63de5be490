// The part of `_core` that is the GPU runtime.
#pragma once

#include <nanobind/nanobind.h>

namespace fieldforge {
struct FieldView;
}

namespace fieldforge::gpu {

bool is_device_array(PyObject* object);  // an `Array` of ours that lies on a device
// Sets up a view of an array that offers no buffer; false with a Python error set.
bool fill_from_device_array(FieldView* view, PyObject* array, PyObject* dims, PyObject* starts);

void add_gpu(nanobind::module_& module);

}  // namespace fieldforge::gpu
