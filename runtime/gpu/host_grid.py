"""The loops over the threads of a grid, as C++ of the host: how the null platform runs kernels.

Kernels whose threads work together are run by `host_block` instead. A source has PLACE, then either
LOOPS or the texts of `host_block` and `host_shared`; REPORT and WIDE stand before them where they
are needed.
"""

from __future__ import annotations

from typing import Final

# Which thread of which block runs: what the null driver says of one that fails.
# Needs variables 'threadIdx', 'blockIdx', 'blockDim' and 'gridDim', each with x, y and z.
PLACE: Final = """\
extern "C" __attribute__((visibility("default"))) void fieldforge_place(unsigned* six) {
  six[0] = threadIdx.x, six[1] = threadIdx.y, six[2] = threadIdx.z;
  six[3] = blockIdx.x, six[4] = blockIdx.y, six[5] = blockIdx.z;
}
"""
LOOPS: Final = """\
namespace ff_host {
template <typename Kernel>
static void each_thread(const unsigned* grid, const unsigned* block, unsigned,
                        const Kernel& kernel) {
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {block[0], block[1], block[2]};
  for (blockIdx.z = 0; blockIdx.z < grid[2]; ++blockIdx.z)
  for (blockIdx.y = 0; blockIdx.y < grid[1]; ++blockIdx.y)
  for (blockIdx.x = 0; blockIdx.x < grid[0]; ++blockIdx.x)
  for (threadIdx.z = 0; threadIdx.z < block[2]; ++threadIdx.z)
  for (threadIdx.y = 0; threadIdx.y < block[1]; ++threadIdx.y)
  for (threadIdx.x = 0; threadIdx.x < block[0]; ++threadIdx.x) kernel();
}
}  // namespace ff_host
"""
# How a kernel tells the null driver what is wrong; the driver keeps the first.
REPORT: Final = """\
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
extern "C" {
__attribute__((visibility("default"))) void (*fieldforge_report)(const char*) = nullptr;
}
namespace ff_host {
static thread_local bool failed = false;
static inline unsigned own_number() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
__attribute__((format(printf, 1, 2))) static void report(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (fieldforge_report != nullptr) fieldforge_report(text);
  else if (!failed) fprintf(stderr, "%s\\n", text);
  failed = true;
}
}  // namespace ff_host
"""
# Several values at once. It follows REPORT.
WIDE: Final = """\
namespace ff {
template <typename T, int N> struct alignas(N * sizeof(T)) pack {
  T value[N];
  T& operator[](int i) { return value[i]; }
  const T& operator[](int i) const { return value[i]; }
};
static inline bool is_aligned(const void* p, size_t bytes, int line) {
  if ((size_t)p % bytes == 0) return true;
  ff_host::report("Thread %u uses in line %d %zu bytes at once at an address that is no multiple "
                  "of it.", ff_host::own_number(), line, bytes);
  return false;
}
template <int N, typename T> static pack<T, N> load(const T* from, int line = __builtin_LINE()) {
  pack<T, N> made;
  is_aligned(from, sizeof made, line);
  memcpy(&made, from, sizeof made);
  return made;
}
template <int N, typename T>
static void store(T* to, const pack<T, N>& values, int line = __builtin_LINE()) {
  is_aligned(to, sizeof values, line);
  memcpy(to, &values, sizeof values);
}
}  // namespace ff
"""
