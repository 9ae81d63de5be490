// Hand-written gradient in cells from their three neighbours: what generated code is measured against.
//
// rise[n] = psi[c2e2c[c][n]] - psi[c]; x[c] = sum of rise[n] * east[c][n], y[c] the same with north.
//
// Fields are (cell, level) with levels contiguous; coefficients and the table (cell, neighbour).
// Compile: g++ -O3 -std=c++17 -march=native -fopenmp -shared -fPIC -ffp-contract=off -fno-trapping-math

#include "levels.h"

namespace {

// The simple loop: both outputs in one pass, levels in SIMD.
template <class T>
void simple(const T* __restrict psi, const T* __restrict east, const T* __restrict north,
            T* __restrict x, T* __restrict y, const int32_t* __restrict c2e2c, int64_t nc,
            int64_t nk) {
#pragma omp parallel for schedule(static)
  for (int64_t c = 0; c < nc; ++c) {
    const int32_t* n = c2e2c + 3 * c;
    const T *a = east + 3 * c, *b = north + 3 * c;
#pragma omp simd
    for (int64_t k = 0; k < nk; ++k) {
      const T own = psi[c * nk + k];
      const T r0 = psi[n[0] * nk + k] - own;
      const T r1 = psi[n[1] * nk + k] - own;
      const T r2 = psi[n[2] * nk + k] - own;
      x[c * nk + k] = r0 * a[0] + r1 * a[1] + r2 * a[2];
      y[c * nk + k] = r0 * b[0] + r1 * b[1] + r2 * b[2];
    }
  }
}

// Two passes, one for each output: what fusing them is worth.
template <class T>
void two_passes(const T* __restrict psi, const T* __restrict east, const T* __restrict north,
                T* __restrict x, T* __restrict y, const int32_t* __restrict c2e2c, int64_t nc,
                int64_t nk) {
  const T* weights[2] = {east, north};
  T* outs[2] = {x, y};
  for (int pass = 0; pass < 2; ++pass) {
#pragma omp parallel for schedule(static)
    for (int64_t c = 0; c < nc; ++c) {
      const int32_t* n = c2e2c + 3 * c;
      const T* w = weights[pass] + 3 * c;
      T* __restrict out = outs[pass] + c * nk;
#pragma omp simd
      for (int64_t k = 0; k < nk; ++k) {
        const T own = psi[c * nk + k];
        out[k] = (psi[n[0] * nk + k] - own) * w[0] + (psi[n[1] * nk + k] - own) * w[1] +
                 (psi[n[2] * nk + k] - own) * w[2];
      }
    }
  }
}

template <class T, bool PAST>
void rows(const T* psi, const T* east, const T* north, T* x, T* y, const int32_t* c2e2c,
          int64_t nc, int64_t nk, int64_t block, int64_t ahead) {
#pragma omp parallel
  for (int64_t first = 0; first < nk; first += block) {
    const int64_t last = first + block < nk ? first + block : nk;
#pragma omp for schedule(static)
    for (int64_t c = 0; c < nc; ++c) {
      if (ahead && c + ahead < nc)
        for (int s = 0; s < 3; ++s)
          expect(psi + c2e2c[3 * (c + ahead) + s] * nk + first, last - first);
      const int32_t* n = c2e2c + 3 * c;
      const T *p = psi + c * nk, *p0 = psi + n[0] * nk, *p1 = psi + n[1] * nk, *p2 = psi + n[2] * nk;
      const T a0 = east[3 * c], a1 = east[3 * c + 1], a2 = east[3 * c + 2];
      const T b0 = north[3 * c], b1 = north[3 * c + 1], b2 = north[3 * c + 2];
      over_levels<T>(first, last, [&](int64_t k, auto lane) {
        using V = decltype(lane);
        const V own = load<V>(p + k);
        const V r0 = load<V>(p0 + k) - own, r1 = load<V>(p1 + k) - own, r2 = load<V>(p2 + k) - own;
        const V to_east = r0 * a0 + r1 * a1 + r2 * a2, to_north = r0 * b0 + r1 * b1 + r2 * b2;
        if constexpr (PAST) {
          stream(x + c * nk + k, to_east);
          stream(y + c * nk + k, to_north);
        } else {
          store(x + c * nk + k, to_east);
          store(y + c * nk + k, to_north);
        }
      });
    }
  }
}

}  // namespace

#define ARGUMENTS(T)                                                                               \
  const T *psi, const T *east, const T *north, T *x, T *y, const int32_t *c2e2c, int64_t nc,       \
      int64_t nk
#define GIVEN psi, east, north, x, y, c2e2c, nc, nk

#define IN_PRECISION(T, NAME)                                                                      \
  extern "C" void gradient_simple_##NAME(ARGUMENTS(T)) { simple<T>(GIVEN); }                       \
  extern "C" void gradient_two_passes_##NAME(ARGUMENTS(T)) { two_passes<T>(GIVEN); }               \
  extern "C" void gradient_rows_##NAME(ARGUMENTS(T), int64_t block, int64_t ahead) {               \
    rows<T, false>(GIVEN, block, ahead);                                                           \
  }                                                                                                \
  extern "C" void gradient_streamed_##NAME(ARGUMENTS(T), int64_t block, int64_t ahead) {           \
    const bool whole = block % (REGISTER / sizeof(T)) == 0;                                        \
    const bool past = can_stream(x, nk) && can_stream(y, nk) && whole;                             \
    (past ? rows<T, true> : rows<T, false>)(GIVEN, block, ahead);                                  \
  }

IN_PRECISION(double, f64)
IN_PRECISION(float, f32)
