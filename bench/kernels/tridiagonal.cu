// Hand-written tridiagonal solve for GPUs: one thread a column, columns side by side in memory.
//
// What the sweep back needs is in shared memory; loads run AHEAD levels before their use, in
// registers. Compile with -DREAL=double or float and -DLEVELS=80 (a multiple of AHEAD); blocks of
// 64 threads with 2 * LEVELS * 64 * sizeof(REAL) bytes of shared memory.

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
