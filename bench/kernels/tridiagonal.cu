// Hand-written tridiagonal solve for GPUs: one thread a column, columns side by side in memory.
//
// What the sweep back needs is in shared memory; loads run AHEAD levels before their use, in
// registers. Compile with -DREAL=double or float and -DLEVELS=80 (a multiple of AHEAD); blocks of
// 64 threads with 2 * LEVELS * 64 * sizeof(REAL) bytes of shared memory. `blocks` is for columns that
// do not fit: levels before SPLIT (a multiple of 10, as LEVELS) of what the sweep back needs go to
// arrays, and their lines leave the caches unwritten once they are read back; i = 0 and rows begin at
// multiples of 128 bytes. Blocks of 32 threads, 2 * (LEVELS - SPLIT) * 32 * sizeof(REAL) bytes.

#ifndef AHEAD
#define AHEAD 8
#endif
constexpr int THREADS = 64;
extern __shared__ char room[];

extern "C" __global__ void __launch_bounds__(THREADS) tridiagonal(
    const REAL* __restrict__ a, const REAL* __restrict__ b, const REAL* __restrict__ c,
    const REAL* __restrict__ d, REAL* __restrict__ x, int ni, long long row, long long plane) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= ni) return;
  const long long at = blockIdx.y * row + i;
  REAL* cp = (REAL*)room + threadIdx.x;
  REAL* dp = cp + LEVELS * THREADS;
  REAL next[4][AHEAD];
#pragma unroll
  for (int n = 0; n < AHEAD; ++n) {
    const long long k = at + n * plane;
    next[0][n] = a[k], next[1][n] = b[k], next[2][n] = c[k], next[3][n] = d[k];
  }
  REAL above_c = 0, above_d = 0;
#pragma unroll 1
  for (int first = 0; first < LEVELS; first += AHEAD) {
    REAL now[4][AHEAD];
#pragma unroll
    for (int n = 0; n < AHEAD; ++n)
      for (int f = 0; f < 4; ++f) now[f][n] = next[f][n];
    if (first + AHEAD < LEVELS) {
#pragma unroll
      for (int n = 0; n < AHEAD; ++n) {
        const long long k = at + (first + AHEAD + n) * plane;
        next[0][n] = a[k], next[1][n] = b[k], next[2][n] = c[k], next[3][n] = d[k];
      }
    }
#pragma unroll
    for (int n = 0; n < AHEAD; ++n) {
      const REAL pivot = now[1][n] - now[0][n] * above_c;
      above_c = now[2][n] / pivot;
      above_d = (now[3][n] - now[0][n] * above_d) / pivot;
      cp[(first + n) * THREADS] = above_c;
      dp[(first + n) * THREADS] = above_d;
    }
  }
  REAL below = 0;
#pragma unroll 8
  for (int k = LEVELS - 1; k >= 0; --k) {
    below = dp[k * THREADS] - cp[k * THREADS] * below;
    x[at + k * plane] = below;
  }
}

#ifdef SPLIT
constexpr int FEW = 32, TEN = 10;

__device__ __forceinline__ void forgotten(const REAL* line) {
  if (((unsigned long long)line & 127) == 0)
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(line) : "memory");
}

extern "C" __global__ void __launch_bounds__(FEW) blocks(
    const REAL* __restrict__ a, const REAL* __restrict__ b, const REAL* __restrict__ c,
    const REAL* __restrict__ d, REAL* __restrict__ x, REAL* far_c, REAL* far_d, int ni,
    long long row, long long plane) {
  const int i = blockIdx.x * FEW + threadIdx.x;
  if (i >= ni) return;
  const long long at = blockIdx.y * row + i;
  REAL* cp = (REAL*)room + threadIdx.x;
  REAL* dp = cp + (LEVELS - SPLIT) * FEW;
  REAL next[4][TEN];
  const auto load = [&](int first) {
#pragma unroll
    for (int n = 0; n < TEN; ++n) {
      const long long k = at + (first + n) * plane;
      next[0][n] = __ldcs(a + k), next[1][n] = __ldcs(b + k);
      next[2][n] = __ldcs(c + k), next[3][n] = __ldcs(d + k);
    }
  };
  load(0);
  REAL above_c = 0, above_d = 0;
#pragma unroll 1
  for (int first = 0; first < LEVELS; first += TEN) {
    REAL now[4][TEN];
#pragma unroll
    for (int n = 0; n < TEN; ++n)
      for (int f = 0; f < 4; ++f) now[f][n] = next[f][n];
    if (first + TEN < LEVELS) load(first + TEN);
#pragma unroll
    for (int n = 0; n < TEN; ++n) {
      const int k = first + n;
      const REAL inverse = REAL(1) / (now[1][n] - now[0][n] * above_c);
      above_c = now[2][n] * inverse;
      above_d = (now[3][n] - now[0][n] * above_d) * inverse;
      if (k < SPLIT) {
        far_c[at + k * plane] = above_c, far_d[at + k * plane] = above_d;
      } else {
        cp[(k - SPLIT) * FEW] = above_c, dp[(k - SPLIT) * FEW] = above_d;
      }
    }
  }
  REAL below = 0;
#pragma unroll 8
  for (int k = LEVELS - 1; k >= SPLIT; --k) {
    below = dp[(k - SPLIT) * FEW] - cp[(k - SPLIT) * FEW] * below;
    __stcs(x + at + k * plane, below);
  }
  REAL back[2][TEN];
  const auto fetch = [&](int last) {
#pragma unroll
    for (int n = 0; n < TEN; ++n) {
      const long long k = at + (last - n) * plane;
      back[0][n] = far_c[k], back[1][n] = far_d[k];
    }
  };
  fetch(SPLIT - 1);
#pragma unroll 1
  for (int last = SPLIT - 1; last >= 0; last -= TEN) {
    REAL now[2][TEN];
#pragma unroll
    for (int n = 0; n < TEN; ++n) now[0][n] = back[0][n], now[1][n] = back[1][n];
    if (last >= TEN) fetch(last - TEN);
#pragma unroll
    for (int n = 0; n < TEN; ++n) {
      const long long k = at + (last - n) * plane;
      below = now[1][n] - now[0][n] * below;
      __stcs(x + k, below);
      forgotten(far_c + k), forgotten(far_d + k);
    }
  }
}
#endif
