// What an entry runs in place of a function of a library: kernels of a device, in order.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "context.h"

namespace fieldforge {

struct Words;

class Work {
   public:
    virtual ~Work() = default;
    // Queues the work of one call; the interpreter's lock need not be held. Returns 0, a code of
    // the plan, or `work_failed`: then this thread has kept an error for `raise_failure`.
    virtual int32_t run(const Words& words, std::byte* arena, const Context& context) noexcept = 0;
};

constexpr int32_t work_failed = -1;

// Makes the error that `run` kept the Python error of this thread.
void raise_failure();

// The entry point of generated code: see `runtime/calls/plan.py`.
using EntryPoint = int32_t (*)(const void* const* pointers, const int64_t* ints,
                               const void* scalars, void* arena, const Context* context);

// The launches of a Python plan, on the module that is made of `image`; those that the entry point
// at `address` queues itself, if the plan has none; null if all runs on the host.
// Throws nanobind::python_error or std::invalid_argument.
std::unique_ptr<Work> make_work(PyObject* plan, PyObject* image, EntryPoint address);

}  // namespace fieldforge
