// Hand-written horizontal diffusion for GPUs: what generated kernels are measured against.
//
// Each thread has 16 bytes of points along i and two rows of j; the rows of u with two more on each
// side are in registers. Pointers are to the first cell of the core, `row` and `plane` are strides.
// Compile with -DREAL=double or -DREAL=float; blocks of 32 x 4 threads, grid z is the level.

constexpr int P = 16 / sizeof(REAL);
struct alignas(16) Pack { REAL at[P]; };
struct alignas(2 * sizeof(REAL)) Pair { REAL at[2]; };

extern "C" __global__ void __launch_bounds__(128) diffusion(
    const REAL* __restrict__ u, const REAL* __restrict__ coeff, REAL* __restrict__ out, int ni,
    int nj, long long u_row, long long u_plane, long long row, long long plane) {
  const int i = (blockIdx.x * 32 + threadIdx.x) * P, j = (blockIdx.y * 4 + threadIdx.y) * 2;
  if (i >= ni || j >= nj) return;
  const REAL* from = u + blockIdx.z * u_plane + j * u_row + i;
  REAL x[6][P + 4];  // rows j - 2 .. j + 3, columns i - 2 .. i + P + 1
#pragma unroll
  for (int m = 0; m < 6; ++m) {
    const REAL* at = from + (m - 2) * u_row;
    const Pack middle = *(const Pack*)at;
#pragma unroll
    for (int n = 0; n < P; ++n) x[m][n + 2] = middle.at[n];
    if (m > 0 && m < 5) {
      const Pair left = *(const Pair*)(at - 2), right = *(const Pair*)(at + P);
      x[m][0] = left.at[0], x[m][1] = left.at[1];
      x[m][P + 2] = right.at[0], x[m][P + 3] = right.at[1];
    }
  }
  const auto lap = [&](int m, int n) {
    return REAL(4) * x[m][n] - (x[m][n + 1] + x[m][n - 1] + x[m + 1][n] + x[m - 1][n]);
  };
  const auto limited = [](REAL flux, REAL rise) { return flux * rise > REAL(0) ? REAL(0) : flux; };
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int m = r + 2;
    const long long to = blockIdx.z * plane + (j + r) * row + i;
    const Pack by = *(const Pack*)(coeff + to);
    Pack result;
#pragma unroll
    for (int n = 0; n < P; ++n) {
      const int c = n + 2;
      const REAL here = lap(m, c);
      const REAL east = limited(lap(m, c + 1) - here, x[m][c + 1] - x[m][c]);
      const REAL west = limited(here - lap(m, c - 1), x[m][c] - x[m][c - 1]);
      const REAL north = limited(lap(m + 1, c) - here, x[m + 1][c] - x[m][c]);
      const REAL south = limited(here - lap(m - 1, c), x[m][c] - x[m - 1][c]);
      result.at[n] = x[m][c] - by.at[n] * (east - west + north - south);
    }
    if (j + r < nj) *(Pack*)(out + to) = result;
  }
}
