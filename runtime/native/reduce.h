// Reduce the elements of an array to one number, in an order that threads do not change.
#pragma once

#include <nanobind/nanobind.h>

namespace fieldforge {

void add_reduce(nanobind::module_& module);

}  // namespace fieldforge
