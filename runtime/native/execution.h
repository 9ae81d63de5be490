// Run an entry with prepared arguments: memory, snapshots, threads, without the interpreter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "arena.h"
#include "overlap.h"
#include "refusal.h"
#include "wishes.h"

namespace fieldforge {

struct Entry;

// An argument that is copied before the call, or before one of its statements, because what the call
// writes and what it reads share memory. What the statement writes to the copy of an output is copied
// back after it.
struct Copy {
    const void* from;
    int32_t slot;
    size_t size;
    size_t offset;
    int64_t step;  // the statement, from 1 on; 0: all of the call
    std::vector<Part> written = {};  // of an output; disjoint from all else that is written
};

struct Words {
    const void** pointers;  // changed where there are copies
    const int64_t* ints;
    const void* scalars;
    const Copy* copies;
    size_t copy_count;
    int64_t* step = nullptr;  // the integer that selects a statement, if they run one at a time
    int64_t steps = 0;        // how many statements there are
};

// Whether the caller has brought a workspace that lies in the bytes low..high.
bool meets_workspace(uintptr_t low, uintptr_t high);

// The memory of one call in flight. Made and destroyed with the interpreter's lock held.
class Lease {
   public:
    Lease(Arena& arena, int64_t workspace, size_t copied) : arena_(arena) {
        if (workspace > 0 || copied > 0) take(workspace, copied);
    }
    ~Lease() {
        if (is_used_) give_back();
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    // Set if there is no memory.
    const Refusal& refusal() const { return refusal_; }
    std::byte* workspace() const { return data_; }
    std::byte* snapshots() const { return snapshots_.data; }

   private:
    void take(int64_t workspace, size_t copied);
    void give_back();

    Arena& arena_;
    bool is_used_ = false;
    Block own_, snapshots_;
    Workspace* theirs_ = nullptr;
    std::byte* data_ = nullptr;
    Refusal refusal_;
};

// Makes `place` that of a call; false with a Python error set.
inline bool settle(const Device& device, const Place& of_call) {
    if (device.settle == nullptr) return true;
    place = of_call;
    return device.settle();
}

// Calls an entry and returns its status; the interpreter's lock need not be held.
int32_t execute(const Entry& entry, const Words& words, const Lease& memory);

// Turns what `execute` returned into a refusal. If the device failed, the Python error is set, and
// whoever would put the refusal into words leaves it as it is.
Refusal refusal_of_failure(int32_t status);

inline Refusal refusal_of(int32_t status) {
    return status == 0 ? Refusal{} : refusal_of_failure(status);
}

}  // namespace fieldforge
