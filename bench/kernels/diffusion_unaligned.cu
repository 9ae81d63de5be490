// Hand-written horizontal diffusion for rows that do not begin at multiples of 16 bytes.
//
// HOW 1: the thread of `diffusion.cu`, 16 bytes of points along i and two rows of j, with single
// accesses. HOW 2: aligned loads of 16 bytes, shifted in registers; single stores. HOW 3: one point
// along i and two rows a thread. Pointers are to the first cell of the core, `row` and `plane` are
// strides. Compile with -DREAL=double or -DREAL=float; blocks of 32 x 4 threads, grid z is the level.

constexpr int P = HOW == 3 ? 1 : 16 / sizeof(REAL);
struct alignas(16) Pack { REAL at[16 / sizeof(REAL)]; };
template <int N> __device__ __forceinline__ void row_of(REAL (&x)[N], const REAL* from) {  // x[n] = from[n]
#if HOW == 2
  constexpr int W = 16 / sizeof(REAL), C = (N + W - 1) / W + 1;
  const int s = int((unsigned long long)from / sizeof(REAL) % W);
  const REAL* base = from - s;
  REAL y[C * W];
#pragma unroll
  for (int c = 0; c < C; ++c) {
    Pack p = {};
    if (c * W < N + s) p = *(const Pack*)(base + c * W);
#pragma unroll
    for (int n = 0; n < W; ++n) y[c * W + n] = p.at[n];
  }
#pragma unroll
  for (int n = 0; n < N; ++n) {
    if (W == 2) x[n] = s ? y[n + 1] : y[n];
    else { const REAL l = s & 1 ? y[n + 1] : y[n], h = s & 1 ? y[n + 3] : y[n + 2]; x[n] = s & 2 ? h : l; }
  }
#else
#pragma unroll
  for (int n = 0; n < N; ++n) x[n] = from[n];
#endif
}
extern "C" __global__ void __launch_bounds__(128) diffusion(
    const REAL* __restrict__ u, const REAL* __restrict__ coeff, REAL* __restrict__ out, int ni,
    int nj, long long u_row, long long u_plane, long long row, long long plane) {
  int i = (blockIdx.x * 32 + threadIdx.x) * P;
  const int j = (blockIdx.y * 4 + threadIdx.y) * 2;
  if (j >= nj || i >= ni) return;
  const auto lim = [](REAL flux, REAL rise) { return flux * rise > REAL(0) ? REAL(0) : flux; };
  const int whole = i + P <= ni ? P : ni - i;
  REAL x[6][P + 4];
  const REAL* from = u + blockIdx.z * u_plane + j * u_row + i;
#pragma unroll
  for (int m = 0; m < 6; ++m) {
    const REAL* at = from + (m - 2) * u_row;
    if (m == 0 || m == 5) {
      REAL y[P]; row_of(y, at);
#pragma unroll
      for (int n = 0; n < P; ++n) x[m][n + 2] = y[n];
    } else row_of(x[m], at - 2);
  }
  const auto lap = [&](int m, int n) {
    return REAL(4) * x[m][n] - (x[m][n + 1] + x[m][n - 1] + x[m + 1][n] + x[m - 1][n]);
  };
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int m = r + 2;
    const long long to = blockIdx.z * plane + (j + r) * row + i;
    REAL by[P]; row_of(by, coeff + to);
#pragma unroll
    for (int n = 0; n < P; ++n) {
      const int c = n + 2;
      const REAL here = lap(m, c);
      const REAL east = lim(lap(m, c + 1) - here, x[m][c + 1] - x[m][c]);
      const REAL west = lim(here - lap(m, c - 1), x[m][c] - x[m][c - 1]);
      const REAL north = lim(lap(m + 1, c) - here, x[m + 1][c] - x[m][c]);
      const REAL south = lim(here - lap(m - 1, c), x[m][c] - x[m - 1][c]);
      by[n] = x[m][c] - by[n] * (east - west + north - south);
    }
    if (j + r < nj) {
#pragma unroll
      for (int n = 0; n < P; ++n) if (n < whole) out[to + n] = by[n];
    }
  }
}
