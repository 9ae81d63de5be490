// Work that stands in for compiled code: its runs are counted and timed, until Python builds that.
#pragma once

#include <Python.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "work.h"

namespace fieldforge {

class FirstTier final : public Work {
   public:
    // Calls `ask`, which the entry owns, once the runs have taken `after` seconds, and again whenever
    // that time has doubled.
    FirstTier(std::unique_ptr<Work> work, PyObject* ask, double after);

    int32_t run(const Words& words, std::byte* arena, const Context& context) noexcept override;

    int64_t calls() const { return calls_.load(std::memory_order_relaxed); }
    double seconds() const;

   private:
    using Nanoseconds = int64_t;

    const std::unique_ptr<Work> work_;
    PyObject* const ask_;
    std::atomic<int64_t> calls_{0};
    std::atomic<Nanoseconds> ran_{0};
    std::atomic<Nanoseconds> due_;
};

}  // namespace fieldforge
