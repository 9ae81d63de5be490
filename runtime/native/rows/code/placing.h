// The machine code of a program in memory.
#pragma once

#include "../program.h"

namespace fieldforge::rows {

// Makes the code of all chains executable; throws std::bad_alloc.
void place_code(Program& program, const std::vector<uint8_t>& code);

}  // namespace fieldforge::rows
