// Hand-written horizontal diffusion with flux limiter: what generated code is measured against.
//
// lap = 4 u - (u_ip + u_im + u_jp + u_jm);  flx = lap(i+1) - lap, 0 where it points up the gradient;
// out = u - coeff * (flx - flx(i-1) + fly - fly(j-1)).
//
// Fields are (k, j, i) with i contiguous; pointers are to the first cell of the core, `row` and `plane`
// are the strides of j and k. u has a halo of 2 cells in i and j, all arrays have the same strides,
// cells of i = 0 lie on cache lines, and rows have room for one register more than the core.
// Compile: g++ -O3 -std=c++17 -march=native -fopenmp -shared -fPIC -ffp-contract=off -fno-trapping-math

#include "simd.hpp"

namespace {

template <class T>
inline T lap(const T* p, int64_t row) {
  return T(4) * p[0] - (p[1] + p[-1] + p[row] + p[-row]);
}

template <class T>
inline T limited(T flux, T gradient) {
  return flux * gradient > T(0) ? T(0) : flux;
}

// Everything from u in one SIMD loop over i, threads over (k, j).
template <class T>
void recompute(const T* __restrict u, const T* __restrict coeff, T* __restrict out, int64_t ni,
               int64_t nj, int64_t nk, int64_t row, int64_t plane) {
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t k = 0; k < nk; ++k) {
    for (int64_t j = 0; j < nj; ++j) {
      const int64_t at = k * plane + j * row;
      const T* __restrict p = u + at;
      const T* __restrict c = coeff + at;
      T* __restrict o = out + at;
#pragma omp simd
      for (int64_t i = 0; i < ni; ++i) {
        const T* q = p + i;
        const T l = lap(q, row), le = lap(q + 1, row), lw = lap(q - 1, row);
        const T ln = lap(q + row, row), ls = lap(q - row, row);
        const T fe = limited(le - l, q[1] - q[0]), fw = limited(l - lw, q[0] - q[-1]);
        const T fn = limited(ln - l, q[row] - q[0]), fs = limited(l - ls, q[0] - q[-row]);
        o[i] = q[0] - c[i] * (fe - fw + fn - fs);
      }
    }
  }
}

// lap and fluxes of one plane in row buffers of the thread, each computed once.
template <class T>
void rows(const T* __restrict u, const T* __restrict coeff, T* __restrict out, int64_t ni,
          int64_t nj, int64_t nk, int64_t row, int64_t plane) {
  const int64_t block = 16, blocks = (nj + block - 1) / block;
#pragma omp parallel
  {
    T* memory = simd::buffer<T>(row * 6);
    T *la = memory, *lb = memory + row, *lc = memory + 2 * row, *fx = memory + 3 * row;
    T *fs = memory + 4 * row, *fn = memory + 5 * row;
#pragma omp for collapse(2) schedule(static)
    for (int64_t k = 0; k < nk; ++k) {
      for (int64_t b = 0; b < blocks; ++b) {
        const int64_t first = b * block, last = first + block < nj ? first + block : nj;
        const T* base = u + k * plane;
        const auto fill = [&](T* __restrict to, int64_t j) {
          const T* __restrict p = base + j * row;
#pragma omp simd
          for (int64_t i = -1; i <= ni; ++i) to[i + 1] = lap(p + i, row);
        };
        const auto flux = [&](T* __restrict to, const T* __restrict low, const T* __restrict high,
                              int64_t j) {
          const T* __restrict p = base + j * row;
#pragma omp simd
          for (int64_t i = 0; i < ni; ++i)
            to[i] = limited(high[i + 1] - low[i + 1], p[i + row] - p[i]);
        };
        fill(la, first - 1);
        fill(lb, first);
        flux(fs, la, lb, first - 1);
        for (int64_t j = first; j < last; ++j) {
          fill(lc, j + 1);
          flux(fn, lb, lc, j);
          const T* __restrict p = base + j * row;
#pragma omp simd
          for (int64_t i = -1; i < ni; ++i)
            fx[i + 1] = limited(lb[i + 2] - lb[i + 1], p[i + 1] - p[i]);
          const T* __restrict c = coeff + k * plane + j * row;
          T* __restrict o = out + k * plane + j * row;
#pragma omp simd
          for (int64_t i = 0; i < ni; ++i) o[i] = p[i] - c[i] * (fx[i + 1] - fx[i] + fn[i] - fs[i]);
          T* old = la;
          la = lb, lb = lc, lc = old;
          T* south = fs;
          fs = fn, fn = south;
        }
      }
    }
    free(memory);
  }
}

// The simple loops, with lap and both fluxes as whole arrays like u.
template <class T>
void arrays(const T* __restrict u, const T* __restrict coeff, T* __restrict out, T* __restrict laps,
            T* __restrict flx, T* __restrict fly, int64_t ni, int64_t nj, int64_t nk, int64_t row,
            int64_t plane) {
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t k = 0; k < nk; ++k)
    for (int64_t j = -1; j <= nj; ++j) {
      const int64_t at = k * plane + j * row;
#pragma omp simd
      for (int64_t i = -1; i <= ni; ++i) laps[at + i] = lap(u + at + i, row);
    }
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t k = 0; k < nk; ++k)
    for (int64_t j = -1; j < nj; ++j) {
      const int64_t at = k * plane + j * row;
#pragma omp simd
      for (int64_t i = -1; i < ni; ++i) {
        const int64_t x = at + i;
        flx[x] = limited(laps[x + 1] - laps[x], u[x + 1] - u[x]);
        fly[x] = limited(laps[x + row] - laps[x], u[x + row] - u[x]);
      }
    }
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t k = 0; k < nk; ++k)
    for (int64_t j = 0; j < nj; ++j) {
      const int64_t at = k * plane + j * row;
#pragma omp simd
      for (int64_t i = 0; i < ni; ++i) {
        const int64_t x = at + i;
        out[x] = u[x] - coeff[x] * (flx[x] - flx[x - 1] + fly[x] - fly[x - row]);
      }
    }
}

template <class V>
inline V limited_lanes(V flux, V gradient) {
  const V zero = {};
  return flux * gradient > zero ? zero : flux;
}

template <class T>
inline simd::Vector<T> lap_lanes(const T* p, int64_t row) {
  using simd::load;
  return T(4) * load(p) - (load(p + 1) + load(p - 1) + load(p + row) + load(p - row));
}

// Overlapped tiles of (j, i): one sweep over j, one row of lap and one of the northern flux in L1,
// the western flux handed from register to register, what comes from memory asked for 1 kB ahead: the
// streams of short rows end before the hardware has seen them. Results go past the caches if asked.
template <class T, bool past_caches>
void tiled(const T* __restrict u, const T* __restrict coeff, T* __restrict out, int64_t ni,
           int64_t nj, int64_t nk, int64_t row, int64_t plane) {
  using V = simd::Vector<T>;
  constexpr int64_t W = simd::WIDTH<T>;
  const int64_t wide = 8192 / sizeof(T), high = 64;
  const int64_t across = (ni + wide - 1) / wide, along = (nj + high - 1) / high;
#pragma omp parallel
  {
    T* laps = simd::buffer<T>(2 * (wide + 2 * W)) + W;  // laps[i] is lap of row j at tile's i
    T* south = laps + wide + W;
#pragma omp for collapse(3) schedule(static)
    for (int64_t k = 0; k < nk; ++k)
      for (int64_t tj = 0; tj < along; ++tj)
        for (int64_t ti = 0; ti < across; ++ti) {
          const int64_t begin = ti * wide, end = begin + wide < ni ? begin + wide : ni;
          const int64_t first = tj * high, last = first + high < nj ? first + high : nj;
          const int64_t count = (end - begin + W - 1) / W * W;
          const T* p = u + k * plane + first * row + begin;
          for (int64_t i = 0; i < count; i += W) {
            const V l = lap_lanes(p + i, row), ls = lap_lanes(p + i - row, row);
            simd::store(laps + i, l);
            simd::store(south + i, limited_lanes<V>(l - ls, simd::load(p + i) - simd::load(p + i - row)));
          }
          laps[count] = lap(p + count, row);
          for (int64_t j = first; j < last; ++j) {
            p = u + k * plane + j * row + begin;
            const T* c = coeff + k * plane + j * row + begin;
            T* o = out + k * plane + j * row + begin;
            V west = {};
            west[W - 1] = limited(laps[0] - lap(p - 1, row), p[0] - p[-1]);
            for (int64_t i = 0; i < count; i += W) {
              __builtin_prefetch(p + i + 2 * row + 16 * W);
              __builtin_prefetch(c + i + 16 * W);
              const V ln = lap_lanes(p + i + row, row), l = simd::load(laps + i);
              const V middle = simd::load(p + i);
              const V fe = limited_lanes<V>(simd::load(laps + i + 1) - l, simd::load(p + i + 1) - middle);
              const V fn = limited_lanes<V>(ln - l, simd::load(p + i + row) - middle);
              const V fw = simd::from_left<T>(west, fe), fs = simd::load(south + i);
              west = fe;
              simd::store(laps + i, ln);
              simd::store(south + i, fn);
              const V result = middle - simd::load(c + i) * (fe - fw + fn - fs);
              if (past_caches)
                simd::stream(o + i, result);
              else
                simd::store(o + i, result);
            }
            laps[count] = lap(p + count + row, row);
          }
        }
    simd::drain();
    free(laps - W);
  }
}

}  // namespace

#define VARIANT(NAME, FUNCTION, T, SUFFIX)                                                        \
  extern "C" void diffusion_##NAME##_##SUFFIX(const T* u, const T* coeff, T* out, int64_t ni,     \
                                              int64_t nj, int64_t nk, int64_t row, int64_t plane) { \
    FUNCTION(u, coeff, out, ni, nj, nk, row, plane);                                              \
  }
#define BOTH(T, SUFFIX)                                                                           \
  VARIANT(recompute, recompute<T>, T, SUFFIX)                                                     \
  VARIANT(rows, rows<T>, T, SUFFIX)                                                               \
  VARIANT(tiled, (tiled<T, false>), T, SUFFIX)                                                    \
  VARIANT(streamed, (tiled<T, true>), T, SUFFIX)                                                  \
  extern "C" void diffusion_arrays_##SUFFIX(const T* u, const T* coeff, T* out, T* laps, T* flx,  \
                                            T* fly, int64_t ni, int64_t nj, int64_t nk,           \
                                            int64_t row, int64_t plane) {                         \
    arrays<T>(u, coeff, out, laps, flx, fly, ni, nj, nk, row, plane);                             \
  }
BOTH(double, f64)
BOTH(float, f32)
