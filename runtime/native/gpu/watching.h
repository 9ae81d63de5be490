// What people ask to know of calls on GPUs: where one fails, how long it takes, its range in a profile.
#pragma once

#include <atomic>

#include "objects.h"

namespace fieldforge::gpu {

// Wait after each kernel, so that the error of a kernel names it and its program.
extern std::atomic<bool> waits_for_kernels;

// The marker library of a profiler; null functions where there is none.
struct Ranges {
    int (*push)(const char* name) = nullptr;
    int (*pop)() = nullptr;
};
extern std::atomic<const Ranges*> ranges;  // null: nothing is marked

// Marks a block in the profile of this thread.
class Range {
   public:
    explicit Range(const char* name) : ranges_(ranges.load(std::memory_order_acquire)) {
        if (ranges_ != nullptr) ranges_->push(name);
    }
    ~Range() {
        if (ranges_ != nullptr) ranges_->pop();
    }
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

   private:
    const Ranges* ranges_;
};

// Takes the time between two points of a stream while calls are timed.
class Stopwatch {
   public:
    Stopwatch(Device& device, Handle stream);
    ~Stopwatch();
    // Waits for the second point; the seconds are those of `kernel_seconds` of this thread.
    void stop();
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

   private:
    Device& device_;
    Handle stream_, begin_ = nullptr, end_ = nullptr;
};

void add_watching(nb::module_& module);

}  // namespace fieldforge::gpu
