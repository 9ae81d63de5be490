// The entry point that fills halos: code of the core in the place of a compiled library.
#pragma once

#include <nanobind/nanobind.h>

namespace fieldforge {

void add_halo(nanobind::module_& module);

}  // namespace fieldforge
