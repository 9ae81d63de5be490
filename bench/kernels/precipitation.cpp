// Hand-written precipitation of six kinds of water: conversions and the fall of four kinds in one sweep.
//
// Pointers are to the first cell; `row` and `plane` are the strides of j and k, i is contiguous, levels
// count downwards. The same arithmetic serves numbers and registers.

#include "simd.hpp"

namespace {

constexpr double FREEZING = 273.15, CONDENSING = 2.5008e6 / 717.6, MELTING_HEAT = 3.337e5 / 717.6;
constexpr double LIQUID = 4190.0 / 717.6, SOLID = 2108.0 / 717.6;
constexpr double CLOUD_LIMIT = 5.0e-4, ICE_LIMIT = 1.0e-4, DRIZZLE = 1.0e-3, AGGREGATION = 1.0e-3;
constexpr double COLLECTION = 2.2, RIMING = 1.5, MELTING = 2.0e-3, GLACIATION = 1.0e-4;
constexpr double EVAPORATION = 0.5, NONE = 1.0e-20;
constexpr double RAIN = 29.0, ICE = 2.5, SNOW = 5.0, GRAUPEL = 17.0;

enum { T_, VAPOUR, CLOUD, RAIN_, ICE_, SNOW_, GRAUPEL_, MOST, DENSITY, THICKNESS, INPUTS };
enum { NEW_T, NEW_VAPOUR, NEW_CLOUD, NEW_RAIN, NEW_ICE, NEW_SNOW, NEW_GRAUPEL, FLUX, OUTPUTS };
constexpr int STATES = 14;  // flux, speed and content of four kinds; capacity and heat

template <class V>
inline V seven_eighths(V x) {
  const V half = simd::root(x), quarter = simd::root(half);
  return half * quarter * simd::root(quarter);
}

template <class V>
inline V least(V a, V b) {
  return a < b ? a : b;
}

template <class V>
inline V most_of(V a, V b) {
  return a > b ? a : b;
}

// Conversions at one point: `x` has the inputs, of which those that change are replaced.
template <class T, class V>
inline void convert(V* x, T step) {
  const V zero = {}, one = zero + T(1);
  const V t = x[T_], vapour = x[VAPOUR], cloud = x[CLOUD], rain = x[RAIN_], ice = x[ICE_];
  const V snow = x[SNOW_], graupel = x[GRAUPEL_];
  const V grown = T(step * T(DRIZZLE)) * most_of<V>(cloud - T(CLOUD_LIMIT), zero);
  const V swept = T(step * T(COLLECTION)) * cloud * seven_eighths(rain);
  const V riming = T(step * T(RIMING)) * cloud, rime_snow = riming * seven_eighths(snow);
  const V rime_graupel = riming * seven_eighths(graupel);
  const V on_snow = t < T(FREEZING) ? rime_snow : zero;
  const V on_graupel = t < T(FREEZING) ? rime_graupel : zero;
  const V wanted = grown + swept + on_snow + on_graupel;
  const V share = least<V>(one, cloud / most_of<V>(wanted, zero + T(NONE)));
  const V melts = least<V>(one, T(step * T(MELTING)) * most_of<V>(t - T(FREEZING), zero));
  const V freezes = least<V>(one, T(step * T(GLACIATION)) * most_of<V>(T(FREEZING) - t, zero));
  const V melted = melts * (ice + snow + graupel), frozen = freezes * rain;
  const V crystals = ice - melts * ice;
  const V clumped = T(step * T(AGGREGATION)) * most_of<V>(crystals - T(ICE_LIMIT), zero);
  const V thirst =
      T(step * T(EVAPORATION)) * most_of<V>(x[MOST] - vapour, zero) * simd::root(rain);
  const V dried = least<V>(rain - frozen, thirst);
  const V rimed = share * (on_snow + on_graupel);
  x[T_] = t + T(MELTING_HEAT) * (rimed + frozen - melted) - T(CONDENSING) * dried;
  x[VAPOUR] = vapour + dried;
  x[CLOUD] = cloud - share * wanted;
  x[RAIN_] = rain - frozen - dried + share * (grown + swept) + melted;
  x[ICE_] = crystals - clumped;
  x[SNOW_] = snow - melts * snow + clumped + share * on_snow;
  x[GRAUPEL_] = graupel - melts * graupel + frozen + share * on_graupel;
}

// One kind falls through a layer; `s` are its flux, speed and content, of the layer above and then here.
template <class T, class V>
inline void fall(V* s, V content, V lift, V ratio) {
  const V there = T(0.5) * (content + s[2]);
  const V own = lift * simd::root(simd::root(simd::root(there)));
  const V speed = T(0.5) * (own + s[1]);
  const V left = (content + ratio * s[0]) / (T(1) + ratio * speed);
  s[0] = speed * left, s[1] = speed, s[2] = left;
}

// All of one layer at one column: inputs `x` become outputs `y`, the state of the layer above this one's.
template <class T, class V>
inline void layer(V* x, V* s, V* y, T step) {
  convert<T, V>(x, step);
  const V density = x[DENSITY], thin = simd::root(T(1.2) / density), ratio = step / x[THICKNESS];
  fall<T, V>(s, x[RAIN_] * density, T(RAIN) * thin, ratio);
  fall<T, V>(s + 3, x[ICE_] * density, T(ICE) * thin, ratio);
  fall<T, V>(s + 6, x[SNOW_] * density, T(SNOW) * thin, ratio);
  fall<T, V>(s + 9, x[GRAUPEL_] * density, T(GRAUPEL) * thin, ratio);
  const V mixing = ratio / density;
  y[NEW_T] = (x[T_] + mixing * s[13]) / (T(1) + mixing * s[12]);
  s[12] = T(LIQUID) * s[0] + T(SOLID) * (s[3] + s[6] + s[9]);
  s[13] = s[12] * y[NEW_T];
  const V per_density = T(1) / density;
  y[NEW_VAPOUR] = x[VAPOUR], y[NEW_CLOUD] = x[CLOUD];
  y[NEW_RAIN] = s[2] * per_density, y[NEW_ICE] = s[5] * per_density;
  y[NEW_SNOW] = s[8] * per_density, y[NEW_GRAUPEL] = s[11] * per_density;
  y[FLUX] = s[0] + s[3] + s[6] + s[9];
}

// Levels outside, all columns inside: the plain loops of a scheme, states of all columns in arrays.
template <class T>
void whole(const T* const* in, T* const* out, T step, int64_t ni, int64_t nj, int64_t nk,
           int64_t row, int64_t plane) {
  T* kept = simd::buffer<T>(STATES * plane);
#pragma omp parallel
  {
    for (int64_t k = 0; k < nk; ++k)
#pragma omp for schedule(static) nowait
      for (int64_t j = 0; j < nj; ++j) {
#pragma omp simd
        for (int64_t i = 0; i < ni; ++i) {
          T x[INPUTS], s[STATES], y[OUTPUTS];
          for (int n = 0; n < INPUTS; ++n) x[n] = in[n][k * plane + j * row + i];
          for (int n = 0; n < STATES; ++n) s[n] = k ? kept[n * plane + j * row + i] : T(0);
          layer<T, T>(x, s, y, step);
          for (int n = 0; n < STATES; ++n) kept[n * plane + j * row + i] = s[n];
          for (int n = 0; n < OUTPUTS; ++n) out[n][k * plane + j * row + i] = y[n];
        }
      }
  }
  free(kept);
}

// Chunks of columns, a register of them at a time, states in L1 from level to level.
template <class T, int64_t lanes, bool past_caches>
void chunks(const T* const* in, T* const* out, T step, int64_t ni, int64_t nj, int64_t nk,
            int64_t row, int64_t plane) {
  using V = simd::Vector<T>;
  constexpr int64_t W = simd::WIDTH<T>, size = lanes * 8 / sizeof(T);
  const int64_t across = (ni + size - 1) / size;
#pragma omp parallel
  {
    T* kept = simd::buffer<T>(STATES * size);
#pragma omp for collapse(2) schedule(static)
    for (int64_t j = 0; j < nj; ++j)
      for (int64_t ti = 0; ti < across; ++ti) {
        const int64_t first = j * row + ti * size, left = ni - ti * size;
        const int64_t width = left < size ? left : size;
        for (int64_t i = 0; i < STATES * size; ++i) kept[i] = T(0);
        for (int64_t k = 0; k < nk; ++k)
          for (int64_t i = 0; i < width; i += W) {
            const int64_t at = k * plane + first + i;
            V x[INPUTS], s[STATES], y[OUTPUTS];
            for (int n = 0; n < INPUTS; ++n) x[n] = simd::load(in[n] + at);
            for (int n = 0; n < STATES; ++n) s[n] = simd::load(kept + n * W + i * STATES);
            layer<T, V>(x, s, y, step);
            for (int n = 0; n < STATES; ++n) simd::store(kept + n * W + i * STATES, s[n]);
            for (int n = 0; n < OUTPUTS; ++n) {
              if (past_caches)
                simd::stream(out[n] + at, y[n]);
              else
                simd::store(out[n] + at, y[n]);
            }
          }
      }
    simd::drain();
    free(kept);
  }
}

}  // namespace

#define VARIANT(NAME, T, SUFFIX, ...)                                                              \
  extern "C" void precipitation_##NAME##_##SUFFIX(                                                 \
      const T* t, const T* vapour, const T* cloud, const T* rain, const T* ice, const T* snow,     \
      const T* graupel, const T* most, const T* density, const T* thickness, T* new_t,             \
      T* new_vapour, T* new_cloud, T* new_rain, T* new_ice, T* new_snow, T* new_graupel, T* flux,  \
      T step, int64_t ni, int64_t nj, int64_t nk, int64_t row, int64_t plane) {                    \
    const T* in[] = {t, vapour, cloud, rain, ice, snow, graupel, most, density, thickness};        \
    T* out[] = {new_t, new_vapour, new_cloud, new_rain, new_ice, new_snow, new_graupel, flux};     \
    __VA_ARGS__(in, out, step, ni, nj, nk, row, plane);                                            \
  }
#define BOTH(T, SUFFIX)                                                                            \
  VARIANT(whole, T, SUFFIX, whole<T>)                                                              \
  VARIANT(chunks64, T, SUFFIX, chunks<T, 64, false>)                                               \
  VARIANT(chunks256, T, SUFFIX, chunks<T, 256, false>)                                             \
  VARIANT(streamed64, T, SUFFIX, chunks<T, 64, true>)                                              \
  VARIANT(streamed256, T, SUFFIX, chunks<T, 256, true>)
BOTH(double, f64)
BOTH(float, f32)
