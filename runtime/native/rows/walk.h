// The loops of an encoded program in one call.
#pragma once

#include "../context.h"
#include "frame.h"

namespace fieldforge::rows {

// Runs all of a program, or the statement that the call selects.
void run_program(const Program& program, const void* const* pointers, const int64_t* ints,
                 const void* scalars, char* arena, const Context& context);

}  // namespace fieldforge::rows
