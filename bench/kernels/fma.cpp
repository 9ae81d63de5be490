// Nothing but fused multiply-adds in registers: the arithmetic that no kernel can exceed.
//
// Compile with -ffp-contract=fast, so that a * b + c becomes one instruction.

#include <stdint.h>

namespace {

template <typename T>
void fma_loop(T* sink, int64_t rounds) {
  typedef T Vector __attribute__((vector_size(64)));
  constexpr int chains = 12;  // enough in flight to hide the latency of two pipes
#pragma omp parallel
  {
    Vector sums[chains] = {};
    Vector factor = {}, step = {};
    factor += sink[0], step += sink[1];
    for (int64_t n = 0; n < rounds; ++n)
#pragma GCC unroll 12
      for (int c = 0; c < chains; ++c) sums[c] = sums[c] * factor + step;
    Vector total = {};
    for (int c = 0; c < chains; ++c) total += sums[c];
#pragma omp critical
    for (unsigned i = 0; i < 64 / sizeof(T); ++i) sink[2] += total[i];
  }
}

}  // namespace

extern "C" void fma_f64(double* sink, int64_t rounds) { fma_loop(sink, rounds); }
extern "C" void fma_f32(float* sink, int64_t rounds) { fma_loop(sink, rounds); }
