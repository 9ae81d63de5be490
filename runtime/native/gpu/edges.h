// A log of what orders work on GPUs, for people who look for a missing order.
#pragma once

#include <nanobind/nanobind.h>

namespace fieldforge::gpu {

void add_edges(nanobind::module_& module);

}  // namespace fieldforge::gpu
