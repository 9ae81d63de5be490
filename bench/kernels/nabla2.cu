// Hand-written curl of the curl for GPUs: levels contiguous, 16 bytes of levels a thread.
//
// Two kernels with the curl of all vertices as an array between them, or one, `patches`: a block has
// some edges and CHUNK levels, and keeps the curl of the vertices of its edges in shared memory.
//
// Rows of fields are `row` apart; tables and coefficients are (element, neighbour).
// Compile with -DREAL=double or float; 128 threads a block, as many as elements times row / P.
// `patches` has THREADS threads a block, as many blocks as patches times row / CHUNK.

#ifndef THREADS
#define THREADS 256
#endif
#ifndef CHUNK
#define CHUNK 16
#endif
#ifndef BLOCKS
#define BLOCKS 1
#endif

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

// Patch p has the vertices `vertices[first[2 p]]` on and the edges `edges[first[2 p + 1]]` on, up to
// those of the next one; `near` are the places of an edge's vertices among those of its patch.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) patches(
    const REAL* __restrict__ vn, const REAL* __restrict__ along, const int* __restrict__ v2e,
    const REAL* __restrict__ difference, REAL* __restrict__ out, const unsigned* __restrict__ first,
    const unsigned* __restrict__ vertices, const unsigned* __restrict__ edges,
    const ushort2* __restrict__ near, unsigned row) {
  extern __shared__ Pack curls[];
  constexpr unsigned packs = CHUNK / P;
  const unsigned chunks = row / CHUNK, patch = blockIdx.x / chunks;
  const unsigned start = blockIdx.x % chunks * CHUNK;
  const unsigned v0 = first[2 * patch], e0 = first[2 * patch + 1];
  const unsigned some = (first[2 * patch + 2] - v0) * packs;
  const unsigned all = (first[2 * patch + 3] - e0) * packs;
#pragma unroll 1
  for (unsigned t = threadIdx.x; t < some; t += THREADS) {
    const unsigned v = vertices[v0 + t / packs], k = start + t % packs * P;
    Pack sum = {};
#pragma unroll
    for (int n = 0; n < 6; ++n) {
      const int e = v2e[v * 6 + n];
      const REAL by = along[v * 6 + n];
      const Pack x = *(const Pack*)(vn + size_t(e < 0 ? 0 : e) * row + k);
#pragma unroll
      for (int p = 0; p < P; ++p) sum.at[p] += e < 0 ? REAL(0) : x.at[p] * by;
    }
    curls[t] = sum;
  }
  __syncthreads();
#pragma unroll 1
  for (unsigned t = threadIdx.x; t < all; t += THREADS) {
    const unsigned place = e0 + t / packs, e = edges[place], k = start + t % packs * P;
    const ushort2 own = near[place];
    const Pack x = curls[own.x * packs + t % packs], y = curls[own.y * packs + t % packs];
    const REAL by = difference[e * 2], other = difference[e * 2 + 1];
    Pack sum;
#pragma unroll
    for (int p = 0; p < P; ++p) sum.at[p] = x.at[p] * by + y.at[p] * other;
    *(Pack*)(out + size_t(e) * row + k) = sum;
  }
}

// The same with the edges contiguous: `row` is the distance between levels of edges, and a thread
// has EACH levels of an element, which share what it reads of tables.
#ifndef EACH
#define EACH 4
#endif
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) patches_across(
    const REAL* __restrict__ vn, const REAL* __restrict__ along, const int* __restrict__ v2e,
    const REAL* __restrict__ difference, REAL* __restrict__ out, const unsigned* __restrict__ first,
    const unsigned* __restrict__ vertices, const unsigned* __restrict__ edges,
    const ushort2* __restrict__ near, unsigned row, unsigned out_row, unsigned levels,
    unsigned long long of_v, unsigned long long of_e) {
  extern __shared__ REAL sums[];
  const unsigned chunks = levels / CHUNK, patch = blockIdx.x / chunks;
  const unsigned start = blockIdx.x % chunks * CHUNK;
  const unsigned v0 = first[2 * patch], e0 = first[2 * patch + 1];
  const unsigned some = first[2 * patch + 2] - v0, all = first[2 * patch + 3] - e0;
#pragma unroll 1
  for (unsigned t = threadIdx.x; t < some * (CHUNK / EACH); t += THREADS) {
    const unsigned place = t % some, k = t / some * EACH, v = vertices[v0 + place];
    REAL sum[EACH] = {};
#pragma unroll
    for (int n = 0; n < 6; ++n) {
      const int e = v2e[v + n * of_v];
      const REAL by = along[v + n * of_v];
      const REAL* from = vn + size_t(start + k) * row + (e < 0 ? 0 : e);
#pragma unroll
      for (int l = 0; l < EACH; ++l) sum[l] += e < 0 ? REAL(0) : from[size_t(l) * row] * by;
    }
#pragma unroll
    for (int l = 0; l < EACH; ++l) sums[(k + l) * some + place] = sum[l];
  }
  __syncthreads();
#pragma unroll 1
  for (unsigned t = threadIdx.x; t < all * (CHUNK / EACH); t += THREADS) {
    const unsigned place = t % all, k = t / all * EACH, e = edges[e0 + place];
    const ushort2 own = near[e0 + place];
    const REAL by = difference[e], other = difference[e + of_e];
    REAL* to = out + size_t(start + k) * out_row + e;
#pragma unroll
    for (int l = 0; l < EACH; ++l)
      to[size_t(l) * out_row] =
          sums[(k + l) * some + own.x] * by + sums[(k + l) * some + own.y] * other;
  }
}
