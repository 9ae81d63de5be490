// Machine code of a chain.
#pragma once

#include <cstdint>
#include <vector>

#include "values.h"
#include "vectors.h"

namespace fieldforge::rows {

// How a chain treats memory: rows that it prefetches, and whether stores go past the caches.
struct Traffic {
    std::vector<int32_t> asked;  // slots
    bool streams = false;
};

// A function of the pointers of a frame, the first lanes of rows and of blocks, the row and the number of
// lanes (`Written` in `program.h`). Empty if it would need more registers than there are.
std::vector<uint8_t> machine_code(Vectors::Class processors, const Straight& straight, const Traffic& traffic);

}  // namespace fieldforge::rows
