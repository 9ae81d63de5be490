// The lists of patches that a table keeps for later calls.
#pragma once

#include <Python.h>

#include <cstdint>

#include "table.h"

namespace fieldforge {

// What a plan asks: a number of `PatchNumber`, then the order as `Inspection.numbers` has it, where
// tables are arguments of the call, whose objects `leaves` are. The lists stay with argument `table`.
enum class PatchNumber : int32_t { address, patches, shared, size };

// The number, 0 where the nests of the order run one by one: no patch is worth it, the tables do
// not lead everywhere, or the device gives no memory now.
int64_t ask_patches(const Slots& asked, PyObject* const* leaves, int32_t table);

}  // namespace fieldforge
