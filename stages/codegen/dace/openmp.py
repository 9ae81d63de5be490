"""OpenMP in the C++ that DaCe writes: its flags, and a shortcut for calls on one thread."""

from __future__ import annotations

from typing import Final

THREADS: Final = "-fopenmp"  # for DaCe's pragmas; no other backend uses the threads of OpenMP
WRAPPED: Final = ("-Wl,--wrap=GOMP_parallel",)  # by the function in `ALONE`
# Entering the OpenMP runtime takes 0.4 us, including a system call, even for one thread. Inside a
# parallel region of the caller, the loops would wait for threads that never reach this code.
ALONE: Final = """\
#if !defined(__clang__) && !defined(FIELDFORGE_ALONE)
#define FIELDFORGE_ALONE
extern "C" s32 omp_in_parallel(void) noexcept;
extern "C" s32 omp_get_max_threads(void) noexcept;
extern "C" void __real_GOMP_parallel(void (*)(void*), void*, unsigned, unsigned);
extern "C" __attribute__((visibility("hidden")))
void __wrap_GOMP_parallel(void (*region)(void*), void* data, unsigned count, unsigned flags) {
  const bool alone = (count ? s32(count) : omp_get_max_threads()) == 1 && !omp_in_parallel();
  if (alone) region(data);
  else __real_GOMP_parallel(region, data, count, flags);
}
#endif"""
