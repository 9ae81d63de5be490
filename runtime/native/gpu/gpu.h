// The part of `_core` that is the GPU runtime.
#pragma once

#include <nanobind/nanobind.h>

namespace fieldforge::gpu {

void add_gpu(nanobind::module_& module);

}  // namespace fieldforge::gpu
