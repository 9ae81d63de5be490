// The interpreter's lock: released for the time of a block, or taken by a thread that may lack it.
//
// While the interpreter shuts down, CPython up to 3.13 ends a thread that asks for the lock by
// `pthread_exit`. That unwinds the stack, through functions that are `noexcept` and destructors that
// need the lock. Here such a thread sleeps until the process ends, as CPython 3.14 lets it.
#pragma once

#include <Python.h>
#include <unistd.h>

namespace fieldforge {

[[noreturn, gnu::cold, gnu::noinline]] inline void sleep_until_exit() {
    for (;;) pause();
}

// Runs a function of Python that may take the lock anew; `body` throws nothing of its own.
template <typename F>
[[gnu::always_inline]] inline auto sleep_at_exit(const F& body) noexcept -> decltype(body()) {
    try {
        return body();
    } catch (...) {
        sleep_until_exit();
    }
}

class LockReleased {
   public:
    [[gnu::always_inline]] LockReleased() : thread_(PyEval_SaveThread()) {}
    [[gnu::always_inline]] ~LockReleased() {
        sleep_at_exit([this] { PyEval_RestoreThread(thread_); });
    }
    LockReleased(const LockReleased&) = delete;
    LockReleased& operator=(const LockReleased&) = delete;

   private:
    PyThreadState* thread_;
};

class LockTaken {
   public:
    LockTaken() : before_(sleep_at_exit(PyGILState_Ensure)) {}
    ~LockTaken() { PyGILState_Release(before_); }
    LockTaken(const LockTaken&) = delete;
    LockTaken& operator=(const LockTaken&) = delete;

   private:
    PyGILState_STATE before_;
};

}  // namespace fieldforge
