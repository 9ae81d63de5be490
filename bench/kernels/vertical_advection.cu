// Hand-written implicit vertical advection for GPUs: one thread a column, columns side by side.
//
// The coefficients, both sweeps and the tendency in one pass; what the sweep back needs is in shared
// memory. Pointers are to the first cell of the core. Compile with -DREAL=double or float and
// -DLEVELS=80 (a multiple of 16). `vertical_advection` loads AHEAD levels before their use to
// registers: blocks of 64 threads with 2 * LEVELS * 64 * sizeof(REAL) bytes of shared memory.
// `landing` brings u, the tendency and u_before by asynchronous copies, LATER rounds of AHEAD levels
// ahead, to where c', d' and u_before will be; only the wind comes in registers, twice AHEAD levels
// ahead. Blocks of 32 threads, 3 * LEVELS * 32 * sizeof(REAL) bytes.

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

constexpr int FEW = 32, LATER = 2;

__device__ __forceinline__ void copied(REAL* to, const REAL* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(
                   (unsigned)__cvta_generic_to_shared(to)),
               "l"(from), "n"((int)sizeof(REAL))
               : "memory");
}

extern "C" __global__ void __launch_bounds__(FEW) landing(
    const REAL* __restrict__ u, const REAL* __restrict__ before, const REAL* __restrict__ w,
    const REAL* __restrict__ tendency, REAL* __restrict__ out, REAL per_step, int ni,
    long long row, long long plane, long long w_row, long long w_plane) {
  const int i = blockIdx.x * FEW + threadIdx.x;
  if (i >= ni) return;
  const long long at = blockIdx.y * row + i, w_at = blockIdx.y * w_row + i;
  REAL* cp = (REAL*)room + threadIdx.x;
  REAL* dp = cp + LEVELS * FEW;
  REAL* old = dp + LEVELS * FEW;
  const auto land = [&](int first) {
    if (first < LEVELS) {
#pragma unroll
      for (int n = 0; n < AHEAD; ++n) {
        const int k = first + n, below = k + 1 < LEVELS ? k + 1 : k;
        copied(cp + k * FEW, u + at + below * plane);
        copied(dp + k * FEW, tendency + at + k * plane);
        copied(old + k * FEW, before + at + k * plane);
      }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  REAL next[2][2 * AHEAD];
  const auto load = [&](int first) {
#pragma unroll
    for (int n = 0; n < 2 * AHEAD; ++n) {
      const REAL* from = w + w_at + (first + n + 1) * w_plane;
      next[0][n] = __ldcs(from), next[1][n] = __ldcs(from + 1);
    }
  };
  load(0);
#pragma unroll
  for (int round = 0; round < LATER; ++round) land(round * AHEAD);
  REAL above_c = 0, above_d = 0, up = 0, here = u[at], from_above = 0;
#pragma unroll 1
  for (int begin = 0; begin < LEVELS; begin += 2 * AHEAD) {
    REAL wind[2][2 * AHEAD];
#pragma unroll
    for (int n = 0; n < 2 * AHEAD; ++n) wind[0][n] = next[0][n], wind[1][n] = next[1][n];
    if (begin + 2 * AHEAD < LEVELS) load(begin + 2 * AHEAD);
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const int first = begin + part * AHEAD;
      land(first + LATER * AHEAD);
      asm volatile("cp.async.wait_group %0;" ::"n"(LATER) : "memory");
      REAL now[3][AHEAD];
#pragma unroll
      for (int n = 0; n < AHEAD; ++n) {
        const int k = (first + n) * FEW;
        now[0][n] = cp[k], now[1][n] = dp[k], now[2][n] = old[k];
      }
#pragma unroll
      for (int n = 0; n < AHEAD; ++n) {
        const int k = first + n, m = part * AHEAD + n;
        const REAL down = k < LEVELS - 1 ? REAL(0.25) * (wind[1][m] + wind[0][m]) : REAL(0);
        const REAL from_below = down * (now[0][n] - here);
        const REAL a = -NEW * up, c = NEW * down, b = per_step - a - c;
        const REAL d = per_step * now[2][n] + now[1][n] - OLD * (from_above + from_below);
        const REAL inverse = REAL(1) / (b - a * above_c);
        above_c = c * inverse;
        above_d = (d - a * above_d) * inverse;
        cp[k * FEW] = above_c;
        dp[k * FEW] = above_d;
        up = down, here = now[0][n], from_above = from_below;
      }
    }
  }
  REAL below = 0;
#pragma unroll 8
  for (int k = LEVELS - 1; k >= 0; --k) {
    below = dp[k * FEW] - cp[k * FEW] * below;
    __stcs(out + at + k * plane, per_step * (below - old[k * FEW]));
  }
}
