// Joins kernels of a code to chains, so that numbers go from one to the next in registers.
#pragma once

#include "program.h"

namespace fieldforge::rows {

// Replaces kernels by chains wherever the table has links for them, and drops what nothing reads. If the
// table writes machine code, that of the chains is added to `code`.
void fuse(Nest& nest, const KernelTable& table, std::vector<uint8_t>& code);

}  // namespace fieldforge::rows
