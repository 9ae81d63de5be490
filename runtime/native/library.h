// A shared library that stays loaded as long as anything refers to this object.
#pragma once

#include <nanobind/nanobind.h>

namespace fieldforge {

void add_library(nanobind::module_& module);

}  // namespace fieldforge
