// Hand-written Laplacians of 7 and of 27 points.
//
// Fields are (k, j, i) with i contiguous and a halo of 1 cell in all directions; pointers are to the first
// cell of the core, `row` and `plane` the strides of j and k. i = 0 lies on a cache line, with a register
// of cells before it and one behind the last register of the core.

#include "simd.hpp"

namespace {

using simd::load;

constexpr double CENTRE = -128.0 / 30.0, FACE = 14.0 / 30.0, EDGE = 3.0 / 30.0, CORNER = 1.0 / 30.0;
constexpr int64_t AHEAD = 16;  // registers of the level below that are asked for before their turn

template <class T>
inline T six(const T* p, int64_t row, int64_t plane) {
  return p[1] + p[-1] + p[row] + p[-row] + p[plane] + p[-plane] - T(6) * p[0];
}

template <class T>
inline T sides(const T* p, int64_t row, int64_t plane) {
  return p[-row] + p[row] + p[-plane] + p[plane];
}

template <class T>
inline T diagonals(const T* p, int64_t row, int64_t plane) {
  return p[-row - plane] + p[row - plane] + p[-row + plane] + p[row + plane];
}

template <class T, class V>
inline V weighted(V u, V ends, V near, V near_ends, V far, V far_ends) {
  return T(CENTRE) * u + T(FACE) * (ends + near) + T(EDGE) * (near_ends + far) +
         T(CORNER) * far_ends;
}

// One SIMD loop over i, threads over (k, j).
template <class T>
void seven_loop(const T* __restrict u, T* __restrict out, int64_t ni, int64_t nj, int64_t nk,
                int64_t row, int64_t plane) {
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t k = 0; k < nk; ++k)
    for (int64_t j = 0; j < nj; ++j) {
      const int64_t at = k * plane + j * row;
#pragma omp simd
      for (int64_t i = at; i < at + ni; ++i) out[i] = six(u + i, row, plane);
    }
}

template <class T>
void all_loop(const T* __restrict u, T* __restrict out, int64_t ni, int64_t nj, int64_t nk,
              int64_t row, int64_t plane) {
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t k = 0; k < nk; ++k)
    for (int64_t j = 0; j < nj; ++j) {
      const int64_t at = k * plane + j * row;
#pragma omp simd
      for (int64_t i = at; i < at + ni; ++i) {
        const T* p = u + i;
        const T near_ends = sides(p - 1, row, plane) + sides(p + 1, row, plane);
        const T far_ends = diagonals(p - 1, row, plane) + diagonals(p + 1, row, plane);
        out[i] = weighted<T, T>(p[0], p[-1] + p[1], sides(p, row, plane), near_ends,
                                diagonals(p, row, plane), far_ends);
      }
    }
}

// As the multigrid kernel of the NAS parallel benchmarks has it: both sums of a row in L1.
template <class T>
void all_rows(const T* __restrict u, T* __restrict out, int64_t ni, int64_t nj, int64_t nk,
              int64_t row, int64_t plane) {
#pragma omp parallel
  {
    T* near = simd::buffer<T>(2 * row) + 1;
    T* far = near + row;
#pragma omp for collapse(2) schedule(static)
    for (int64_t k = 0; k < nk; ++k)
      for (int64_t j = 0; j < nj; ++j) {
        const T* __restrict p = u + k * plane + j * row;
        T* __restrict o = out + k * plane + j * row;
#pragma omp simd
        for (int64_t i = -1; i <= ni; ++i) {
          near[i] = sides(p + i, row, plane);
          far[i] = diagonals(p + i, row, plane);
        }
#pragma omp simd
        for (int64_t i = 0; i < ni; ++i)
          o[i] = weighted<T, T>(p[i], p[i - 1] + p[i + 1], near[i], near[i - 1] + near[i + 1],
                                far[i], far[i - 1] + far[i + 1]);
      }
    free(near - 1);
  }
}

template <class T>
inline simd::Vector<T> sides_lanes(const T* p, int64_t row, int64_t plane) {
  return load(p - row) + load(p + row) + load(p - plane) + load(p + plane);
}

template <class T>
inline simd::Vector<T> diagonals_lanes(const T* p, int64_t row, int64_t plane) {
  return load(p - row - plane) + load(p + row - plane) + load(p - row + plane) +
         load(p + row + plane);
}

template <class T, bool past_caches>
inline void put(T* to, simd::Vector<T> value) {
  if (past_caches)
    simd::stream(to, value);
  else
    simd::store(to, value);
}

// One row of 7 points, a register at a time.
template <class T, bool past_caches>
struct Seven {
  static void row_of(const T* p, T* o, int64_t ni, int64_t row, int64_t plane) {
    for (int64_t i = 0; i < ni; i += simd::WIDTH<T>) {
      const T* q = p + i;
      __builtin_prefetch(q + plane + AHEAD * simd::WIDTH<T>);
      put<T, past_caches>(o + i, load(q + 1) + load(q - 1) + load(q + row) + load(q - row) +
                                     load(q + plane) + load(q - plane) - T(6) * load(q));
    }
  }
};

// One row of 27 points: the sums across I are made once a register and shifted between registers.
template <class T, bool past_caches>
struct All {
  static void row_of(const T* p, T* o, int64_t ni, int64_t row, int64_t plane) {
    using V = simd::Vector<T>;
    constexpr int64_t W = simd::WIDTH<T>;
    V near_west = sides_lanes(p - W, row, plane), near = sides_lanes(p, row, plane);
    V far_west = diagonals_lanes(p - W, row, plane), far = diagonals_lanes(p, row, plane);
    for (int64_t i = 0; i < ni; i += W) {
      __builtin_prefetch(p + i + plane + row + AHEAD * W);
      const V near_east = sides_lanes(p + i + W, row, plane);
      const V far_east = diagonals_lanes(p + i + W, row, plane);
      const V near_ends = simd::from_left<T>(near_west, near) + simd::from_right<T>(near, near_east);
      const V far_ends = simd::from_left<T>(far_west, far) + simd::from_right<T>(far, far_east);
      const V ends = load(p + i - 1) + load(p + i + 1);
      put<T, past_caches>(o + i, weighted<T, V>(load(p + i), ends, near, near_ends, far, far_ends));
      near_west = near, near = near_east;
      far_west = far, far = far_east;
    }
  }
};

// Blocks of rows through which the levels march: three levels of a block of u stay in L2.
template <class T, class Row>
void blocks(const T* __restrict u, T* __restrict out, int64_t ni, int64_t nj, int64_t nk,
            int64_t row, int64_t plane) {
  const int64_t fits = 320 * 1024 / (3 * row * static_cast<int64_t>(sizeof(T)));
  const int64_t high = fits < 8 ? 8 : fits, deep = 20;
  const int64_t along = (nj + high - 1) / high, down = (nk + deep - 1) / deep;
#pragma omp parallel
  {
#pragma omp for collapse(2) schedule(static)
    for (int64_t tk = 0; tk < down; ++tk)
      for (int64_t tj = 0; tj < along; ++tj) {
        const int64_t k_end = (tk + 1) * deep < nk ? (tk + 1) * deep : nk;
        const int64_t j_end = (tj + 1) * high < nj ? (tj + 1) * high : nj;
        for (int64_t k = tk * deep; k < k_end; ++k)
          for (int64_t j = tj * high; j < j_end; ++j) {
            const int64_t at = k * plane + j * row;
            Row::row_of(u + at, out + at, ni, row, plane);
          }
      }
    simd::drain();
  }
}

}  // namespace

#define VARIANT(NAME, T, SUFFIX, ...)                                                              \
  extern "C" void laplacians_##NAME##_##SUFFIX(const T* u, T* out, int64_t ni, int64_t nj,         \
                                               int64_t nk, int64_t row, int64_t plane) {           \
    __VA_ARGS__(u, out, ni, nj, nk, row, plane);                                                   \
  }
#define BOTH(T, SUFFIX)                                                                            \
  VARIANT(seven_loop, T, SUFFIX, seven_loop<T>)                                                    \
  VARIANT(seven_blocks, T, SUFFIX, blocks<T, Seven<T, false>>)                                     \
  VARIANT(seven_streamed, T, SUFFIX, blocks<T, Seven<T, true>>)                                    \
  VARIANT(all_loop, T, SUFFIX, all_loop<T>)                                                        \
  VARIANT(all_rows, T, SUFFIX, all_rows<T>)                                                        \
  VARIANT(all_blocks, T, SUFFIX, blocks<T, All<T, false>>)                                         \
  VARIANT(all_streamed, T, SUFFIX, blocks<T, All<T, true>>)
BOTH(double, f64)
BOTH(float, f32)
