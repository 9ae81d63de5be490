// GPUs as devices that entries run on.
#pragma once

#include "../device.h"
#include "platform.h"

namespace fieldforge::gpu {

// The device of a platform whose context is current, else the first; asks no Python.
Device& at_hand(Platform& platform);

// Lets entries of this process run on GPUs of a kind, as DLPack numbers them.
void add_program_device(int32_t type);

}  // namespace fieldforge::gpu
