// Hand-written curl of the curl on a triangular mesh: what generated code is measured against.
//
// curl[v] = sum over 6 (at pentagons 5) edges of vn[v2e[v][n]] * along_dual[v][n]
// out[e] = curl[e2v[e][0]] * difference[e][0] + curl[e2v[e][1]] * difference[e][1]
//
// Fields are (element, level) with levels contiguous; coefficients and tables (element, neighbour).
// Compile: g++ -O3 -std=c++17 -march=native -fopenmp -shared -fPIC -ffp-contract=off -fno-trapping-math

#include <omp.h>

#include "levels.h"

namespace {

// The six (or five) terms in order, levels first..last of row v, to `to[first..last]`.
template <class T>
inline void curl_row(const T* __restrict vn, const T* __restrict c, T* __restrict to,
                     const int32_t* __restrict n, int64_t nk, int64_t first, int64_t last) {
  const T c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3], c4 = c[4], c5 = c[5];
  const T *p0 = vn + n[0] * nk, *p1 = vn + n[1] * nk, *p2 = vn + n[2] * nk;
  const T *p3 = vn + n[3] * nk, *p4 = vn + n[4] * nk;
  if (n[5] < 0) {
    over_levels<T>(first, last, [&](int64_t k, auto lane) {
      using V = decltype(lane);
      store(to + k, load<V>(p0 + k) * c0 + load<V>(p1 + k) * c1 + load<V>(p2 + k) * c2 +
                        load<V>(p3 + k) * c3 + load<V>(p4 + k) * c4);
    });
    return;
  }
  const T* p5 = vn + n[5] * nk;
  over_levels<T>(first, last, [&](int64_t k, auto lane) {
    using V = decltype(lane);
    store(to + k, load<V>(p0 + k) * c0 + load<V>(p1 + k) * c1 + load<V>(p2 + k) * c2 +
                      load<V>(p3 + k) * c3 + load<V>(p4 + k) * c4 + load<V>(p5 + k) * c5);
  });
}

// The same sums with rows one after the other.
template <int ROWS, class T>
inline void curl_by_rows(const T* vn, const T* c, T* to, const int32_t* n, int64_t nk,
                         int64_t first, int64_t last) {
  over_chunks<T>(first, last, [&](int64_t k, auto lane, auto count) {
    using V = decltype(lane);
    constexpr int N = decltype(count)::value, L = sizeof(V) / sizeof(T);
    V sum[N];
    const T* row = vn + n[0] * nk + k;
#pragma GCC unroll 10
    for (int j = 0; j < N; ++j) sum[j] = load<V>(row + j * L) * c[0];
#pragma GCC unroll 5
    for (int s = 1; s < ROWS; ++s) {
      row = vn + n[s] * nk + k;
#pragma GCC unroll 10
      for (int j = 0; j < N; ++j) sum[j] = sum[j] + load<V>(row + j * L) * c[s];
    }
#pragma GCC unroll 10
    for (int j = 0; j < N; ++j) store(to + k + j * L, sum[j]);
  });
}

template <bool BY_ROWS = true, class T>
inline void curl_of(const T* vn, const T* c, T* to, const int32_t* n, int64_t nk, int64_t first,
                    int64_t last) {
  if (!BY_ROWS)
    curl_row(vn, c, to, n, nk, first, last);
  else if (n[5] < 0)
    curl_by_rows<5>(vn, c, to, n, nk, first, last);
  else
    curl_by_rows<6>(vn, c, to, n, nk, first, last);
}

inline int64_t later(int64_t a, int64_t b) { return a < b ? b : a; }

// Ask for the rows that a vertex some places further needs.
template <class T>
inline void expect_edges(const T* vn, const int32_t* n, int64_t nk) {
  for (int s = 0; s < 5; ++s) expect(vn + n[s] * nk, nk);
  if (n[5] >= 0) expect(vn + n[5] * nk, nk);
}

template <class T, bool PAST>
inline void edge_row(const T* __restrict a, const T* __restrict b, const T* __restrict d,
                     T* __restrict out, int64_t first, int64_t last) {
  const T d0 = d[0], d1 = d[1];
  over_levels<T>(first, last, [&](int64_t k, auto lane) {
    using V = decltype(lane);
    const V value = load<V>(a + k) * d0 + load<V>(b + k) * d1;
    if constexpr (PAST)
      stream(out + k, value);
    else
      store(out + k, value);
  });
}

// The simple loops: curl as a whole array, both passes with the levels in SIMD.
template <class T>
void two_passes(const T* __restrict vn, const T* __restrict along, const T* __restrict diff,
                T* __restrict out, T* __restrict curl, const int32_t* __restrict v2e,
                const int32_t* __restrict e2v, int64_t nv, int64_t ne, int64_t nk) {
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (int64_t v = 0; v < nv; ++v) {
      const int32_t* n = v2e + 6 * v;
      const T* c = along + 6 * v;
      const int slots = n[5] < 0 ? 5 : 6;
#pragma omp simd
      for (int64_t k = 0; k < nk; ++k) curl[v * nk + k] = vn[n[0] * nk + k] * c[0];
      for (int s = 1; s < slots; ++s) {
        const T* p = vn + n[s] * nk;
        const T w = c[s];
#pragma omp simd
        for (int64_t k = 0; k < nk; ++k) curl[v * nk + k] += p[k] * w;
      }
    }
#pragma omp for schedule(static)
    for (int64_t e = 0; e < ne; ++e) {
      const T *a = curl + e2v[2 * e] * nk, *b = curl + e2v[2 * e + 1] * nk;
      const T d0 = diff[2 * e], d1 = diff[2 * e + 1];
#pragma omp simd
      for (int64_t k = 0; k < nk; ++k) out[e * nk + k] = a[k] * d0 + b[k] * d1;
    }
  }
}

// The same with unrolled neighbours: each row of a table is loaded once, sums stay in registers.
// Rows are asked for `ahead` elements early (0: never), here and in the variants below.
template <class T, bool PAST, bool BY_ROWS>
void unrolled(const T* vn, const T* along, const T* diff, T* out, T* curl, const int32_t* v2e,
              const int32_t* e2v, int64_t nv, int64_t ne, int64_t nk, int64_t ahead) {
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (int64_t v = 0; v < nv; ++v) {
      if (ahead && v + ahead < nv) expect_edges(vn, v2e + 6 * (v + ahead), nk);
      curl_of<BY_ROWS>(vn, along + 6 * v, curl + v * nk, v2e + 6 * v, nk, 0, nk);
    }
#pragma omp for schedule(static)
    for (int64_t e = 0; e < ne; ++e) {
      if (ahead && e + ahead < ne) {
        expect(curl + e2v[2 * (e + ahead)] * nk, nk);
        expect(curl + e2v[2 * (e + ahead) + 1] * nk, nk);
      }
      edge_row<T, PAST>(curl + e2v[2 * e] * nk, curl + e2v[2 * e + 1] * nk, diff + 2 * e,
                        out + e * nk, 0, nk);
    }
  }
}

// No intermediate in memory: each edge computes the curl at both of its ends.
template <class T>
void fused(const T* vn, const T* along, const T* diff, T* out, const int32_t* v2e,
           const int32_t* e2v, int64_t, int64_t ne, int64_t nk) {
#pragma omp parallel
  {
    Scratch<T> ends(2 * nk);
#pragma omp for schedule(static)
    for (int64_t e = 0; e < ne; ++e) {
      for (int end = 0; end < 2; ++end) {
        const int64_t v = e2v[2 * e + end];
        curl_row(vn, along + 6 * v, ends.at + end * nk, v2e + 6 * v, nk, 0, nk);
      }
      edge_row<T, false>(ends.at, ends.at + nk, diff + 2 * e, out + e * nk, 0, nk);
    }
  }
}

// Blocks of levels, all stages in order for each: curl of a block is small enough for the caches.
template <class T>
void k_blocks(const T* vn, const T* along, const T* diff, T* out, T* curl, const int32_t* v2e,
              const int32_t* e2v, int64_t nv, int64_t ne, int64_t nk, int64_t block) {
#pragma omp parallel
  for (int64_t first = 0; first < nk; first += block) {
    const int64_t last = first + block < nk ? first + block : nk;
#pragma omp for schedule(static)
    for (int64_t v = 0; v < nv; ++v)
      curl_row(vn, along + 6 * v, curl + v * block - first, v2e + 6 * v, nk, first, last);
#pragma omp for schedule(static)
    for (int64_t e = 0; e < ne; ++e)
      edge_row<T, false>(curl + e2v[2 * e] * block - first, curl + e2v[2 * e + 1] * block - first,
                         diff + 2 * e, out + e * nk, first, last);
  }
}

// One sweep over the mesh: before a block of edges, curl at the vertices that it needs and nobody
// had before it, in a ring of rows. `upto[b]` is one more than the largest vertex of blocks 0..b,
// `from[b]` the smallest of blocks b and beyond; `ring` is a power of two that no block outgrows.
template <class T, bool PAST>
void sweep(const T* vn, const T* along, const T* diff, T* out, const int32_t* v2e,
           const int32_t* e2v, const int32_t* from, const int32_t* upto, int64_t nv, int64_t ne,
           int64_t nk, int64_t edges, int64_t ring, int64_t levels, int64_t ahead) {
  const int64_t blocks = (ne + edges - 1) / edges, mask = ring - 1;
#pragma omp parallel
  {
    Scratch<T> rows(ring * levels);
    const int64_t thread = omp_get_thread_num(), threads = omp_get_num_threads();
    const int64_t begin = blocks * thread / threads, end = blocks * (thread + 1) / threads;
    for (int64_t first = 0; first < nk; first += levels) {
      const int64_t last = first + levels < nk ? first + levels : nk;
      T* curl = rows.at - first;
      int64_t done = begin < end ? from[begin] : 0;
      for (int64_t b = begin; b < end; ++b) {
        for (; done < upto[b]; ++done) {
          if (ahead && done + ahead < nv) expect_edges(vn, v2e + 6 * (done + ahead), nk);
          curl_of(vn, along + 6 * done, curl + (done & mask) * levels, v2e + 6 * done, nk, first,
                   last);
        }
        const int64_t stop = (b + 1) * edges < ne ? (b + 1) * edges : ne;
        for (int64_t e = b * edges; e < stop; ++e)
          edge_row<T, PAST>(curl + (e2v[2 * e] & mask) * levels,
                            curl + (e2v[2 * e + 1] & mask) * levels, diff + 2 * e, out + e * nk,
                            first, last);
      }
    }
  }
}

// Tiles of edges, each with a list of its vertices: those at its rim are computed twice, nothing
// else, and curl of a tile stays in L2. `local` is e2v by place in the tile's list.
template <class T, bool PAST>
void tiles(const T* vn, const T* along, const T* diff, T* out, const int32_t* v2e,
           const int32_t* local, const int32_t* listed, const int32_t* begins, int64_t ne,
           int64_t nk, int64_t count, int64_t longest, int64_t ahead) {
#pragma omp parallel
  {
    Scratch<T> curl(longest * nk);
#pragma omp for schedule(static)
    for (int64_t t = 0; t < count; ++t) {
      for (int64_t i = begins[t]; i < begins[t + 1]; ++i) {
        if (ahead && i + ahead < begins[count]) expect_edges(vn, v2e + 6 * listed[i + ahead], nk);
        curl_of(vn, along + 6 * listed[i], curl.at + (i - begins[t]) * nk, v2e + 6 * listed[i], nk,
                0, nk);
      }
      for (int64_t e = begin_of(t, count, ne); e < begin_of(t + 1, count, ne); ++e)
        edge_row<T, PAST>(curl.at + local[2 * e] * nk, curl.at + local[2 * e + 1] * nk,
                          diff + 2 * e, out + e * nk, 0, nk);
    }
  }
}

// The sums of `curl_row`, while each register of levels asks for those of the rows `m` that the next
// vertex needs.
template <class T>
inline void curl_asking(const T* __restrict vn, const T* __restrict c, T* __restrict to,
                        const int32_t* __restrict n, const int32_t* __restrict m, int64_t nk) {
  const T c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3], c4 = c[4], c5 = c[5];
  const T *p0 = vn + n[0] * nk, *p1 = vn + n[1] * nk, *p2 = vn + n[2] * nk;
  const T *p3 = vn + n[3] * nk, *p4 = vn + n[4] * nk, *p5 = vn + later(n[5], 0) * nk;
  const T *q0 = vn + m[0] * nk, *q1 = vn + m[1] * nk, *q2 = vn + m[2] * nk;
  const T *q3 = vn + m[3] * nk, *q4 = vn + m[4] * nk, *q5 = vn + later(m[5], 0) * nk;
  const bool whole = n[5] >= 0;
  over_levels<T>(0, nk, [&](int64_t k, auto lane) {
    using V = decltype(lane);
    __builtin_prefetch(q0 + k, 0, 2), __builtin_prefetch(q1 + k, 0, 2);
    __builtin_prefetch(q2 + k, 0, 2), __builtin_prefetch(q3 + k, 0, 2);
    __builtin_prefetch(q4 + k, 0, 2), __builtin_prefetch(q5 + k, 0, 2);
    const V five = load<V>(p0 + k) * c0 + load<V>(p1 + k) * c1 + load<V>(p2 + k) * c2 +
                   load<V>(p3 + k) * c3 + load<V>(p4 + k) * c4;
    store(to + k, whole ? five + load<V>(p5 + k) * c5 : five);
  });
}

// Two passes with the same loops.
template <class T, bool PAST>
void asking(const T* vn, const T* along, const T* diff, T* out, T* curl, const int32_t* v2e,
            const int32_t* e2v, int64_t nv, int64_t ne, int64_t nk, int64_t ahead) {
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (int64_t v = 0; v < nv; ++v)
      curl_asking(vn, along + 6 * v, curl + v * nk, v2e + 6 * v, v2e + 6 * (v + ahead < nv ? v + ahead : nv - 1), nk);
#pragma omp for schedule(static)
    for (int64_t e = 0; e < ne; ++e) {
      const int64_t f = e + ahead < ne ? e + ahead : ne - 1;
      const T *q0 = curl + e2v[2 * f] * nk, *q1 = curl + e2v[2 * f + 1] * nk;
      const T *a = curl + e2v[2 * e] * nk, *b = curl + e2v[2 * e + 1] * nk;
      const T d0 = diff[2 * e], d1 = diff[2 * e + 1];
      T* o = out + e * nk;
      over_levels<T>(0, nk, [&](int64_t k, auto lane) {
        using V = decltype(lane);
        __builtin_prefetch(q0 + k, 0, 2), __builtin_prefetch(q1 + k, 0, 2);
        const V value = load<V>(a + k) * d0 + load<V>(b + k) * d1;
        if constexpr (PAST) stream(o + k, value); else store(o + k, value);
      });
    }
  }
}

}  // namespace

#define INPUTS(T) const T *vn, const T *along, const T *diff, T *out
#define TABLES const int32_t *v2e, const int32_t *e2v
#define SIZES int64_t nv, int64_t ne, int64_t nk

#define IN_PRECISION(T, NAME)                                                                      \
  extern "C" void nabla2_two_passes_##NAME(INPUTS(T), T* curl, TABLES, SIZES) {                    \
    two_passes<T>(vn, along, diff, out, curl, v2e, e2v, nv, ne, nk);                               \
  }                                                                                                \
  extern "C" void nabla2_unrolled_##NAME(INPUTS(T), T* curl, TABLES, SIZES, int64_t ahead) {       \
    unrolled<T, false, false>(vn, along, diff, out, curl, v2e, e2v, nv, ne, nk, ahead);            \
  }                                                                                                \
  extern "C" void nabla2_streamed_##NAME(INPUTS(T), T* curl, TABLES, SIZES, int64_t ahead) {       \
    (can_stream(out, nk) ? unrolled<T, true, false> : unrolled<T, false, false>)(                  \
        vn, along, diff, out, curl, v2e, e2v, nv, ne, nk, ahead);                                  \
  }                                                                                                \
  extern "C" void nabla2_by_rows_##NAME(INPUTS(T), T* curl, TABLES, SIZES, int64_t ahead) {        \
    (can_stream(out, nk) ? unrolled<T, true, true> : unrolled<T, false, true>)(                    \
        vn, along, diff, out, curl, v2e, e2v, nv, ne, nk, ahead);                                  \
  }                                                                                                \
  extern "C" void nabla2_fused_##NAME(INPUTS(T), TABLES, SIZES) {                                  \
    fused<T>(vn, along, diff, out, v2e, e2v, nv, ne, nk);                                          \
  }                                                                                                \
  extern "C" void nabla2_k_blocks_##NAME(INPUTS(T), T* curl, TABLES, SIZES, int64_t block) {       \
    k_blocks<T>(vn, along, diff, out, curl, v2e, e2v, nv, ne, nk, block);                          \
  }                                                                                                \
  extern "C" void nabla2_sweep_##NAME(INPUTS(T), TABLES, const int32_t* from, const int32_t* upto, \
                                      SIZES, int64_t edges, int64_t ring, int64_t levels,          \
                                      int64_t ahead) {                                             \
    const bool past = can_stream(out, nk) && levels % (REGISTER / sizeof(T)) == 0;                 \
    (past ? sweep<T, true> : sweep<T, false>)(vn, along, diff, out, v2e, e2v, from, upto, nv, ne,  \
                                              nk, edges, ring, levels, ahead);                     \
  }                                                                                                \
  extern "C" void nabla2_tiles_##NAME(INPUTS(T), const int32_t* v2e, const int32_t* local,         \
                                      const int32_t* listed, const int32_t* begins, int64_t ne,    \
                                      int64_t nk, int64_t count, int64_t longest, int64_t ahead) { \
    (can_stream(out, nk) ? tiles<T, true> : tiles<T, false>)(                                      \
        vn, along, diff, out, v2e, local, listed, begins, ne, nk, count, longest, ahead);          \
  }                                                                                                \
  extern "C" void nabla2_asking_##NAME(INPUTS(T), T* curl, TABLES, SIZES, int64_t ahead) {         \
    (can_stream(out, nk) ? asking<T, true> : asking<T, false>)(                                    \
        vn, along, diff, out, curl, v2e, e2v, nv, ne, nk, ahead);                                  \
  }

IN_PRECISION(double, f64)
IN_PRECISION(float, f32)
