// Hand-written tridiagonal solve, one system for each column, levels outermost and i contiguous.
//
// cp = c / (b - a cp_above), dp = (d - a dp_above) / (b - a cp_above), then x = dp - cp x_below.
// Pointers are to the first cell; `row` and `plane` are the strides of j and k, row a whole number of lines.

#include "simd.hpp"

namespace {

// Levels outside, SIMD over all columns inside, cp and dp as whole arrays.
template <class T>
void whole(const T* __restrict a, const T* __restrict b, const T* __restrict c,
           const T* __restrict d, T* __restrict x, T* __restrict cp, T* __restrict dp, int64_t ni,
           int64_t nj, int64_t nk, int64_t row, int64_t plane) {
#pragma omp parallel
  {
    for (int64_t k = 0; k < nk; ++k) {
#pragma omp for schedule(static) nowait
      for (int64_t j = 0; j < nj; ++j) {
        const int64_t at = k * plane + j * row;
        if (k == 0) {
#pragma omp simd
          for (int64_t i = at; i < at + ni; ++i) cp[i] = c[i] / b[i], dp[i] = d[i] / b[i];
        } else {
#pragma omp simd
          for (int64_t i = at; i < at + ni; ++i) {
            const T pivot = b[i] - a[i] * cp[i - plane];
            cp[i] = c[i] / pivot;
            dp[i] = (d[i] - a[i] * dp[i - plane]) / pivot;
          }
        }
      }
    }
    for (int64_t k = nk - 1; k >= 0; --k) {
#pragma omp for schedule(static) nowait
      for (int64_t j = 0; j < nj; ++j) {
        const int64_t at = k * plane + j * row;
        if (k == nk - 1) {
#pragma omp simd
          for (int64_t i = at; i < at + ni; ++i) x[i] = dp[i];
        } else {
#pragma omp simd
          for (int64_t i = at; i < at + ni; ++i) x[i] = dp[i] - cp[i] * x[i + plane];
        }
      }
    }
  }
}

// Chunks of columns: both sweeps over one chunk before the next, cp and dp in a buffer of the thread
// that stays in L2, the state of a register of columns carried in L1.
template <class T, int64_t lanes, bool past_caches>
void chunks(const T* __restrict a, const T* __restrict b, const T* __restrict c,
            const T* __restrict d, T* __restrict x, int64_t, int64_t nj, int64_t nk, int64_t row,
            int64_t plane) {
  using V = simd::Vector<T>;
  using simd::load, simd::store;
  constexpr int64_t W = simd::WIDTH<T>, size = lanes * 8 / sizeof(T);  // columns of a chunk
  const int64_t columns = nj * row, count = (columns + size - 1) / size;
#pragma omp parallel
  {
    T* kept = simd::buffer<T>((2 * nk + 1) * size);
    T* below = kept + 2 * nk * size;
#pragma omp for schedule(static)
    for (int64_t n = 0; n < count; ++n) {
      const int64_t first = n * size, width = columns - first < size ? columns - first : size;
      for (int64_t k = 0; k < nk; ++k) {
        const int64_t at = k * plane + first;
        T *cp = kept + 2 * k * size, *dp = cp + size;
        for (int64_t i = 0; i < width; i += W) {
          V old_cp = {}, old_dp = {};
          if (k > 0) old_cp = load(cp - 2 * size + i), old_dp = load(dp - 2 * size + i);
          const V lower = load(a + at + i);
          const V pivot = load(b + at + i) - lower * old_cp;
          store(cp + i, load(c + at + i) / pivot);
          store(dp + i, (load(d + at + i) - lower * old_dp) / pivot);
        }
      }
      for (int64_t i = 0; i < size; ++i) below[i] = T(0);
      for (int64_t k = nk - 1; k >= 0; --k) {
        const T *cp = kept + 2 * k * size, *dp = cp + size;
        T* to = x + k * plane + first;
        for (int64_t i = 0; i < width; i += W) {
          const V here = load(dp + i) - load(cp + i) * load(below + i);
          store(below + i, here);
          if (past_caches)
            simd::stream(to + i, here);
          else
            store(to + i, here);
        }
      }
    }
    simd::drain();
    free(kept);
  }
}

}  // namespace

#define CHUNKS(NAME, LANES, PAST, T, SUFFIX)                                                       \
  extern "C" void tridiagonal_##NAME##_##SUFFIX(const T* a, const T* b, const T* c, const T* d,    \
                                                T* x, int64_t ni, int64_t nj, int64_t nk,          \
                                                int64_t row, int64_t plane) {                      \
    chunks<T, LANES, PAST>(a, b, c, d, x, ni, nj, nk, row, plane);                                 \
  }
#define BOTH(T, SUFFIX)                                                                            \
  extern "C" void tridiagonal_whole_##SUFFIX(const T* a, const T* b, const T* c, const T* d, T* x, \
                                             T* cp, T* dp, int64_t ni, int64_t nj, int64_t nk,     \
                                             int64_t row, int64_t plane) {                         \
    whole<T>(a, b, c, d, x, cp, dp, ni, nj, nk, row, plane);                                       \
  }                                                                                                \
  CHUNKS(chunks128, 128, false, T, SUFFIX)                                                         \
  CHUNKS(chunks256, 256, false, T, SUFFIX)                                                         \
  CHUNKS(chunks512, 512, false, T, SUFFIX)                                                         \
  CHUNKS(streamed128, 128, true, T, SUFFIX)                                                        \
  CHUNKS(streamed256, 256, true, T, SUFFIX)                                                        \
  CHUNKS(streamed512, 512, true, T, SUFFIX)
BOTH(double, f64)
BOTH(float, f32)
