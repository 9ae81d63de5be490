// A pool of workspace blocks; each running call has its own blocks.
#pragma once

#include <Python.h>

#include <cstddef>
#include <mutex>
#include <vector>

#include "device.h"

namespace fieldforge {

#ifdef Py_GIL_DISABLED
using ArenaLock = std::mutex;
#else
// Calls take and return blocks with the interpreter's lock held; no other lock is needed.
struct ArenaLock {
    void lock() {}
    void unlock() {}
};
#endif

class Arena {
   public:
    explicit Arena(const Device& device, bool adds_memory = false)
        : device_(device), adds_memory_(adds_memory) {}
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena();

    // A block of at least `size` bytes, aligned to a cache line; `data` is null if there is no
    // memory. The contents are whatever the last call left there.
    Block take(size_t size) noexcept;
    void give_back(Block block) noexcept;
    const Device& device() const { return device_; }
    // Whether a call takes memory from here if the workspace of the caller is too small: that has
    // the size which compiled code needs.
    bool adds_memory() const { return adds_memory_; }

   private:
    const Device& device_;
    const bool adds_memory_;
    ArenaLock lock_;
    std::vector<Block> free_;
};

}  // namespace fieldforge
