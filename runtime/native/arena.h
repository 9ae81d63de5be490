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
    explicit Arena(const Device& device) : device_(device) {}
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena();

    // A block of at least `size` bytes, aligned to a cache line; `data` is null if there is no
    // memory. The contents are whatever the last call left there.
    Block take(size_t size) noexcept;
    void give_back(Block block) noexcept;
    const Device& device() const { return device_; }

   private:
    const Device& device_;
    ArenaLock lock_;
    std::vector<Block> free_;
};

}  // namespace fieldforge
