// Hand-written implicit vertical advection for GPUs: one thread a column, columns side by side.
//
// The coefficients, both sweeps and the tendency in one pass; what the sweep back needs is in shared
// memory, loads run AHEAD levels before their use. Pointers are to the first cell of the core.
// Compile with -DREAL=double or float and -DLEVELS=80 (a multiple of AHEAD); blocks of 64 threads
// with 2 * LEVELS * 64 * sizeof(REAL) bytes of shared memory.

#ifndef AHEAD
#define AHEAD 8
#endif
constexpr int THREADS = 64;
constexpr REAL NEW = 0.5 * (1.0 + 0.2), OLD = 0.5 * (1.0 - 0.2);
extern __shared__ char room[];

extern "C" __global__ void __launch_bounds__(THREADS) vertical_advection(
    const REAL* __restrict__ u, const REAL* __restrict__ before, const REAL* __restrict__ w,
    const REAL* __restrict__ tendency, REAL* __restrict__ out, REAL per_step, int ni,
    long long row, long long plane, long long w_row, long long w_plane) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= ni) return;
  const long long at = blockIdx.y * row + i, w_at = blockIdx.y * w_row + i;
  REAL* cp = (REAL*)room + threadIdx.x;
  REAL* dp = cp + LEVELS * THREADS;
  REAL next[5][AHEAD];  // u and the wind of the level below, the others of the level
  const auto load = [&](int first) {
#pragma unroll
    for (int n = 0; n < AHEAD; ++n) {
      const int k = first + n, below = k + 1 < LEVELS ? k + 1 : k;
      next[0][n] = u[at + below * plane];
      next[1][n] = w[w_at + (k + 1) * w_plane], next[2][n] = w[w_at + (k + 1) * w_plane + 1];
      next[3][n] = before[at + k * plane], next[4][n] = tendency[at + k * plane];
    }
  };
  load(0);
  REAL above_c = 0, above_d = 0, up = 0, here = u[at], from_above = 0;
#pragma unroll 1
  for (int first = 0; first < LEVELS; first += AHEAD) {
    REAL now[5][AHEAD];
#pragma unroll
    for (int n = 0; n < AHEAD; ++n)
      for (int f = 0; f < 5; ++f) now[f][n] = next[f][n];
    if (first + AHEAD < LEVELS) load(first + AHEAD);
#pragma unroll
    for (int n = 0; n < AHEAD; ++n) {
      const int k = first + n;
      const REAL down = k < LEVELS - 1 ? REAL(0.25) * (now[2][n] + now[1][n]) : REAL(0);
      const REAL from_below = down * (now[0][n] - here);
      const REAL a = -NEW * up, c = NEW * down, b = per_step - a - c;
      const REAL d = per_step * now[3][n] + now[4][n] - OLD * (from_above + from_below);
      const REAL inverse = REAL(1) / (b - a * above_c);
      above_c = c * inverse;
      above_d = (d - a * above_d) * inverse;
      cp[k * THREADS] = above_c;
      dp[k * THREADS] = above_d;
      up = down, here = now[0][n], from_above = from_below;
    }
  }
  REAL below = 0;
#pragma unroll 8
  for (int k = LEVELS - 1; k >= 0; --k) {
    below = dp[k * THREADS] - cp[k * THREADS] * below;
    out[at + k * plane] = per_step * (below - before[at + k * plane]);
  }
}
