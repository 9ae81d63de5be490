// What differs between devices when an entry is called: memory, copies, the context.
#pragma once

#include <cstddef>
#include <cstdint>

#include "context.h"

namespace fieldforge {

struct Block {
    std::byte* data = nullptr;
    size_t size = 0;
};

constexpr int32_t device_cpu = 1;  // the numbers of DLPack

struct Device {
    int32_t type;
    // At least `size` bytes, aligned to a cache line; `data` is null if there is no memory.
    Block (*allocate)(size_t size) noexcept;
    void (*release)(Block block) noexcept;
    // Copies memory of the device, in the order of the context's stream.
    void (*copy)(void* to, const void* from, size_t size, const Context& context) noexcept;
    const Context* context;  // the same for every call; null: ask `current`
    const Context* (*current)(Context& room) noexcept;  // may fill `room` and return it
    // Work is queued and memory comes and goes in the order of the current stream, so that no
    // block is kept for the next call, which may use another one.
    bool queues = false;
};

// What was measured of this machine; calls read it while nobody writes it.
extern Machine host_machine;

// Memory of the host; nothing is queued.
extern const Device host_device;

// The device that entries of a DLPack number run on; null if this process has none.
const Device* find_device(int32_t type) noexcept;

// Lets entries run on another device, which lives as long as the process. Call it while the
// process starts to use the device, with the interpreter's lock held.
void add_device(const Device& device) noexcept;

}  // namespace fieldforge
