// What the running thread has asked for of its calls: threads, memory, to be recorded.
#pragma once

#include <Python.h>

#include <atomic>
#include <cstdint>

namespace fieldforge {

struct Workspace;

// Read at every call; `set_threads` and its like change it, and context managers put it back.
struct Wishes {
    int threads = 0;                 // 0: as many as the program or OpenMP has
    Workspace* workspace = nullptr;  // owned
    PyObject* recording = nullptr;   // borrowed: a sequence that takes down the calls
    double seconds = 0;              // inside generated code, while calls are timed
};

extern constinit thread_local Wishes wishes;

// The OpenMP runtime that a library was linked with; null functions where it uses none.
struct OpenMP {
    void (*set)(int) = nullptr;
    int (*get)() = nullptr;
};

// As many threads as were asked for, for the time of a call; belongs to the thread that calls.
class Team {
   public:
    Team(const OpenMP& openmp, int own);
    ~Team() {
        if (openmp_ != nullptr) openmp_->set(before_);
    }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

   private:
    const OpenMP* openmp_ = nullptr;
    int before_ = 0;
};

// Hooks or metrics are in use: prepared calls go the ordinary way.
extern std::atomic<bool> is_observed;
// Time is taken around generated code.
extern std::atomic<bool> is_timed;

int add_wishes(PyObject* module);

}  // namespace fieldforge
