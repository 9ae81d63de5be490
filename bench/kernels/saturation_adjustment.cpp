// Hand-written saturation adjustment: four Newton steps at each point.
//
// Pointers are to the first cell; `row` and `plane` are the strides of j and k, i is contiguous.

#include <cmath>

#include "simd.hpp"

#if defined(__AVX512F__)
// The exponentials of libmvec, which gcc itself takes under -ffast-math only.
extern "C" __m512d _ZGVeN8v_exp(__m512d);
extern "C" __m512 _ZGVeN16v_expf(__m512);
#endif

namespace {

constexpr double VAPOUR_GAS = 461.51, HEATING = 2.5008e6 / 717.6, PRESSURE = 610.78;
constexpr double MELTING = 273.16, SLOPE = 17.2693882, POLE = 35.86;

struct Library {
  static double exp(double x) { return std::exp(x); }
  static float exp(float x) { return std::exp(x); }
};

#if defined(__AVX512F__)
using Doubles = simd::Vector<double>;
using Floats = simd::Vector<float>;

struct Vectors {
  static Doubles exp(Doubles x) { return _ZGVeN8v_exp(x); }
  static Floats exp(Floats x) { return _ZGVeN16v_expf(x); }
};

// x = n ln 2 + r, a polynomial of r, times 2^n; for arguments whose result is a normal number.
struct Polynomial {
  static Doubles exp(Doubles x) {
    const Doubles n = _mm512_roundscale_pd(x * 1.4426950408889634, _MM_FROUND_TO_NEAREST_INT);
    Doubles r = _mm512_fmadd_pd(n, _mm512_set1_pd(-6.93147180369123816490e-01), x);
    r = _mm512_fmadd_pd(n, _mm512_set1_pd(-1.90821492927058770002e-10), r);
    const double terms[] = {1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0,
                            1.0 / 40320.0,     1.0 / 5040.0,     1.0 / 720.0,     1.0 / 120.0,
                            1.0 / 24.0,        1.0 / 6.0,        0.5,             1.0, 1.0};
    Doubles sum = _mm512_set1_pd(1.0 / 6227020800.0);
    for (const double term : terms) sum = _mm512_fmadd_pd(sum, r, _mm512_set1_pd(term));
    return _mm512_scalef_pd(sum, n);
  }
  static Floats exp(Floats x) {
    const Floats n = _mm512_roundscale_ps(x * 1.44269504f, _MM_FROUND_TO_NEAREST_INT);
    Floats r = _mm512_fmadd_ps(n, _mm512_set1_ps(-0.693359375f), x);
    r = _mm512_fmadd_ps(n, _mm512_set1_ps(2.12194440e-4f), r);
    const float terms[] = {1.0f / 720.0f, 1.0f / 120.0f, 1.0f / 24.0f, 1.0f / 6.0f,
                           0.5f,          1.0f,          1.0f};
    Floats sum = _mm512_set1_ps(1.0f / 5040.0f);
    for (const float term : terms) sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(term));
    return _mm512_scalef_ps(sum, n);
  }
};
#endif

// Two registers as one: the chain of one hides behind that of the other.
template <class T>
struct Two {
  simd::Vector<T> a, b;
};
template <class T>
inline Two<T> operator+(Two<T> x, Two<T> y) {
  return {x.a + y.a, x.b + y.b};
}
template <class T>
inline Two<T> operator-(Two<T> x, Two<T> y) {
  return {x.a - y.a, x.b - y.b};
}
template <class T>
inline Two<T> operator*(Two<T> x, Two<T> y) {
  return {x.a * y.a, x.b * y.b};
}
template <class T>
inline Two<T> operator/(Two<T> x, Two<T> y) {
  return {x.a / y.a, x.b / y.b};
}
template <class T>
inline Two<T> operator+(T x, Two<T> y) {
  return {x + y.a, x + y.b};
}
template <class T>
inline Two<T> operator-(Two<T> x, T y) {
  return {x.a - y, x.b - y};
}
template <class T>
inline Two<T> operator*(T x, Two<T> y) {
  return {x * y.a, x * y.b};
}
template <class T>
inline Two<T> operator*(Two<T> x, T y) {
  return {x.a * y, x.b * y};
}
template <class T>
inline Two<T> operator/(T x, Two<T> y) {
  return {x / y.a, x / y.b};
}

template <class V>
inline V if_greater(V x, V y, V yes, V no) {
  return x > y ? yes : no;
}
template <class T>
inline Two<T> if_greater(Two<T> x, Two<T> y, Two<T> yes, Two<T> no) {
  return {x.a > y.a ? yes.a : no.a, x.b > y.b ? yes.b : no.b};
}

template <class Exp, class V>
inline V exp_of(V x) {
  return Exp::exp(x);
}
template <class Exp, class T>
inline Two<T> exp_of(Two<T> x) {
  return {Exp::exp(x.a), Exp::exp(x.b)};
}

template <class T, class Exp, class V>
inline V saturation(V t, V per_density, V& slope) {
  const V off_pole = T(1) / (t - T(POLE)), per_t = T(1) / t;
  const V pressure = T(PRESSURE) * exp_of<Exp>(T(SLOPE) * (t - T(MELTING)) * off_pole);
  const V ratio = pressure * per_density * per_t;
  slope = ratio * (T(SLOPE * (MELTING - POLE)) * off_pole * off_pole - per_t);
  return ratio;
}

template <class T, class Exp, class V>
inline V newton(V t, V dry, V water, V per_density) {
  V slope;
  const V ratio = saturation<T, Exp, V>(t, per_density, slope);
  const V excess = t - dry + T(HEATING) * (ratio - water);
  return t - excess / (T(1) + T(HEATING) * slope);
}

// The arithmetic of a point, or of a register of points.
template <class T, class Exp, class V>
inline void adjust(V t, V vapour, V cloud, V density, V& new_t, V& new_vapour, V& new_cloud) {
  const V per_density = T(1) / (density * T(VAPOUR_GAS)), water = vapour + cloud, zero = {};
  const V dry = t - T(HEATING) * cloud;
  V unused, warm = t;
  const V most = saturation<T, Exp, V>(dry, per_density, unused);
  for (int n = 0; n < 4; ++n) warm = newton<T, Exp, V>(warm, dry, water, per_density);
  const V held = saturation<T, Exp, V>(warm, per_density, unused), left = water - held;
  new_t = if_greater(water, most, warm, dry);
  new_vapour = if_greater(water, most, held, water);
  new_cloud = if_greater(water, most, left, zero);
}

// A loop over points; the library is called for one point at a time.
template <class T, class Exp>
void points(const T* __restrict t, const T* __restrict vapour, const T* __restrict cloud,
            const T* __restrict density, T* __restrict new_t, T* __restrict new_vapour,
            T* __restrict new_cloud, int64_t ni, int64_t nj, int64_t nk, int64_t row,
            int64_t plane) {
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t k = 0; k < nk; ++k)
    for (int64_t j = 0; j < nj; ++j) {
      const int64_t at = k * plane + j * row;
      for (int64_t i = at; i < at + ni; ++i)
        adjust<T, Exp, T>(t[i], vapour[i], cloud[i], density[i], new_t[i], new_vapour[i],
                          new_cloud[i]);
    }
}

template <class T>
inline void read(const T* from, simd::Vector<T>& to) {
  to = simd::load(from);
}
template <class T>
inline void read(const T* from, Two<T>& to) {
  to = {simd::load(from), simd::load(from + simd::WIDTH<T>)};
}
template <class T>
inline void write(T* to, simd::Vector<T> from) {
  simd::stream(to, from);
}
template <class T>
inline void write(T* to, Two<T> from) {
  simd::stream(to, from.a);
  simd::stream(to + simd::WIDTH<T>, from.b);
}

// One register or two of points at a time, the results written past the caches.
// What a last register reaches of the next row gets the value that it has there.
template <class T, class Exp, class V>
void registers(const T* t, const T* vapour, const T* cloud, const T* density, T* new_t,
               T* new_vapour, T* new_cloud, int64_t ni, int64_t nj, int64_t nk, int64_t row,
               int64_t plane) {
#pragma omp parallel
  {
#pragma omp for collapse(2) schedule(static)
    for (int64_t k = 0; k < nk; ++k)
      for (int64_t j = 0; j < nj; ++j) {
        const int64_t at = k * plane + j * row;
        for (int64_t i = at; i < at + ni; i += sizeof(V) / sizeof(T)) {
          V x, wet, grey, air, warm;
          read(t + i, x), read(vapour + i, wet), read(cloud + i, grey), read(density + i, air);
          adjust<T, Exp, V>(x, wet, grey, air, warm, wet, grey);
          write(new_t + i, warm);
          write(new_vapour + i, wet);
          write(new_cloud + i, grey);
        }
      }
    simd::drain();
  }
}

}  // namespace

#define VARIANT(NAME, T, SUFFIX, ...)                                                              \
  extern "C" void saturation_adjustment_##NAME##_##SUFFIX(                                         \
      const T* t, const T* vapour, const T* cloud, const T* density, T* new_t, T* new_vapour,      \
      T* new_cloud, int64_t ni, int64_t nj, int64_t nk, int64_t row, int64_t plane) {              \
    __VA_ARGS__(t, vapour, cloud, density, new_t, new_vapour, new_cloud, ni, nj, nk, row, plane);  \
  }
#if defined(__AVX512F__)
#define VECTORS(T, SUFFIX)                                                                         \
  VARIANT(vectors, T, SUFFIX, registers<T, Vectors, simd::Vector<T>>)                              \
  VARIANT(polynomial, T, SUFFIX, registers<T, Polynomial, simd::Vector<T>>)                        \
  VARIANT(polynomial2, T, SUFFIX, registers<T, Polynomial, Two<T>>)
#else
#define VECTORS(T, SUFFIX)                                                                         \
  VARIANT(vectors, T, SUFFIX, points<T, Library>)                                                  \
  VARIANT(polynomial, T, SUFFIX, points<T, Library>)                                               \
  VARIANT(polynomial2, T, SUFFIX, points<T, Library>)
#endif
VARIANT(library, double, f64, points<double, Library>)
VARIANT(library, float, f32, points<float, Library>)
VECTORS(double, f64)
VECTORS(float, f32)
