// Hand-written saturation adjustment: four Newton steps at each point.
//
// Pointers are to the first cell; `row` and `plane` are the strides of j and k, i is contiguous.

#include <cmath>

#include "simd.hpp"

// The exponential of libmvec, which gcc takes for a vector of arguments.
extern "C" {
__attribute__((simd("notinbranch"), const)) double vector_exp(double) __asm__("exp");
__attribute__((simd("notinbranch"), const)) float vector_expf(float) __asm__("expf");
}

namespace {

constexpr double VAPOUR_GAS = 461.51, HEATING = 2.5008e6 / 717.6, PRESSURE = 610.78;
constexpr double MELTING = 273.16, SLOPE = 17.2693882, POLE = 35.86;

struct Library {
  static double exp(double x) { return std::exp(x); }
  static float exp(float x) { return std::exp(x); }
};

struct Vectors {
  static double exp(double x) { return vector_exp(x); }
  static float exp(float x) { return vector_expf(x); }
};

// x = n ln 2 + r, a polynomial of r, times 2^n; for arguments whose result is a normal number.
struct Polynomial {
  static double exp(double x) {
    const double shifted = x * 1.4426950408889634 + 0x1.8p52, n = shifted - 0x1.8p52;
    const double r = __builtin_fma(n, -1.9082149292705877e-10,
                                   __builtin_fma(n, -6.93147180369123816490e-01, x));
    double sum = 1.0 / 6227020800.0;
    sum = __builtin_fma(sum, r, 1.0 / 479001600.0);
    sum = __builtin_fma(sum, r, 1.0 / 39916800.0);
    sum = __builtin_fma(sum, r, 1.0 / 3628800.0);
    sum = __builtin_fma(sum, r, 1.0 / 362880.0);
    sum = __builtin_fma(sum, r, 1.0 / 40320.0);
    sum = __builtin_fma(sum, r, 1.0 / 5040.0);
    sum = __builtin_fma(sum, r, 1.0 / 720.0);
    sum = __builtin_fma(sum, r, 1.0 / 120.0);
    sum = __builtin_fma(sum, r, 1.0 / 24.0);
    sum = __builtin_fma(sum, r, 1.0 / 6.0);
    sum = __builtin_fma(sum, r, 0.5);
    sum = __builtin_fma(sum, r, 1.0);
    sum = __builtin_fma(sum, r, 1.0);
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return sum * power;
  }
  static float exp(float x) {
    const float shifted = x * 1.44269504f + 0x1.8p23f, n = shifted - 0x1.8p23f;
    const float r = __builtin_fmaf(n, 2.12194440e-4f, __builtin_fmaf(n, -0.693359375f, x));
    float sum = 1.0f / 5040.0f;
    sum = __builtin_fmaf(sum, r, 1.0f / 720.0f);
    sum = __builtin_fmaf(sum, r, 1.0f / 120.0f);
    sum = __builtin_fmaf(sum, r, 1.0f / 24.0f);
    sum = __builtin_fmaf(sum, r, 1.0f / 6.0f);
    sum = __builtin_fmaf(sum, r, 0.5f);
    sum = __builtin_fmaf(sum, r, 1.0f);
    sum = __builtin_fmaf(sum, r, 1.0f);
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return sum * power;
  }
};

template <class Exp, class T>
inline T saturation(T t, T per_density, T& slope) {
  const T off_pole = T(1) / (t - T(POLE)), per_t = T(1) / t;
  const T pressure = T(PRESSURE) * Exp::exp(T(SLOPE) * (t - T(MELTING)) * off_pole);
  const T ratio = pressure * per_density * per_t;
  slope = ratio * (T(SLOPE * (MELTING - POLE)) * off_pole * off_pole - per_t);
  return ratio;
}

template <class Exp, class T>
inline T newton(T t, T dry, T water, T per_density) {
  T slope;
  const T ratio = saturation<Exp>(t, per_density, slope);
  const T excess = t - dry + T(HEATING) * (ratio - water);
  return t - excess / (T(1) + T(HEATING) * slope);
}

template <class T, class Exp>
void adjust(const T* __restrict t, const T* __restrict vapour, const T* __restrict cloud,
            const T* __restrict density, T* __restrict new_t, T* __restrict new_vapour,
            T* __restrict new_cloud, int64_t ni, int64_t nj, int64_t nk, int64_t row,
            int64_t plane) {
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t k = 0; k < nk; ++k)
    for (int64_t j = 0; j < nj; ++j) {
      const int64_t at = k * plane + j * row;
#pragma omp simd
      for (int64_t i = at; i < at + ni; ++i) {
        const T per_density = T(1) / (density[i] * T(VAPOUR_GAS)), water = vapour[i] + cloud[i];
        const T dry = t[i] - T(HEATING) * cloud[i];
        T unused;
        const T most = saturation<Exp>(dry, per_density, unused);
        T warm = newton<Exp>(t[i], dry, water, per_density);
        warm = newton<Exp>(warm, dry, water, per_density);
        warm = newton<Exp>(warm, dry, water, per_density);
        warm = newton<Exp>(warm, dry, water, per_density);
        const T held = saturation<Exp>(warm, per_density, unused), left = water - held;
        const bool cloudy = water > most;
        new_t[i] = cloudy ? warm : dry;
        new_vapour[i] = cloudy ? held : water;
        new_cloud[i] = cloudy ? left : T(0);
      }
    }
}

}  // namespace

#define VARIANT(NAME, EXP, T, SUFFIX)                                                              \
  extern "C" void saturation_adjustment_##NAME##_##SUFFIX(                                         \
      const T* t, const T* vapour, const T* cloud, const T* density, T* new_t, T* new_vapour,      \
      T* new_cloud, int64_t ni, int64_t nj, int64_t nk, int64_t row, int64_t plane) {              \
    adjust<T, EXP>(t, vapour, cloud, density, new_t, new_vapour, new_cloud, ni, nj, nk, row,       \
                   plane);                                                                         \
  }
#define BOTH(T, SUFFIX)                                                                            \
  VARIANT(library, Library, T, SUFFIX)                                                             \
  VARIANT(vectors, Vectors, T, SUFFIX)                                                             \
  VARIANT(polynomial, Polynomial, T, SUFFIX)
BOTH(double, f64)
BOTH(float, f32)
