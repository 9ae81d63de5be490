// The number on a device in which the kernels of a checked call note what they found.
#pragma once

#include <cstdint>
#include <vector>

#include "objects.h"

namespace fieldforge::gpu {

// Allocates the number; it starts as the count of `codes`, which means that nothing was found.
Address new_status(Device& device, const std::vector<int32_t>& codes, Handle stream);

// Waits for the kernels, frees the number, and returns the code that it stands for, or 0.
int32_t wait_for_status(Device& device, Address status, const std::vector<int32_t>& codes,
                        Handle stream);

}  // namespace fieldforge::gpu
