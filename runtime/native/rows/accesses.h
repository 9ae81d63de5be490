// What follows from the accesses of a nest, once for all calls.
#pragma once

#include "program.h"

namespace fieldforge::rows {

// Finds the rows to prefetch, accesses that lie equally far apart, those that follow from indices of
// loops, and whether points may be computed twice.
void look_at_accesses(Nest& nest, const std::vector<Buffer>& buffers);

}  // namespace fieldforge::rows
