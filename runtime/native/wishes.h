// Settings of the running thread for its calls: threads, workspace, recording.
#pragma once

#include <Python.h>

#include <atomic>
#include <cstdint>

namespace fieldforge {

struct Workspace;

// Read at every call. Functions such as `set_threads` change it, context managers restore it.
struct Wishes {
    int threads = 0;                 // 0: none; see `threads_of_call`
    Workspace* workspace = nullptr;  // owned
    PyObject* recording = nullptr;   // borrowed: a sequence that records the calls
    double seconds = 0;              // inside generated code, while calls are timed
};

extern constinit thread_local Wishes wishes;

// The OpenMP runtime that a library was linked with; null functions where it uses none.
struct OpenMP {
    void (*set)(int) = nullptr;
    int (*get)() = nullptr;
};

// Sets the number of OpenMP threads for one call of this thread.
class Team {
   public:
    Team(const OpenMP& openmp, int of_backend);
    ~Team() {
        if (openmp_ != nullptr) openmp_->set(before_);
    }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

   private:
    const OpenMP* openmp_ = nullptr;
    int before_ = 0;
};

// Hooks or metrics are active: prepared calls fall back to the normal call path.
extern std::atomic<bool> is_observed;
// Measure the time in generated code.
extern std::atomic<bool> is_timed;

int add_wishes(PyObject* module);

}  // namespace fieldforge
