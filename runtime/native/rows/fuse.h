// Joins kernels of a code to chains, so that numbers go from one to the next in registers.
#pragma once

#include "program.h"

namespace fieldforge::rows {

// Replaces kernels by chains wherever the table has links for them, and drops what nothing reads.
void fuse(Nest& nest, const ChainTable& table);

}  // namespace fieldforge::rows
