// Sleep until a word changes: the futex of Linux, elsewhere what the standard library has.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace fieldforge {

// Returns when somebody wakes sleepers at `word`, at once if it is not `expected`, or for no reason.
inline void sleep_on(std::atomic<uint32_t>& word, uint32_t expected) noexcept {
#if defined(__linux__)
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
#else
    word.wait(expected, std::memory_order_acquire);
#endif
}

inline void wake(std::atomic<uint32_t>& word) noexcept {
#if defined(__linux__)
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
#else
    word.notify_all();
#endif
}

// Tells the processor that this thread only waits.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace fieldforge
