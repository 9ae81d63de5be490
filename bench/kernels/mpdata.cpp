// Hand-written MPDATA with flux correction, one step: what generated code is measured against.
//
// once = upwind(q, cx, cy); ax, ay = Courant numbers against the smearing; more, less = the room for in-
// and outflow (extrema of five cells of q and once); out = upwind(once, limited ax, limited ay).
//
// Fields are (j, i) with i contiguous; pointers are to the first cell of the core, `row` is the stride of j.
// cx[i] is the western face of cell i, cy the southern one. All arrays have a halo of 4 cells and one
// stride. Numbers are not NaN, so that an extremum is one instruction.
// Compile: g++ -O3 -std=c++17 -march=native -fopenmp -shared -fPIC -ffp-contract=off -fno-trapping-math

#include "simd.hpp"

namespace {

template <class T> inline T larger(T a, T b) { return a > b ? a : b; }
template <class T> inline T smaller(T a, T b) { return a < b ? a : b; }
inline double fma_(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float fma_(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
template <class T> constexpr T EPSILON = T(1e-15);

// What passes a face between cells of values `low` and `high`.
template <class T>
inline T flux(T low, T high, T c) {
  return fma_(larger(c, T(0)), low, smaller(c, T(0)) * high);
}

// Cells begin .. end of one row of upwind differences.
template <class T>
inline void upwind(T* __restrict o, const T* __restrict q, int64_t below, int64_t above,
                   const T* __restrict cx, const T* __restrict south, const T* __restrict north,
                   int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i)
    o[i] = q[i] - (flux(q[i], q[i + 1], cx[i + 1]) - flux(q[i - 1], q[i], cx[i])) -
           (flux(q[i], q[i + above], north[i]) - flux(q[i + below], q[i], south[i]));
}

template <class T>
inline void against_west(T* __restrict o, const T* __restrict p, const T* __restrict south,
                         const T* __restrict north, const T* __restrict cx, const T* __restrict cs,
                         const T* __restrict cn, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const T along = (p[i] - p[i - 1]) / (p[i] + p[i - 1] + EPSILON<T>);
    const T n = north[i] + north[i - 1], s = south[i] + south[i - 1];
    const T across = T(0.5) * (n - s) / (n + s + EPSILON<T>);
    const T middle = T(0.5) * (cs[i] + cn[i]) + T(0.5) * (cs[i - 1] + cn[i - 1]);
    const T c = cx[i], size = c < T(0) ? -c : c;
    o[i] = fma_(size - c * c, along, -(T(0.5) * c * middle * across));
  }
}

template <class T>
inline void against_south(T* __restrict o, const T* __restrict p, const T* __restrict s,
                          const T* __restrict cy, const T* __restrict cx, const T* __restrict cs,
                          int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const T along = (p[i] - s[i]) / (p[i] + s[i] + EPSILON<T>);
    const T e = p[i + 1] + s[i + 1], w = p[i - 1] + s[i - 1];
    const T across = T(0.5) * (e - w) / (e + w + EPSILON<T>);
    const T middle = T(0.5) * (cx[i] + cx[i + 1]) + T(0.5) * (cs[i] + cs[i + 1]);
    const T c = cy[i], size = c < T(0) ? -c : c;
    o[i] = fma_(size - c * c, along, -(T(0.5) * c * middle * across));
  }
}

template <class T>
inline void room(T* __restrict more, T* __restrict less, const T* __restrict p,
                 const T* __restrict ps, const T* __restrict pn, const T* __restrict q,
                 const T* __restrict qs, const T* __restrict qn, const T* __restrict ax,
                 const T* __restrict south, const T* __restrict north, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const T top = larger(
        larger(larger(larger(p[i + 1], q[i + 1]), larger(p[i - 1], q[i - 1])),
               larger(larger(pn[i], qn[i]), larger(ps[i], qs[i]))), larger(p[i], q[i]));
    const T bottom = smaller(
        smaller(smaller(smaller(p[i + 1], q[i + 1]), smaller(p[i - 1], q[i - 1])),
                smaller(smaller(pn[i], qn[i]), smaller(ps[i], qs[i]))), smaller(p[i], q[i]));
    const T w = flux(p[i - 1], p[i], ax[i]), e = flux(p[i], p[i + 1], ax[i + 1]);
    const T s = flux(ps[i], p[i], south[i]), n = flux(p[i], pn[i], north[i]);
    const T zero = T(0);
    const T in = larger(w, zero) - smaller(e, zero) + larger(s, zero) - smaller(n, zero);
    const T out = larger(e, zero) - smaller(w, zero) + larger(n, zero) - smaller(s, zero);
    more[i] = (top - p[i]) / (in + EPSILON<T>);
    less[i] = (p[i] - bottom) / (out + EPSILON<T>);
  }
}

// Limit the Courant numbers of faces; `before` is the cell behind a face in the rows of more and less.
template <class T>
inline void limit(T* __restrict o, const T* __restrict c, const T* __restrict more,
                  const T* __restrict less, const T* __restrict more_before,
                  const T* __restrict less_before, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i)
    o[i] = fma_(smaller(T(1), smaller(less_before[i], more[i])), larger(c[i], T(0)),
                smaller(T(1), smaller(more_before[i], less[i])) * smaller(c[i], T(0)));
}

// Loops over whole arrays, each value once.
template <class T>
void arrays(const T* q, const T* cx, const T* cy, T* out, T* once, T* ax, T* ay, T* more, T* less,
            T* lx, T* ly, int64_t ni, int64_t nj, int64_t row) {
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (int64_t j = -2; j < nj + 2; ++j) {
      const int64_t at = j * row;
      upwind(once + at, q + at, -row, row, cx + at, cy + at, cy + at + row, -2, ni + 2);
    }
#pragma omp for schedule(static)
    for (int64_t j = -1; j < nj + 2; ++j) {
      const int64_t at = j * row;
      if (j < nj + 1)
        against_west(ax + at, once + at, once + at - row, once + at + row, cx + at, cy + at,
                     cy + at + row, -1, ni + 2);
      against_south(ay + at, once + at, once + at - row, cy + at, cx + at, cx + at - row, -1, ni + 1);
    }
#pragma omp for schedule(static)
    for (int64_t j = -1; j < nj + 1; ++j) {
      const int64_t at = j * row;
      room(more + at, less + at, once + at, once + at - row, once + at + row, q + at, q + at - row,
           q + at + row, ax + at, ay + at, ay + at + row, -1, ni + 1);
    }
#pragma omp for schedule(static)
    for (int64_t j = 0; j < nj + 1; ++j) {
      const int64_t at = j * row;
      limit(lx + at, ax + at, more + at, less + at, more + at - 1, less + at - 1, 0, ni + 1);
      limit(ly + at, ay + at, more + at, less + at, more + at - row, less + at - row, 0, ni);
    }
#pragma omp for schedule(static)
    for (int64_t j = 0; j < nj; ++j) {
      const int64_t at = j * row;
      upwind(out + at, once + at, -row, row, lx + at, ly + at, ly + at + row, 0, ni);
    }
  }
}

// One sweep over blocks of rows, with the last rows of each value in a ring of the thread.
template <class T>
void rings(const T* q, const T* cx, const T* cy, T* out, int64_t ni, int64_t nj, int64_t row,
           int64_t block) {
  const int64_t blocks = (nj + block - 1) / block, RING = 4;
  const int64_t width = (ni + 16 + 63) / 64 * 64 + 3 * 64 / int64_t(sizeof(T));
#pragma omp parallel
  {
    T* memory = simd::buffer<T>(7 * RING * width + 64);
    const auto ring = [&](int k, int64_t j) {
      return memory + (k * RING + ((j + 64) & (RING - 1))) * width + 64 / int64_t(sizeof(T));
    };
#pragma omp for schedule(static)
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t first = b * block, last = first + block < nj ? first + block : nj;
      const auto once = [&](int64_t j) { return ring(0, j); };
      const auto ax = [&](int64_t j) { return ring(1, j); };
      const auto ay = [&](int64_t j) { return ring(2, j); };
      const auto more = [&](int64_t j) { return ring(3, j); };
      const auto less = [&](int64_t j) { return ring(4, j); };
      const auto lx = [&](int64_t j) { return ring(5, j); };
      const auto ly = [&](int64_t j) { return ring(6, j); };
      for (int64_t j = first - 4; j < last; ++j) {
        const auto at = [&](int64_t r) { return (j + r) * row; };
        upwind(once(j + 2), q + at(2), -row, row, cx + at(2), cy + at(2), cy + at(3), -2, ni + 2);
        if (j >= first - 3)
          against_south(ay(j + 2), once(j + 2), once(j + 1), cy + at(2), cx + at(2), cx + at(1), -1,
                        ni + 1);
        if (j < first - 2) continue;
        against_west(ax(j + 1), once(j + 1), once(j), once(j + 2), cx + at(1), cy + at(1), cy + at(2),
                     -1, ni + 2);
        room(more(j + 1), less(j + 1), once(j + 1), once(j), once(j + 2), q + at(1), q + at(0),
             q + at(2), ax(j + 1), ay(j + 1), ay(j + 2), -1, ni + 1);
        if (j < first - 1) continue;
        limit(ly(j + 1), ay(j + 1), more(j + 1), less(j + 1), more(j), less(j), 0, ni);
        if (j < first) continue;
        limit(lx(j), ax(j), more(j), less(j), more(j) - 1, less(j) - 1, 0, ni + 1);
        upwind(out + at(0), once(j), once(j - 1) - once(j), once(j + 1) - once(j), lx(j), ly(j),
               ly(j + 1), 0, ni);
      }
    }
    free(memory);
  }
}

}  // namespace

#define BOTH(T, SUFFIX)                                                                           \
  extern "C" void mpdata_arrays_##SUFFIX(const T* q, const T* cx, const T* cy, T* out, T* once,   \
                                         T* ax, T* ay, T* more, T* less, T* lx, T* ly,            \
                                         int64_t ni, int64_t nj, int64_t, int64_t row, int64_t) { \
    arrays<T>(q, cx, cy, out, once, ax, ay, more, less, lx, ly, ni, nj, row);                     \
  }                                                                                               \
  extern "C" void mpdata_rings_##SUFFIX(const T* q, const T* cx, const T* cy, T* out, int64_t ni, \
                                        int64_t nj, int64_t, int64_t row, int64_t) {              \
    rings<T>(q, cx, cy, out, ni, nj, row, 50);                                                    \
  }
BOTH(double, f64)
BOTH(float, f32)
