// Hand-written implicit vertical advection: the coefficients, two sweeps, and the tendency in one pass.
//
// Levels outermost, i contiguous; pointers are to the first cell of the core, `row` and `plane` are the
// strides of j and k. w has one level more and one cell more in i; rows have room for a register more.

#include "simd.hpp"

namespace {

constexpr double NEW = 0.5 * (1.0 + 0.2), OLD = 0.5 * (1.0 - 0.2);

// One level of the sweep downwards, for numbers and for registers.
template <class T, class V>
inline void eliminate(V up, V down, V u_above, V u, V u_below, V before, V tendency, T per_step,
                      V& cp, V& dp) {
  const V from_above = up * (u - u_above), from_below = down * (u_below - u);
  const V a = T(-NEW) * up, c = T(NEW) * down, b = per_step - a - c;
  const V d = per_step * before + tendency - T(OLD) * (from_above + from_below);
  const V inverse = T(1) / (b - a * cp);
  cp = c * inverse;
  dp = (d - a * dp) * inverse;
}

// Levels outside, SIMD over all columns inside, cp and dp as whole arrays.
template <class T>
void whole(const T* __restrict u, const T* __restrict before, const T* __restrict w,
           const T* __restrict tendency, T* __restrict out, T* __restrict cp, T* __restrict dp,
           T per_step, int64_t ni, int64_t nj, int64_t nk, int64_t row, int64_t plane) {
#pragma omp parallel
  {
    for (int64_t k = 0; k < nk; ++k) {
      // at the top and the bottom a neighbour stands for itself: its difference is multiplied by 0
      const int64_t over = k > 0 ? plane : 0, under = k < nk - 1 ? plane : 0;
      const T open_above = k > 0 ? T(0.25) : T(0), open_below = k < nk - 1 ? T(0.25) : T(0);
#pragma omp for schedule(static) nowait
      for (int64_t j = 0; j < nj; ++j) {
        const int64_t at = k * plane + j * row;
#pragma omp simd
        for (int64_t i = at; i < at + ni; ++i) {
          T kept_cp = k > 0 ? cp[i - over] : T(0), kept_dp = k > 0 ? dp[i - over] : T(0);
          const T up = open_above * (w[i + 1] + w[i]);
          const T down = open_below * (w[i + plane + 1] + w[i + plane]);
          eliminate<T, T>(up, down, u[i - over], u[i], u[i + under], before[i], tendency[i],
                          per_step, kept_cp, kept_dp);
          cp[i] = kept_cp, dp[i] = kept_dp;
        }
      }
    }
    for (int64_t k = nk - 1; k >= 0; --k) {
#pragma omp for schedule(static) nowait
      for (int64_t j = 0; j < nj; ++j) {
        const int64_t at = k * plane + j * row;
        if (k == nk - 1) {
#pragma omp simd
          for (int64_t i = at; i < at + ni; ++i) out[i] = per_step * (dp[i] - before[i]);
        } else {
#pragma omp simd
          for (int64_t i = at; i < at + ni; ++i) {
            dp[i] = dp[i] - cp[i] * dp[i + plane];
            out[i] = per_step * (dp[i] - before[i]);
          }
        }
      }
    }
  }
}

// Chunks of columns: both sweeps over one chunk before the next, cp and dp in a buffer that stays in
// L2, the flow through the face below handed to the next level through L1.
template <class T, int64_t lanes, bool past_caches>
void chunks(const T* __restrict u, const T* __restrict before, const T* __restrict w,
            const T* __restrict tendency, T* __restrict out, T per_step, int64_t ni, int64_t nj,
            int64_t nk, int64_t row, int64_t plane) {
  using V = simd::Vector<T>;
  using simd::load, simd::store;
  constexpr int64_t W = simd::WIDTH<T>, size = lanes * 8 / sizeof(T);
  const int64_t padded = (ni + W - 1) / W * W, wide = padded < size ? padded : size;
  const int64_t high = size / wide, across = (ni + wide - 1) / wide, along = (nj + high - 1) / high;
#pragma omp parallel
  {
    T* kept = simd::buffer<T>((2 * nk + 2) * size);
    T *faces = kept + 2 * nk * size, *below = faces + size;
#pragma omp for collapse(2) schedule(static)
    for (int64_t tj = 0; tj < along; ++tj)
      for (int64_t ti = 0; ti < across; ++ti) {
        const int64_t first = ti * wide, width = padded - first < wide ? padded - first : wide;
        const int64_t low = tj * high, rows = nj - low < high ? nj - low : high;
        for (int64_t i = 0; i < size; ++i) faces[i] = below[i] = T(0);
        for (int64_t k = 0; k < nk; ++k) {
          const int64_t over = k > 0 ? plane : 0, under = k < nk - 1 ? plane : 0;
          const T open = k < nk - 1 ? T(0.25) : T(0);
          for (int64_t j = 0; j < rows; ++j) {
            const int64_t at = k * plane + (low + j) * row + first;
            T *cps = kept + 2 * k * size + j * wide, *dps = cps + size, *face = faces + j * wide;
            for (int64_t i = 0; i < width; i += W) {
              const T* here = u + at + i;
              const T* flow = w + at + i + plane;
              V cp = {}, dp = {};
              if (k > 0) cp = load(cps - 2 * size + i), dp = load(dps - 2 * size + i);
              const V up = load(face + i), down = open * (load(flow + 1) + load(flow));
              eliminate<T, V>(up, down, load(here - over), load(here), load(here + under),
                              load(before + at + i), load(tendency + at + i), per_step, cp, dp);
              store(face + i, down);
              store(cps + i, cp);
              store(dps + i, dp);
            }
          }
        }
        for (int64_t k = nk - 1; k >= 0; --k)
          for (int64_t j = 0; j < rows; ++j) {
            const int64_t at = k * plane + (low + j) * row + first;
            const T *cps = kept + 2 * k * size + j * wide, *dps = cps + size;
            T* under = below + j * wide;
            for (int64_t i = 0; i < width; i += W) {
              const V x = load(dps + i) - load(cps + i) * load(under + i);
              store(under + i, x);
              const V result = per_step * (x - load(before + at + i));
              if (past_caches)
                simd::stream(out + at + i, result);
              else
                store(out + at + i, result);
            }
          }
      }
    simd::drain();
    free(kept);
  }
}

}  // namespace

#define CHUNKS(NAME, LANES, PAST, T, SUFFIX)                                                       \
  extern "C" void vertical_advection_##NAME##_##SUFFIX(                                            \
      const T* u, const T* before, const T* w, const T* tendency, T* out, T per_step, int64_t ni,  \
      int64_t nj, int64_t nk, int64_t row, int64_t plane) {                                        \
    chunks<T, LANES, PAST>(u, before, w, tendency, out, per_step, ni, nj, nk, row, plane);         \
  }
#define BOTH(T, SUFFIX)                                                                            \
  extern "C" void vertical_advection_whole_##SUFFIX(                                               \
      const T* u, const T* before, const T* w, const T* tendency, T* out, T* cp, T* dp,            \
      T per_step, int64_t ni, int64_t nj, int64_t nk, int64_t row, int64_t plane) {                \
    whole<T>(u, before, w, tendency, out, cp, dp, per_step, ni, nj, nk, row, plane);               \
  }                                                                                                \
  CHUNKS(chunks128, 128, false, T, SUFFIX)                                                         \
  CHUNKS(chunks256, 256, false, T, SUFFIX)                                                         \
  CHUNKS(streamed128, 128, true, T, SUFFIX)                                                        \
  CHUNKS(streamed256, 256, true, T, SUFFIX)                                                        \
  CHUNKS(streamed512, 512, true, T, SUFFIX)
BOTH(double, f64)
BOTH(float, f32)
