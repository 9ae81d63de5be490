// A threaded copy: the bandwidth that every kernel is held against.

#include <stdint.h>

extern "C" void copy(const double* __restrict source, double* __restrict target, int64_t count) {
#pragma omp parallel for simd schedule(static)
  for (int64_t i = 0; i < count; ++i) target[i] = source[i];
}
