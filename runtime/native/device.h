// What differs between devices when an entry is called: memory, copies, the context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "context.h"

namespace fieldforge {

struct Block {
    std::byte* data = nullptr;
    size_t size = 0;
};

constexpr int32_t device_cpu = 1;  // the numbers of DLPack

// Where the call that this thread makes runs: which of several devices, and the libraries whose
// arrays its arguments are. With `stream`, work goes there in place of the current stream.
struct Place {
    int32_t device_id = 0;
    uint8_t libraries = 0;
    void* stream = nullptr;
};
extern constinit thread_local Place place;

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
    // Completes `place` for a call, with the interpreter's lock held; false with a Python error
    // set. Null: there is nothing to choose.
    bool (*settle)() = nullptr;
    // Before and after a call with memory of the caller: lets it wait for the last use on another
    // stream, and becomes the last use; false if the device refuses.
    bool (*lend)(std::shared_ptr<void>& last, bool begins) noexcept = nullptr;
    // Lets `body` queue work on a stream of its own, and makes one thing of it that `launch` queues
    // on the stream of a call; null, perhaps with a Python error set, if `body` or the device
    // refuses. What `body` allocates, at most `size` bytes at a time, is shared by all that is
    // captured for one stream. Neither is for a stream that the user `captures`.
    std::shared_ptr<void> (*capture)(bool (*body)(void* data, void* stream), void* data,
                                     size_t size) = nullptr;
    bool (*launch)(void* captured) = nullptr;  // false with a Python error set
    bool (*captures)() noexcept = nullptr;     // of the stream of this thread's calls
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
