// Hand-written advective tendencies of the wind: what generated code is measured against.
//
// examples/velocity_tendency.py says what is computed; operations and their order are the same here.
// Fields are (element, level) with levels contiguous; rows of half-level fields are `half` apart.
// Coefficients and tables are (element, neighbour), `numbers` dtime, limit, damping.
// Compile: g++ -O3 -std=c++17 -march=native -fopenmp -shared -fPIC -ffp-contract=off -fno-trapping-math

#include "levels.h"

namespace {

template <class T>
struct Problem {
  const T *vn, *vt, *vn_half, *w, *w_terrain, *per_depth_e, *per_depth_c, *rot, *to_vertex;
  const T *bilinear, *linear, *coriolis, *orientation, *per_length, *per_dual, *numbers;
  T *ddt_vn, *ddt_w, *courant;
  const int32_t *c2e, *e2c, *e2v, *v2e, *v2c;
  int64_t nc, ne, nv, nk, half;
};

template <class V>
inline V magnitude(V x) {
  return x < 0 ? -x : x;
}

template <class V, bool PAST, class T>
inline void put(T* p, V v) {
  if constexpr (PAST)
    stream(p, v);
  else
    store(p, v);
}

// Mean of half levels k and k + 1.
template <class V, class T>
inline V mean(const T* half_levels, int64_t k) {
  return (load<V>(half_levels + k) + load<V>(half_levels + k + 1)) * T(0.5);
}

template <int COUNT, class T>
inline void zeta_row(const Problem<T>& p, int64_t v, T* to, int64_t first, int64_t last) {
  const int32_t* n = p.v2e + 6 * v;
  const T* c = p.rot + 6 * v;
  over_chunks<T>(first, last, [&](int64_t k, auto lane, auto count) {
    using V = decltype(lane);
    constexpr int N = decltype(count)::value, L = sizeof(V) / sizeof(T);
    V sum[N];
#pragma GCC unroll 6
    for (int s = 0; s < COUNT; ++s) {
      const T* row = p.vn + n[s] * p.nk + k;
#pragma GCC unroll 10
      for (int j = 0; j < N; ++j) {
        const V term = load<V>(row + j * L) * c[s];
        sum[j] = s == 0 ? term : sum[j] + term;
      }
    }
#pragma GCC unroll 10
    for (int j = 0; j < N; ++j) store(to + k + j * L, sum[j]);
  });
}

template <int COUNT, class T>
inline void w_vertex_row(const Problem<T>& p, int64_t v, T* to, int64_t first, int64_t last) {
  const int32_t* n = p.v2c + 6 * v;
  const T* c = p.to_vertex + 6 * v;
  over_chunks<T>(first, last, [&](int64_t k, auto lane, auto count) {
    using V = decltype(lane);
    constexpr int N = decltype(count)::value, L = sizeof(V) / sizeof(T);
    V sum[N];
#pragma GCC unroll 6
    for (int s = 0; s < COUNT; ++s) {
      const T* row = p.w + n[s] * p.half;
#pragma GCC unroll 10
      for (int j = 0; j < N; ++j) {
        const V term = mean<V>(row, k + j * L) * c[s];
        sum[j] = s == 0 ? term : sum[j] + term;
      }
    }
#pragma GCC unroll 10
    for (int j = 0; j < N; ++j) store(to + k + j * L, sum[j]);
  });
}

template <class T>
inline void vertex_rows(const Problem<T>& p, int64_t v, T* zeta, T* w_vertex, int64_t first,
                        int64_t last) {
  if (p.v2e[6 * v + 5] < 0)
    zeta_row<5>(p, v, zeta, first, last);
  else
    zeta_row<6>(p, v, zeta, first, last);
  if (p.v2c[6 * v + 5] < 0)
    w_vertex_row<5>(p, v, w_vertex, first, last);
  else
    w_vertex_row<6>(p, v, w_vertex, first, last);
}

// What edges need of a cell: its kinetic energy and its vertical wind.
template <class T>
inline void cell_rows(const Problem<T>& p, int64_t c, T* energy, T* w_con, int64_t first,
                      int64_t last) {
  const int32_t* n = p.c2e + 3 * c;
  const T* b = p.bilinear + 3 * c;
  const T *w = p.w + c * p.half, *terrain = p.w_terrain + c * p.half;
  over_chunks<T>(first, last, [&](int64_t k, auto lane, auto count) {
    using V = decltype(lane);
    constexpr int N = decltype(count)::value, L = sizeof(V) / sizeof(T);
    V sum[N];
#pragma GCC unroll 3
    for (int s = 0; s < 3; ++s) {
      const T *vn = p.vn + n[s] * p.nk + k, *vt = p.vt + n[s] * p.nk + k;
#pragma GCC unroll 10
      for (int j = 0; j < N; ++j) {
        const V x = load<V>(vn + j * L), y = load<V>(vt + j * L);
        const V term = (x * x + y * y) * T(0.5) * b[s];
        sum[j] = s == 0 ? term : sum[j] + term;
      }
    }
#pragma GCC unroll 10
    for (int j = 0; j < N; ++j) store(energy + k + j * L, sum[j]);
  });
  over_levels<T>(first, last, [&](int64_t k, auto lane) {
    using V = decltype(lane);
    const V above = load<V>(w + k) - load<V>(terrain + k);
    const V below = load<V>(w + k + 1) - load<V>(terrain + k + 1);
    store(w_con + k, (above + below) * T(0.5));
  });
}

// Both outputs of a cell. `ends` gives the rows of w_vertex at the two ends of each of its edges.
template <bool PAST, class T>
inline void cell_outputs(const Problem<T>& p, int64_t c, const T* const (&ends)[6], int64_t first,
                         int64_t last) {
  const int32_t* n = p.c2e + 3 * c;
  const T dtime = p.numbers[0], limit = p.numbers[1], damping = p.numbers[2];
  const int64_t half = p.half;
  T across[3], along[3], weight[3];
  const T *vn[3], *vt[3], *w0[3], *w1[3];
  for (int s = 0; s < 3; ++s) {
    across[s] = p.per_dual[n[s]];
    along[s] = p.per_length[n[s]] * p.orientation[n[s]];
    weight[s] = p.bilinear[3 * c + s];
    vn[s] = p.vn + n[s] * p.nk, vt[s] = p.vt + n[s] * p.nk;
    w0[s] = p.w + p.e2c[2 * n[s]] * half, w1[s] = p.w + p.e2c[2 * n[s] + 1] * half;
  }
  const T *w = p.w + c * half, *terrain = p.w_terrain + c * half, *depth = p.per_depth_c + c * p.nk;
  over_levels<T>(first, last, [&](int64_t k, auto lane) {
    using V = decltype(lane);
    const auto drift = [&](int s) {
      const V x = (mean<V>(w1[s], k) - mean<V>(w0[s], k)) * across[s];
      const V y = (load<V>(ends[2 * s + 1] + k) - load<V>(ends[2 * s] + k)) * along[s];
      return load<V>(vn[s] + k) * x + load<V>(vt[s] + k) * y;
    };
    const V drifts = drift(0) * weight[0] + drift(1) * weight[1] + drift(2) * weight[2];
    const V above = load<V>(w + k), below = load<V>(w + k + 1), per_depth = load<V>(depth + k);
    const V w_con = ((above - load<V>(terrain + k)) + (below - load<V>(terrain + k + 1))) * T(0.5);
    const V number = magnitude(w_con) * dtime * per_depth;
    const V brake = number > limit ? (number - limit) * damping * w_con : V() * T(0);
    const V lift = w_con * (above - below) * per_depth;
    put<V, PAST>(p.courant + c * p.nk + k, number);
    put<V, PAST>(p.ddt_w + c * p.nk + k, -(drifts + lift + brake));
  });
}

template <bool PAST, class T>
inline void edge_output(const Problem<T>& p, int64_t e, const T* z0, const T* z1, const T* en0,
                        const T* en1, const T* w0, const T* w1, int64_t first, int64_t last) {
  const T dtime = p.numbers[0], limit = p.numbers[1], damping = p.numbers[2];
  const T l0 = p.linear[2 * e], l1 = p.linear[2 * e + 1], per_dual = p.per_dual[e];
  const T turned = p.per_length[e] * p.orientation[e], coriolis = p.coriolis[e];
  const T *vt = p.vt + e * p.nk, *half = p.vn_half + e * p.half, *depth = p.per_depth_e + e * p.nk;
  over_levels<T>(first, last, [&](int64_t k, auto lane) {
    using V = decltype(lane);
    const V zeta0 = load<V>(z0 + k), zeta1 = load<V>(z1 + k), per_depth = load<V>(depth + k);
    const V w_edge = load<V>(w0 + k) * l0 + load<V>(w1 + k) * l1;
    const V spin = (zeta0 + zeta1) * T(0.5) + coriolis;
    const V climb = (load<V>(en1 + k) - load<V>(en0 + k)) * per_dual;
    const V lift = w_edge * (load<V>(half + k) - load<V>(half + k + 1)) * per_depth;
    const V free = -(climb + load<V>(vt + k) * spin + lift);
    const V damped = free - (zeta1 - zeta0) * turned * damping;
    const V number = magnitude(w_edge) * dtime * per_depth;
    const V value = number > limit ? damped : free;
    put<V, PAST>(p.ddt_vn + e * p.nk + k, value);
  });
}

// Ask for the rows that a vertex or a cell some places further gathers.
template <class T>
inline void expect_vertex(const Problem<T>& p, int64_t v) {
  for (int s = 0; s < 6; ++s) {
    const int64_t e = p.v2e[6 * v + s], c = p.v2c[6 * v + s];
    if (e >= 0) expect(p.vn + e * p.nk, p.nk);
    if (c >= 0) expect(p.w + c * p.half, p.nk);
  }
}

template <class T>
inline void expect_cell(const Problem<T>& p, int64_t c) {
  for (int s = 0; s < 3; ++s) {
    const int64_t e = p.c2e[3 * c + s];
    expect(p.vn + e * p.nk, p.nk);
    expect(p.vt + e * p.nk, p.nk);
  }
}

// Five loops, one for each intermediate and output, all intermediates as whole arrays.
template <class T>
void simple(const Problem<T>& p, T* __restrict zeta, T* __restrict w_vertex, T* __restrict energy,
            T* __restrict w_con, T* __restrict drift) {
  const int64_t nk = p.nk, half = p.half;
  const T dtime = p.numbers[0], limit = p.numbers[1], damping = p.numbers[2];
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (int64_t v = 0; v < p.nv; ++v) {
      for (int s = 0; s < 6; ++s) {
        const int64_t e = p.v2e[6 * v + s], c = p.v2c[6 * v + s];
        if (e < 0 || c < 0) continue;
        const T a = p.rot[6 * v + s], b = p.to_vertex[6 * v + s];
#pragma omp simd
        for (int64_t k = 0; k < nk; ++k) {
          const T z = p.vn[e * nk + k] * a, x = T(0.5) * (p.w[c * half + k] + p.w[c * half + k + 1]) * b;
          zeta[v * nk + k] = s == 0 ? z : zeta[v * nk + k] + z;
          w_vertex[v * nk + k] = s == 0 ? x : w_vertex[v * nk + k] + x;
        }
      }
    }
#pragma omp for schedule(static)
    for (int64_t c = 0; c < p.nc; ++c) {
      const int32_t* n = p.c2e + 3 * c;
      const T* b = p.bilinear + 3 * c;
#pragma omp simd
      for (int64_t k = 0; k < nk; ++k) {
        T sum[3];
        for (int s = 0; s < 3; ++s) {
          const int64_t at = n[s] * nk + k;
          sum[s] = T(0.5) * (p.vn[at] * p.vn[at] + p.vt[at] * p.vt[at]) * b[s];
        }
        energy[c * nk + k] = sum[0] + sum[1] + sum[2];
        const int64_t h = c * half + k;
        w_con[c * nk + k] = T(0.5) * ((p.w[h] - p.w_terrain[h]) + (p.w[h + 1] - p.w_terrain[h + 1]));
      }
    }
#pragma omp for schedule(static)
    for (int64_t e = 0; e < p.ne; ++e) {
      const int64_t c0 = p.e2c[2 * e], c1 = p.e2c[2 * e + 1];
      const int64_t v0 = p.e2v[2 * e], v1 = p.e2v[2 * e + 1];
      const T turned = p.per_length[e] * p.orientation[e], per_dual = p.per_dual[e];
      const T l0 = p.linear[2 * e], l1 = p.linear[2 * e + 1], coriolis = p.coriolis[e];
#pragma omp simd
      for (int64_t k = 0; k < nk; ++k) {
        const int64_t at = e * nk + k, h = e * half + k;
        const T z0 = zeta[v0 * nk + k], z1 = zeta[v1 * nk + k], depth = p.per_depth_e[at];
        const T w_edge = w_con[c0 * nk + k] * l0 + w_con[c1 * nk + k] * l1;
        const T climb = (energy[c1 * nk + k] - energy[c0 * nk + k]) * per_dual;
        const T lift = w_edge * (p.vn_half[h] - p.vn_half[h + 1]) * depth;
        const T free = -(climb + p.vt[at] * (coriolis + T(0.5) * (z0 + z1)) + lift);
        const T damped = free - damping * ((z1 - z0) * turned);
        p.ddt_vn[at] = magnitude(w_edge) * dtime * depth > limit ? damped : free;
        const T w0 = T(0.5) * (p.w[c0 * half + k] + p.w[c0 * half + k + 1]);
        const T w1 = T(0.5) * (p.w[c1 * half + k] + p.w[c1 * half + k + 1]);
        drift[at] = p.vn[at] * ((w1 - w0) * per_dual) +
                    p.vt[at] * ((w_vertex[v1 * nk + k] - w_vertex[v0 * nk + k]) * turned);
      }
    }
#pragma omp for schedule(static)
    for (int64_t c = 0; c < p.nc; ++c) {
      const int32_t* n = p.c2e + 3 * c;
      const T* b = p.bilinear + 3 * c;
#pragma omp simd
      for (int64_t k = 0; k < nk; ++k) {
        const int64_t at = c * nk + k, h = c * half + k;
        const T drifts = drift[n[0] * nk + k] * b[0] + drift[n[1] * nk + k] * b[1] +
                         drift[n[2] * nk + k] * b[2];
        const T number = magnitude(w_con[at]) * dtime * p.per_depth_c[at];
        const T brake = number > limit ? damping * (number - limit) * w_con[at] : T(0);
        const T lift = w_con[at] * (p.w[h] - p.w[h + 1]) * p.per_depth_c[at];
        p.courant[at] = number;
        p.ddt_w[at] = -(drifts + lift + brake);
      }
    }
  }
}

// Three passes: vertices, cells with both of their outputs, edges; what passes between cells and
// edges is recomputed where that is cheaper than an array. Levels in blocks (`block` may be all);
// gathered rows are asked for `ahead` elements early (0: never).
template <class T, bool PAST>
void passes(const Problem<T>& p, T* zeta, T* w_vertex, T* energy, T* w_con, int64_t block,
            int64_t ahead) {
#pragma omp parallel
  for (int64_t first = 0; first < p.nk; first += block) {
    const int64_t last = first + block < p.nk ? first + block : p.nk;
    T *z = zeta - first, *x = w_vertex - first, *en = energy - first, *wc = w_con - first;
#pragma omp for schedule(static)
    for (int64_t v = 0; v < p.nv; ++v) {
      if (ahead && v + ahead < p.nv) expect_vertex(p, v + ahead);
      vertex_rows(p, v, z + v * block, x + v * block, first, last);
    }
#pragma omp for schedule(static)
    for (int64_t c = 0; c < p.nc; ++c) {
      if (ahead && c + ahead < p.nc) expect_cell(p, c + ahead);
      const T* ends[6];
      for (int s = 0; s < 6; ++s) ends[s] = x + p.e2v[2 * p.c2e[3 * c + s / 2] + s % 2] * block;
      cell_rows(p, c, en + c * block, wc + c * block, first, last);
      cell_outputs<PAST>(p, c, ends, first, last);
    }
#pragma omp for schedule(static)
    for (int64_t e = 0; e < p.ne; ++e) {
      for (int end = 0; ahead && e + ahead < p.ne && end < 2; ++end) {
        const int64_t c = p.e2c[2 * (e + ahead) + end], v = p.e2v[2 * (e + ahead) + end];
        expect(z + v * block + first, last - first);
        expect(en + c * block + first, last - first);
        expect(wc + c * block + first, last - first);
      }
      const int64_t c0 = p.e2c[2 * e] * block, c1 = p.e2c[2 * e + 1] * block;
      edge_output<PAST>(p, e, z + p.e2v[2 * e] * block, z + p.e2v[2 * e + 1] * block, en + c0,
                        en + c1, wc + c0, wc + c1, first, last);
    }
  }
}

// Tiles of edges and the cells with the same numbers; a tile computes what it needs of all vertices
// and cells that it touches, into rows in L2. `ends_at` are the ends of the three edges of a cell by
// place in the tile's list of vertices, `e2v_at` and `e2c_at` the tables by place.
template <class T, bool PAST>
void tiles(const Problem<T>& p, const int32_t* ends_at, const int32_t* e2v_at,
           const int32_t* vertices, const int32_t* first_vertex, int64_t most_vertices,
           const int32_t* e2c_at, const int32_t* cells, const int32_t* first_cell,
           int64_t most_cells, int64_t count, int64_t ahead) {
  const int64_t nk = p.nk;
#pragma omp parallel
  {
    Scratch<T> rows((2 * most_vertices + 2 * most_cells) * nk);
    T *zeta = rows.at, *w_vertex = zeta + most_vertices * nk;
    T *energy = w_vertex + most_vertices * nk, *w_con = energy + most_cells * nk;
#pragma omp for schedule(static)
    for (int64_t t = 0; t < count; ++t) {
      for (int64_t i = 0; i < first_vertex[t + 1] - first_vertex[t]; ++i) {
        const int64_t here = first_vertex[t] + i;
        if (ahead && here + ahead < first_vertex[count]) expect_vertex(p, vertices[here + ahead]);
        vertex_rows(p, vertices[here], zeta + i * nk, w_vertex + i * nk, 0, nk);
      }
      for (int64_t i = 0; i < first_cell[t + 1] - first_cell[t]; ++i) {
        const int64_t here = first_cell[t] + i;
        if (ahead && here + ahead < first_cell[count]) expect_cell(p, cells[here + ahead]);
        cell_rows(p, cells[here], energy + i * nk, w_con + i * nk, 0, nk);
      }
      for (int64_t c = begin_of(t, count, p.nc); c < begin_of(t + 1, count, p.nc); ++c) {
        const T* ends[6];
        for (int s = 0; s < 6; ++s) ends[s] = w_vertex + ends_at[6 * c + s] * nk;
        cell_outputs<PAST>(p, c, ends, 0, nk);
      }
      for (int64_t e = begin_of(t, count, p.ne); e < begin_of(t + 1, count, p.ne); ++e) {
        const int64_t c0 = e2c_at[2 * e] * nk, c1 = e2c_at[2 * e + 1] * nk;
        edge_output<PAST>(p, e, zeta + e2v_at[2 * e] * nk, zeta + e2v_at[2 * e + 1] * nk,
                          energy + c0, energy + c1, w_con + c0, w_con + c1, 0, nk);
      }
    }
  }
}

}  // namespace

#define ARGUMENTS(T)                                                                               \
  const T *vn, const T *vt, const T *vn_half, const T *w, const T *w_terrain,                      \
      const T *per_depth_e, const T *per_depth_c, const T *rot, const T *to_vertex,                \
      const T *bilinear, const T *linear, const T *coriolis, const T *orientation,                 \
      const T *per_length, const T *per_dual, const T *numbers, T *ddt_vn, T *ddt_w, T *courant,   \
      const int32_t *c2e, const int32_t *e2c, const int32_t *e2v, const int32_t *v2e,              \
      const int32_t *v2c, int64_t nc, int64_t ne, int64_t nv, int64_t nk,            \
      int64_t half
#define PROBLEM                                                                                    \
  {                                                                                                \
    vn, vt, vn_half, w, w_terrain, per_depth_e, per_depth_c, rot, to_vertex, bilinear, linear,     \
        coriolis, orientation, per_length, per_dual, numbers, ddt_vn, ddt_w, courant, c2e, e2c,    \
        e2v, v2e, v2c, nc, ne, nv, nk, half                                                        \
  }
#define CAN_STREAM can_stream(ddt_vn, nk) && can_stream(ddt_w, nk) && can_stream(courant, nk)

#define IN_PRECISION(T, NAME)                                                                      \
  extern "C" void velocity_tendency_simple_##NAME(ARGUMENTS(T), T* zeta, T* w_vertex, T* energy,   \
                                                  T* w_con, T* drift) {                            \
    simple<T>(PROBLEM, zeta, w_vertex, energy, w_con, drift);                                      \
  }                                                                                                \
  extern "C" void velocity_tendency_passes_##NAME(ARGUMENTS(T), T* zeta, T* w_vertex, T* energy,   \
                                                  T* w_con, int64_t block, int64_t ahead) {        \
    passes<T, false>(PROBLEM, zeta, w_vertex, energy, w_con, block, ahead);                        \
  }                                                                                                \
  extern "C" void velocity_tendency_streamed_##NAME(ARGUMENTS(T), T* zeta, T* w_vertex, T* energy, \
                                                    T* w_con, int64_t block, int64_t ahead) {      \
    const bool past = CAN_STREAM && block % (REGISTER / sizeof(T)) == 0;                           \
    (past ? passes<T, true> : passes<T, false>)(PROBLEM, zeta, w_vertex, energy, w_con, block,     \
                                                ahead);                                            \
  }                                                                                                \
  extern "C" void velocity_tendency_tiles_##NAME(                                                  \
      ARGUMENTS(T), const int32_t* ends_at, const int32_t* e2v_at, const int32_t* vertices,        \
      const int32_t* first_vertex, int64_t most_vertices, const int32_t* e2c_at,                   \
      const int32_t* cells, const int32_t* first_cell, int64_t most_cells, int64_t count,          \
      int64_t ahead) {                                                                             \
    (CAN_STREAM ? tiles<T, true> : tiles<T, false>)(PROBLEM, ends_at, e2v_at, vertices,            \
                                                    first_vertex, most_vertices, e2c_at, cells,    \
                                                    first_cell, most_cells, count, ahead);         \
  }

IN_PRECISION(double, f64)
IN_PRECISION(float, f32)
