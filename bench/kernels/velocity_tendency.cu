// Hand-written advective tendencies of the wind for GPUs: levels contiguous, 16 bytes of levels or
// two such packs a thread.
//
// examples/velocity_tendency.py says what is computed. Vertices, cells and edges are three kernels;
// what passes between them are arrays. Cells write their kinetic energy beside their outputs, since
// both need the same edges; with -DW_CON=1 their vertical wind too. Or all is one kernel,
// `in_order`: its blocks take vertices, cells and edges of one part of the mesh soon after each
// other, so that what passes between them, and what all of them read, is still in L2.
//
// Rows of fields are `row` apart, `half` those of half levels; tables and coefficients are
// (element, neighbour). Compile with -DREAL=double or float and -DLEVELS=80.

#ifndef THREADS
#define THREADS 128
#endif
#ifndef PACKS
#define PACKS 1
#endif
#ifndef W_CON
#define W_CON 0
#endif
constexpr int P = 16 / sizeof(REAL), N = P * PACKS, ROW = LEVELS / N;
struct alignas(16) Pack { REAL at[P]; };
struct alignas(16) Levels { REAL at[N]; };
struct Halves { REAL at[N + 1]; };

struct Problem {
  const REAL *vn, *vt, *vn_half, *w, *w_terrain, *per_depth_e, *per_depth_c, *rot, *to_vertex;
  const REAL *bilinear, *linear, *coriolis, *orientation, *per_length, *per_dual;
  REAL *ddt_vn, *ddt_w, *courant, *zeta, *w_vertex, *energy, *w_con;
  const int *c2e, *e2c, *e2v, *v2c, *v2e;
  unsigned long long vertices, cells, edges, row, half;
  REAL dtime, limit, damping;
};
__constant__ Problem problem;

__device__ __forceinline__ Pack read(const REAL* at) { return *(const Pack*)at; }
__device__ __forceinline__ Pack read_past(const REAL* at) {  // not kept by caches
  const double2 x = __ldcs((const double2*)at);
  return *(const Pack*)&x;
}
__device__ __forceinline__ Pack read_shared(const REAL* at) {  // what other blocks wrote: from L2
  const double2 x = __ldcg((const double2*)at);
  return *(const Pack*)&x;
}

template <Pack (*READ)(const REAL*) = read>
__device__ __forceinline__ Levels levels(const REAL* from) {
  Levels x;
#pragma unroll
  for (int m = 0; m < PACKS; ++m) {
    const Pack some = READ(from + m * P);
#pragma unroll
    for (int p = 0; p < P; ++p) x.at[m * P + p] = some.at[p];
  }
  return x;
}

template <Pack (*READ)(const REAL*) = read>
__device__ __forceinline__ Halves halves(const REAL* from) {
  const Levels own = levels<READ>(from);
  Halves x;
#pragma unroll
  for (int n = 0; n < N; ++n) x.at[n] = own.at[n];
  x.at[N] = from[N];
  return x;
}

template <bool PAST = false>
__device__ __forceinline__ void write(REAL* to, const Levels& x) {
#pragma unroll
  for (int m = 0; m < PACKS; ++m) {
    Pack some;
#pragma unroll
    for (int p = 0; p < P; ++p) some.at[p] = x.at[m * P + p];
    if (PAST)
      __stcs((double2*)(to + m * P), *(const double2*)&some);
    else
      *(Pack*)(to + m * P) = some;
  }
}

// Vorticity and mean vertical wind of a vertex.
__device__ __forceinline__ void vertex(unsigned v, unsigned k) {
  const Problem& p = problem;
  Levels zeta = {}, wind = {};
#pragma unroll
  for (int n = 0; n < 6; ++n) {
    const int e = p.v2e[v * 6 + n], c = p.v2c[v * 6 + n];
    const REAL turn = e < 0 ? REAL(0) : p.rot[v * 6 + n];
    const REAL part = c < 0 ? REAL(0) : p.to_vertex[v * 6 + n] * REAL(0.5);
    const Levels x = levels(p.vn + size_t(e < 0 ? 0 : e) * p.row + k);
    const Halves y = halves(p.w + size_t(c < 0 ? 0 : c) * p.half + k);
#pragma unroll
    for (int l = 0; l < N; ++l) {
      zeta.at[l] += x.at[l] * turn;
      wind.at[l] += (y.at[l] + y.at[l + 1]) * part;
    }
  }
  write(p.zeta + size_t(v) * p.row + k, zeta);
  write(p.w_vertex + size_t(v) * p.row + k, wind);
}

// Kinetic energy of a cell, its vertical wind, and its two outputs.
template <Pack (*READ)(const REAL*), bool PAST>
__device__ __forceinline__ void cell(unsigned c, unsigned k) {
  const Problem& p = problem;
  Levels energy = {}, drift = {};
#pragma unroll
  for (int n = 0; n < 3; ++n) {
    const int e = p.c2e[c * 3 + n];
    const REAL by = p.bilinear[c * 3 + n];
    const REAL across = p.per_dual[e] * REAL(0.5), along = p.per_length[e] * p.orientation[e];
    const Levels vn = levels(p.vn + size_t(e) * p.row + k);
    const Levels vt = levels(p.vt + size_t(e) * p.row + k);
    const Halves w0 = halves(p.w + size_t(p.e2c[e * 2]) * p.half + k);
    const Halves w1 = halves(p.w + size_t(p.e2c[e * 2 + 1]) * p.half + k);
    const Levels x0 = levels<READ>(p.w_vertex + size_t(p.e2v[e * 2]) * p.row + k);
    const Levels x1 = levels<READ>(p.w_vertex + size_t(p.e2v[e * 2 + 1]) * p.row + k);
#pragma unroll
    for (int l = 0; l < N; ++l) {
      energy.at[l] += (vn.at[l] * vn.at[l] + vt.at[l] * vt.at[l]) * (by * REAL(0.5));
      const REAL rise = (w1.at[l] + w1.at[l + 1]) - (w0.at[l] + w0.at[l + 1]);
      drift.at[l] +=
          (vn.at[l] * (rise * across) + vt.at[l] * ((x1.at[l] - x0.at[l]) * along)) * by;
    }
  }
  write(p.energy + size_t(c) * p.row + k, energy);
  const Halves w = halves(p.w + size_t(c) * p.half + k);
  const Halves terrain = halves(p.w_terrain + size_t(c) * p.half + k);
  const Levels depth = levels<PAST ? read_past : read>(p.per_depth_c + size_t(c) * p.row + k);
  Levels w_con, number, tendency;
#pragma unroll
  for (int l = 0; l < N; ++l) {
    const REAL con = ((w.at[l] - terrain.at[l]) + (w.at[l + 1] - terrain.at[l + 1])) * REAL(0.5);
    number.at[l] = fabs(con) * p.dtime * depth.at[l];
    const REAL brake = number.at[l] > p.limit ? p.damping * (number.at[l] - p.limit) * con : 0;
    const REAL lift = con * (w.at[l] - w.at[l + 1]) * depth.at[l];
    w_con.at[l] = con;
    tendency.at[l] = -(drift.at[l] + lift + brake);
  }
  if (W_CON) write(p.w_con + size_t(c) * p.row + k, w_con);
  write<PAST>(p.courant + size_t(c) * p.row + k, number);
  write<PAST>(p.ddt_w + size_t(c) * p.row + k, tendency);
}

template <Pack (*READ)(const REAL*)>
__device__ __forceinline__ Levels contravariant(unsigned c, unsigned k) {
  const Problem& p = problem;
  if (W_CON) return levels<READ>(p.w_con + size_t(c) * p.row + k);
  const Halves w = halves(p.w + size_t(c) * p.half + k);
  const Halves terrain = halves(p.w_terrain + size_t(c) * p.half + k);
  Levels x;
#pragma unroll
  for (int l = 0; l < N; ++l)
    x.at[l] = ((w.at[l] - terrain.at[l]) + (w.at[l + 1] - terrain.at[l + 1])) * REAL(0.5);
  return x;
}

template <Pack (*READ)(const REAL*), bool PAST>
__device__ __forceinline__ void edge(unsigned e, unsigned k) {
  constexpr auto ONCE = PAST ? read_past : read;
  const Problem& p = problem;
  const int c0 = p.e2c[e * 2], c1 = p.e2c[e * 2 + 1];
  const REAL turned = p.per_length[e] * p.orientation[e] * p.damping, per_dual = p.per_dual[e];
  const REAL l0 = p.linear[e * 2], l1 = p.linear[e * 2 + 1], coriolis = p.coriolis[e];
  const Levels z0 = levels<READ>(p.zeta + size_t(p.e2v[e * 2]) * p.row + k);
  const Levels z1 = levels<READ>(p.zeta + size_t(p.e2v[e * 2 + 1]) * p.row + k);
  const Levels en0 = levels<READ>(p.energy + size_t(c0) * p.row + k);
  const Levels en1 = levels<READ>(p.energy + size_t(c1) * p.row + k);
  const Levels w0 = contravariant<READ>(c0, k), w1 = contravariant<READ>(c1, k);
  const Levels vt = levels(p.vt + size_t(e) * p.row + k);
  const Levels depth = levels<ONCE>(p.per_depth_e + size_t(e) * p.row + k);
  const Halves half = halves<ONCE>(p.vn_half + size_t(e) * p.half + k);
  Levels tendency;
#pragma unroll
  for (int l = 0; l < N; ++l) {
    const REAL wind = w0.at[l] * l0 + w1.at[l] * l1;
    const REAL spin = (z0.at[l] + z1.at[l]) * REAL(0.5) + coriolis;
    const REAL climb = (en1.at[l] - en0.at[l]) * per_dual;
    const REAL lift = wind * (half.at[l] - half.at[l + 1]) * depth.at[l];
    const REAL free = -(climb + vt.at[l] * spin + lift);
    const bool is_fast = fabs(wind) * p.dtime * depth.at[l] > p.limit;
    tendency.at[l] = is_fast ? free - (z1.at[l] - z0.at[l]) * turned : free;
  }
  write<PAST>(p.ddt_vn + size_t(e) * p.row + k, tendency);
}

extern "C" __global__ void __launch_bounds__(THREADS) vertices() {
  const unsigned t = blockIdx.x * THREADS + threadIdx.x;
  if (t / ROW < problem.vertices) vertex(t / ROW, t % ROW * N);
}

extern "C" __global__ void __launch_bounds__(THREADS) cells() {
  const unsigned t = blockIdx.x * THREADS + threadIdx.x;
  if (t / ROW < problem.cells) cell<read, false>(t / ROW, t % ROW * N);
}

extern "C" __global__ void __launch_bounds__(THREADS) edges() {
  const unsigned t = blockIdx.x * THREADS + threadIdx.x;
  if (t / ROW < problem.edges) edge<read, false>(t / ROW, t % ROW * N);
}

// A task is (kind, chunk, first thread within the chunk, thread after the last). Tasks are taken in
// order, so that those which a task waits for run already. Chunk c of kind 0 (vertices) or 1
// (cells) is `done[c]` tasks far, of `whole[c]` in each round; `waits` from `first[c]` on to
// `first[c + 1]` are what chunk c of cells or edges needs. Chunks of cells are numbered from
// `first_cell` on, `size_c` are the cells of one.
extern "C" __global__ void __launch_bounds__(THREADS) in_order(
    const uint4* tasks, const unsigned* first, const unsigned* waits, const unsigned* whole,
    unsigned* done, unsigned* ticket, unsigned count, unsigned round, unsigned first_cell,
    unsigned first_edge, unsigned size_v, unsigned size_c, unsigned size_e) {
  __shared__ unsigned number;
  if (threadIdx.x == 0) number = atomicAdd(ticket, 1) - (round - 1) * count;
  __syncthreads();
  const uint4 task = tasks[number];
  const unsigned chunk = (task.x == 0 ? 0 : task.x == 1 ? first_cell : first_edge) + task.y;
  for (unsigned n = first[chunk] + threadIdx.x; n < first[chunk + 1]; n += THREADS) {
    const unsigned other = waits[n], far = whole[other] * round;
    while (*(volatile unsigned*)(done + other) < far) __nanosleep(100);
    __threadfence();
  }
  __syncthreads();
  const unsigned t = task.z + threadIdx.x, k = t % ROW * N;
  if (t < task.w) {
    if (task.x == 0)
      vertex(task.y * size_v + t / ROW, k);
    else if (task.x == 1)
      cell<read_shared, true>(task.y * size_c + t / ROW, k);
    else
      edge<read_shared, true>(task.y * size_e + t / ROW, k);
  }
  if (task.x == 2) return;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(done + chunk, 1);
}
