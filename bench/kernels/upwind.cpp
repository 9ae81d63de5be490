// Hand-written upwind differences on a plane: what generated code is measured against.
//
// out = q - (west(i+1) - west(i)) - (south(j+1) - south(j)); a flux is max(c, 0) q(i-1) + min(c, 0) q(i).
//
// Fields are (j, i) with i contiguous; pointers are to the first cell of the core, `row` is the stride of
// j. cx[i] is the western face of cell i, cy the southern one. Numbers are not NaN.

#include "simd.hpp"

namespace {

template <class T>
inline T flux(T low, T high, T c) {
  return (c > T(0) ? c : T(0)) * low + (c < T(0) ? c : T(0)) * high;
}

template <class T>
void row_of(const T* __restrict q, const T* __restrict cx, const T* __restrict cy, T* __restrict out,
            int64_t ni, int64_t row) {
#pragma omp simd
  for (int64_t i = 0; i < ni; ++i)
    out[i] = q[i] - (flux(q[i], q[i + 1], cx[i + 1]) - flux(q[i - 1], q[i], cx[i])) -
             (flux(q[i], q[i + row], cy[i + row]) - flux(q[i - row], q[i], cy[i]));
}

template <class T>
void rows(const T* q, const T* cx, const T* cy, T* out, int64_t ni, int64_t nj, int64_t, int64_t row,
          int64_t) {
  for (int64_t at = 0; at < nj * row; at += row) row_of(q + at, cx + at, cy + at, out + at, ni, row);
}

template <class T>
void shared(const T* q, const T* cx, const T* cy, T* out, int64_t ni, int64_t nj, int64_t,
            int64_t row, int64_t) {
#pragma omp parallel for schedule(static)
  for (int64_t at = 0; at < nj * row; at += row) row_of(q + at, cx + at, cy + at, out + at, ni, row);
}

}  // namespace

#define VARIANT(NAME, T, SUFFIX)                                                                 \
  extern "C" void upwind_##NAME##_##SUFFIX(const T* q, const T* cx, const T* cy, T* out, int64_t ni, \
                                           int64_t nj, int64_t nk, int64_t row, int64_t plane) {   \
    NAME(q, cx, cy, out, ni, nj, nk, row, plane);                                                \
  }
VARIANT(rows, double, f64)
VARIANT(rows, float, f32)
VARIANT(shared, double, f64)
VARIANT(shared, float, f32)
