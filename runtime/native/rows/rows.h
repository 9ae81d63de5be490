// Encoded programs run without a compiler: the core interprets them row by row.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "../work.h"

namespace fieldforge::rows {

// The work of an entry if `given` is a `Rows`, else null.
std::unique_ptr<Work> make_work(PyObject* given);

void add_rows(nanobind::module_& module);

}  // namespace fieldforge::rows
