// Hand-written curl of the curl for GPUs: levels contiguous, 16 bytes of levels a thread.
//
// Two kernels with the curl of all vertices as an array between them.
//
// Rows of fields are `row` apart; tables and coefficients are (element, neighbour).
// Compile with -DREAL=double or float; 128 threads a block, as many as elements times row / P.

constexpr int P = 16 / sizeof(REAL);
struct alignas(16) Pack { REAL at[P]; };

extern "C" __global__ void __launch_bounds__(128) curl(
    const REAL* __restrict__ vn, const REAL* __restrict__ along, const int* __restrict__ v2e,
    REAL* __restrict__ to, unsigned vertices, unsigned row) {
  const unsigned t = blockIdx.x * 128 + threadIdx.x, packs = row / P;
  const unsigned v = t / packs, k = t % packs * P;
  if (v >= vertices) return;
  Pack sum = {};
#pragma unroll
  for (int n = 0; n < 6; ++n) {
    const int e = v2e[v * 6 + n];
    const REAL by = along[v * 6 + n];
    const Pack x = *(const Pack*)(vn + size_t(e < 0 ? 0 : e) * row + k);
#pragma unroll
    for (int p = 0; p < P; ++p) sum.at[p] += e < 0 ? REAL(0) : x.at[p] * by;
  }
  *(Pack*)(to + size_t(v) * row + k) = sum;
}

extern "C" __global__ void __launch_bounds__(128) along_edges(
    const REAL* __restrict__ curl, const REAL* __restrict__ difference,
    const int* __restrict__ e2v, REAL* __restrict__ out, unsigned edges, unsigned row) {
  const unsigned t = blockIdx.x * 128 + threadIdx.x, packs = row / P;
  const unsigned e = t / packs, k = t % packs * P;
  if (e >= edges) return;
  const Pack x = *(const Pack*)(curl + size_t(e2v[e * 2]) * row + k);
  const Pack y = *(const Pack*)(curl + size_t(e2v[e * 2 + 1]) * row + k);
  const REAL first = difference[e * 2], second = difference[e * 2 + 1];
  Pack sum;
#pragma unroll
  for (int p = 0; p < P; ++p) sum.at[p] = x.at[p] * first + y.at[p] * second;
  *(Pack*)(out + size_t(e) * row + k) = sum;
}
