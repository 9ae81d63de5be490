// Hand-written fourth difference on the diamond around an edge: what generated code is measured against.
//
// wind[n] = u[d[n]] * nu[n] + v[d[n]] * nv[n] at the corners d = e2c2v[e]
// out[e] = 4 ((wind[0] + wind[1] - 2 lap) / length^2 + (wind[2] + wind[3] - 2 lap) / height^2)
//
// Fields are (element, level) with levels contiguous; coefficients and the table (edge, corner).
// Compile: g++ -O3 -std=c++17 -march=native -fopenmp -shared -fPIC -ffp-contract=off -fno-trapping-math

#include "levels.h"

namespace {

template <class T, bool PAST>
inline void edge_row(const T* u, const T* v, const T* lap, const T* nu, const T* nv, T length,
                     T height, T* out, const int32_t* d, int64_t nk, int64_t first, int64_t last) {
  const T u0 = nu[0], u1 = nu[1], u2 = nu[2], u3 = nu[3];
  const T v0 = nv[0], v1 = nv[1], v2 = nv[2], v3 = nv[3];
  const T a = length * length, b = height * height;
  const T *pu0 = u + d[0] * nk, *pu1 = u + d[1] * nk, *pu2 = u + d[2] * nk, *pu3 = u + d[3] * nk;
  const T *pv0 = v + d[0] * nk, *pv1 = v + d[1] * nk, *pv2 = v + d[2] * nk, *pv3 = v + d[3] * nk;
  over_levels<T>(first, last, [&](int64_t k, auto lane) {
    using V = decltype(lane);
    const V twice = load<V>(lap + k) * T(2);
    const V w0 = load<V>(pu0 + k) * u0 + load<V>(pv0 + k) * v0;
    const V w1 = load<V>(pu1 + k) * u1 + load<V>(pv1 + k) * v1;
    const V w2 = load<V>(pu2 + k) * u2 + load<V>(pv2 + k) * v2;
    const V w3 = load<V>(pu3 + k) * u3 + load<V>(pv3 + k) * v3;
    const V value = ((w0 + w1 - twice) * a + (w2 + w3 - twice) * b) * T(4);
    if constexpr (PAST)
      stream(out + k, value);
    else
      store(out + k, value);
  });
}

// The same with two corners' rows after the other: long runs of memory, sums in registers.
template <class T, bool PAST>
inline void edge_by_rows(const T* u, const T* v, const T* lap, const T* nu, const T* nv, T length,
                         T height, T* out, const int32_t* d, int64_t nk) {
  const T scale[2] = {length * length, height * height};
  over_chunks<T>(0, nk, [&](int64_t k, auto lane, auto count) {
    using V = decltype(lane);
    constexpr int N = decltype(count)::value, L = sizeof(V) / sizeof(T);
    V half[2][N];
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
#pragma GCC unroll 2
      for (int s = 2 * h; s < 2 * h + 2; ++s) {
        const T *pu = u + d[s] * nk + k, *pv = v + d[s] * nk + k;
        const T a = nu[s], b = nv[s];
#pragma GCC unroll 10
        for (int j = 0; j < N; ++j) {
          const V wind = load<V>(pu + j * L) * a + load<V>(pv + j * L) * b;
          half[h][j] = s == 2 * h ? wind : half[h][j] + wind;
        }
      }
    }
#pragma GCC unroll 10
    for (int j = 0; j < N; ++j) {
      const V twice = load<V>(lap + k + j * L) * T(2);
      const V value = ((half[0][j] - twice) * scale[0] + (half[1][j] - twice) * scale[1]) * T(4);
      if constexpr (PAST)
        stream(out + k + j * L, value);
      else
        store(out + k + j * L, value);
    }
  });
}

template <class T, bool PAST>
void by_rows(const T* u, const T* v, const T* lap, const T* nu, const T* nv, const T* length,
             const T* height, T* out, const int32_t* e2c2v, int64_t ne, int64_t nk) {
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < ne; ++e)
    edge_by_rows<T, PAST>(u, v, lap + e * nk, nu + 4 * e, nv + 4 * e, length[e], height[e],
                          out + e * nk, e2c2v + 4 * e, nk);
}

// The simple loop: an edge at a time, levels in SIMD.
template <class T>
void simple(const T* __restrict u, const T* __restrict v, const T* __restrict lap,
            const T* __restrict nu, const T* __restrict nv, const T* __restrict length,
            const T* __restrict height, T* __restrict out, const int32_t* __restrict e2c2v,
            int64_t ne, int64_t nk) {
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < ne; ++e) {
    const int32_t* d = e2c2v + 4 * e;
    const T *n = nu + 4 * e, *m = nv + 4 * e;
#pragma omp simd
    for (int64_t k = 0; k < nk; ++k) {
      const T w0 = u[d[0] * nk + k] * n[0] + v[d[0] * nk + k] * m[0];
      const T w1 = u[d[1] * nk + k] * n[1] + v[d[1] * nk + k] * m[1];
      const T w2 = u[d[2] * nk + k] * n[2] + v[d[2] * nk + k] * m[2];
      const T w3 = u[d[3] * nk + k] * n[3] + v[d[3] * nk + k] * m[3];
      const T twice = T(2) * lap[e * nk + k];
      out[e * nk + k] = T(4) * ((w0 + w1 - twice) * (length[e] * length[e]) +
                                (w2 + w3 - twice) * (height[e] * height[e]));
    }
  }
}

// Levels in blocks (`block` may be all), rows `ahead` edges further asked for early (0: none).
template <class T, bool PAST>
void rows(const T* u, const T* v, const T* lap, const T* nu, const T* nv, const T* length,
          const T* height, T* out, const int32_t* e2c2v, int64_t ne, int64_t nk, int64_t block,
          int64_t ahead) {
#pragma omp parallel
  for (int64_t first = 0; first < nk; first += block) {
    const int64_t last = first + block < nk ? first + block : nk;
#pragma omp for schedule(static)
    for (int64_t e = 0; e < ne; ++e) {
      if (ahead && e + ahead < ne)
        for (int n = 0; n < 4; ++n) {
          expect(u + e2c2v[4 * (e + ahead) + n] * nk + first, last - first);
          expect(v + e2c2v[4 * (e + ahead) + n] * nk + first, last - first);
        }
      edge_row<T, PAST>(u, v, lap + e * nk, nu + 4 * e, nv + 4 * e, length[e], height[e],
                        out + e * nk, e2c2v + 4 * e, nk, first, last);
    }
  }
}

}  // namespace

#define ARGUMENTS(T)                                                                               \
  const T *u, const T *v, const T *lap, const T *nu, const T *nv, const T *length,                 \
      const T *height, T *out, const int32_t *e2c2v, int64_t ne, int64_t nk
#define GIVEN u, v, lap, nu, nv, length, height, out, e2c2v, ne, nk

#define IN_PRECISION(T, NAME)                                                                      \
  extern "C" void nabla4_simple_##NAME(ARGUMENTS(T)) { simple<T>(GIVEN); }                         \
  extern "C" void nabla4_by_rows_##NAME(ARGUMENTS(T)) {                                            \
    (can_stream(out, nk) ? by_rows<T, true> : by_rows<T, false>)(GIVEN);                           \
  }                                                                                                \
  extern "C" void nabla4_rows_##NAME(ARGUMENTS(T), int64_t block, int64_t ahead) {                 \
    rows<T, false>(GIVEN, block, ahead);                                                           \
  }                                                                                                \
  extern "C" void nabla4_streamed_##NAME(ARGUMENTS(T), int64_t block, int64_t ahead) {             \
    const bool whole = block % (REGISTER / sizeof(T)) == 0;                                        \
    (can_stream(out, nk) && whole ? rows<T, true> : rows<T, false>)(GIVEN, block, ahead);          \
  }

IN_PRECISION(double, f64)
IN_PRECISION(float, f32)
