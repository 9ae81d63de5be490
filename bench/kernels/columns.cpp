// Hand-written schemes that act column by column, in place where the stencils are.
//
// Pointers are to the first cell; `row` and `plane` are the strides of j and k, i is contiguous.
// `columns`: one column after the other. `rows`: level by level for a block of columns.
// `lanes`: a register of columns at a time, under masks, until the last of them is done.

#include <math.h>
#include <stdint.h>

// The functions of libmvec, which gcc itself takes under -ffast-math only.
extern "C" {
__attribute__((simd("notinbranch"))) double exp(double) noexcept;
__attribute__((simd("notinbranch"))) float expf(float) noexcept;
__attribute__((simd("notinbranch"))) double pow(double, double) noexcept;
__attribute__((simd("notinbranch"))) float powf(float, float) noexcept;
}

namespace {

inline double exp_of(double x) { return exp(x); }
inline float exp_of(float x) { return expf(x); }
inline double power(double x, double y) { return pow(x, y); }
inline float power(float x, float y) { return powf(x, y); }
inline double size(double x) { return __builtin_fabs(x); }
inline float size(float x) { return __builtin_fabsf(x); }

template <class T>
struct Mask;
template <>
struct Mask<double> {
  typedef int64_t type;
};
template <>
struct Mask<float> {
  typedef int32_t type;
};

constexpr int64_t MOST = 20, BLOCK = 64;
constexpr double VAPOUR_GAS = 461.51, HEATING = 3484.9, PRESSURE = 610.78;
constexpr double MELTING = 273.16, SLOPE = 17.2693882, POLE = 35.86;

#define SIZES int64_t ni, int64_t nj, int64_t nk, int64_t row, int64_t plane

// --- saturation adjustment ------------------------------------------------------------------------

template <class T>
inline T saturation(T t, T per_density) {
  const T off_pole = T(1) / (t - T(POLE));
  return T(PRESSURE) * exp_of(T(SLOPE) * (t - T(MELTING)) * off_pole) * per_density / t;
}

// One step of Newton's method.
template <class T>
inline T step_of(T warm, T per_density, T dry, T water, T& held) {
  const T off_pole = T(1) / (warm - T(POLE));
  held = T(PRESSURE) * exp_of(T(SLOPE) * (warm - T(MELTING)) * off_pole) * per_density / warm;
  const T growth = held * (T(SLOPE * (MELTING - POLE)) * off_pole * off_pole - T(1) / warm);
  return (warm - dry + T(HEATING) * (held - water)) / (T(1) + T(HEATING) * growth);
}

template <class T>
void adjustment_columns(const T* __restrict t, const T* __restrict vapour,
                        const T* __restrict cloud, const T* __restrict density,
                        T* __restrict new_t, T* __restrict new_vapour, T* __restrict new_cloud,
                        T near, SIZES) {
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t k = 0; k < nk; ++k)
    for (int64_t j = 0; j < nj; ++j)
      for (int64_t i = 0; i < ni; ++i) {
        const int64_t at = k * plane + j * row + i;
        const T per_density = T(1) / (density[at] * T(VAPOUR_GAS)), water = vapour[at] + cloud[at];
        const T dry = t[at] - T(HEATING) * cloud[at];
        T warm = dry, held = water;
        if (water > saturation(dry, per_density)) {
          warm = t[at];
          for (int64_t n = 0; n < MOST; ++n) {
            const T change = step_of(warm, per_density, dry, water, held);
            warm -= change;
            if (!(size(change) > near)) break;
          }
        }
        new_t[at] = warm, new_vapour[at] = held, new_cloud[at] = water - held;
      }
}

template <class T>
void adjustment_lanes(const T* __restrict t, const T* __restrict vapour, const T* __restrict cloud,
                      const T* __restrict density, T* __restrict new_t, T* __restrict new_vapour,
                      T* __restrict new_cloud, T near, SIZES) {
  constexpr int64_t W = 64 / sizeof(T);
  typedef typename Mask<T>::type M;
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t k = 0; k < nk; ++k)
    for (int64_t j = 0; j < nj; ++j)
      for (int64_t i = 0; i < ni; i += W) {
        const int64_t at = k * plane + j * row + i, count = ni - i < W ? ni - i : W;
        T per_density[W], water[W], dry[W], warm[W], held[W];
        M on[W], any = 0;
        const auto begin = [&](int64_t count) __attribute__((always_inline)) {
#pragma omp simd reduction(| : any)
          for (int64_t l = 0; l < W; ++l) {
            const int64_t from = at + (l < count ? l : 0);
            per_density[l] = T(1) / (density[from] * T(VAPOUR_GAS));
            water[l] = vapour[from] + cloud[from];
            dry[l] = t[from] - T(HEATING) * cloud[from];
            on[l] = water[l] > saturation(dry[l], per_density[l]) ? M(-1) : M(0);
            warm[l] = on[l] ? t[from] : dry[l];
            held[l] = water[l];
            any |= on[l];
          }
        };
        if (count == W) begin(W);
        else begin(count);
        for (int64_t n = 0; n < MOST && any; ++n) {
          any = 0;
#pragma omp simd reduction(| : any)
          for (int64_t l = 0; l < W; ++l) {
            T next;
            const T change = step_of(warm[l], per_density[l], dry[l], water[l], next);
            held[l] = on[l] ? next : held[l];
            warm[l] = on[l] ? warm[l] - change : warm[l];
            on[l] = size(change) > near ? on[l] : M(0);
            any |= on[l];
          }
        }
        for (int64_t l = 0; l < count; ++l) {
          new_t[at + l] = warm[l], new_vapour[at + l] = held[l];
          new_cloud[at + l] = water[l] - held[l];
        }
      }
}

// --- sedimentation --------------------------------------------------------------------------------

template <class T>
inline T speed_of(T content) {
  return T(36.34) * power(content, T(0.1364));
}
template <class T>
inline T least(T a, T b) {
  return a < b ? a : b;
}

// All substeps of a layer with rain `here`: what is left; `below` gains what falls.
template <class T>
inline T fall(T here, T& below, const T* __restrict density, const T* __restrict depth, T dt,
              int64_t substeps, int64_t at, int64_t plane) {
  const T thick = density[at], ratio = dt / (depth[at] * T(substeps)), mass = thick * depth[at];
  const T per_mass = T(1) / (density[at + plane] * depth[at + plane]);
  for (int64_t n = 0; n < substeps; ++n) {
    const T lost = least(speed_of(thick * here) * ratio, T(1)) * here;
    here -= lost, below += lost * mass * per_mass;
  }
  return here;
}

// The lowest layer.
template <class T>
inline T land(T here, const T* __restrict density, const T* __restrict depth, T& fallen, T dt,
              int64_t at) {
  const T lost = least(speed_of(density[at] * here) * dt / depth[at], T(1)) * here;
  fallen = lost * density[at] * depth[at];
  return here - lost;
}

template <class T>
void sedimentation_columns(const T* __restrict rain, const T* __restrict density,
                           const T* __restrict depth, T* __restrict left, T* __restrict fallen,
                           T dt, int64_t substeps, SIZES) {
#pragma omp parallel for schedule(static)
  for (int64_t j = 0; j < nj; ++j)
    for (int64_t i = 0; i < ni; ++i) {
      int64_t at = j * row + i;
      T here = rain[at];
      for (int64_t k = 0; k < nk - 1; ++k, at += plane) {
        T below = rain[at + plane];
        left[at] = fall(here, below, density, depth, dt, substeps, at, plane);
        here = below;
      }
      left[at] = land(here, density, depth, fallen[j * row + i], dt, at);
    }
}

// A register of columns at a time, level by level for a block of columns.
template <class T>
void sedimentation_lanes(const T* __restrict rain, const T* __restrict density,
                         const T* __restrict depth, T* __restrict left, T* __restrict fallen, T dt,
                         int64_t substeps, SIZES) {
  constexpr int64_t W = 64 / sizeof(T);
  const int64_t blocks = (ni + BLOCK - 1) / BLOCK;
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t j = 0; j < nj; ++j)
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t first = b * BLOCK, width = ni - first < BLOCK ? ni - first : BLOCK;
      T kept[BLOCK];
      for (int64_t i = 0; i < width; ++i) kept[i] = rain[j * row + first + i];
      for (int64_t k = 0; k < nk - 1; ++k) {
        const int64_t start = k * plane + j * row + first;
        int64_t s = 0;
        for (; s + W <= width; s += W) {
          T here[W], below[W], ratio[W], mass[W], per_mass[W], thick[W];
          const int64_t at = start + s;
#pragma omp simd
          for (int64_t l = 0; l < W; ++l) {
            here[l] = kept[s + l], below[l] = rain[at + plane + l], thick[l] = density[at + l];
            ratio[l] = dt / (depth[at + l] * T(substeps));
            mass[l] = thick[l] * depth[at + l];
            per_mass[l] = T(1) / (density[at + plane + l] * depth[at + plane + l]);
          }
          for (int64_t n = 0; n < substeps; ++n)
#pragma omp simd
            for (int64_t l = 0; l < W; ++l) {
              const T lost = least(speed_of(thick[l] * here[l]) * ratio[l], T(1)) * here[l];
              here[l] -= lost, below[l] += lost * mass[l] * per_mass[l];
            }
#pragma omp simd
          for (int64_t l = 0; l < W; ++l) left[at + l] = here[l], kept[s + l] = below[l];
        }
        for (; s < width; ++s) {
          T below = rain[start + plane + s];
          left[start + s] =
              fall(kept[s], below, density, depth, dt, substeps, start + s, plane);
          kept[s] = below;
        }
      }
#pragma omp simd
      for (int64_t s = 0; s < width; ++s) {
        const int64_t at = (nk - 1) * plane + j * row + first + s;
        left[at] = land(kept[s], density, depth, fallen[j * row + first + s], dt, at);
      }
    }
}

// --- remapping ------------------------------------------------------------------------------------

template <class T>
struct Parabolas {
  const T *__restrict q, *__restrict left, *__restrict right, *__restrict curve, *__restrict old,
      *__restrict depth;
};

// The mean over one new level, searched from `level` on.
template <class T>
inline T mean(const Parabolas<T>& in, T from, T to, int64_t at, int64_t plane, int64_t& level) {
  int64_t here = at + level * plane;
  T low = in.old[here], high = in.old[here + plane];
  const T upper = (from - low) / in.depth[here];
  const T rise = in.curve[here] + in.right[here] - in.left[here];
  if (to <= high) {
    const T lower = (to - low) / in.depth[here];
    return in.left[here] + T(0.5) * rise * (lower + upper) -
           in.curve[here] * (lower * (lower + upper) + upper * upper) / T(3);
  }
  T total = (high - from) * (in.left[here] + T(0.5) * rise * (T(1) + upper) -
                             in.curve[here] * (T(1) + upper * (T(1) + upper)) / T(3));
  for (;;) {
    ++level, here += plane, low = high, high = in.old[here + plane];
    if (!(high < to)) break;
    total += in.depth[here] * in.q[here];
  }
  const T part = to - low, share = part / in.depth[here];
  total += part * (in.left[here] +
                   T(0.5) * share * (in.right[here] - in.left[here] +
                                     in.curve[here] * (T(1) - T(2.0 / 3.0) * share)));
  return total / (to - from);
}

template <class T>
void remapping_columns(const T* q, const T* left, const T* right, const T* curve, const T* old,
                       const T* next, const T* depth, T* __restrict out, int64_t* __restrict level,
                       SIZES) {
  const Parabolas<T> in = {q, left, right, curve, old, depth};
#pragma omp parallel for schedule(static)
  for (int64_t j = 0; j < nj; ++j)
    for (int64_t i = 0; i < ni; ++i) {
      const int64_t at = j * row + i;
      int64_t met = 0;
      for (int64_t k = 0; k < nk - 1; ++k)
        out[at + k * plane] =
            mean(in, next[at + k * plane], next[at + (k + 1) * plane], at, plane, met);
      level[at] = met - (nk - 1);
    }
}

template <class T>
void remapping_rows(const T* q, const T* left, const T* right, const T* curve, const T* old,
                    const T* next, const T* depth, T* __restrict out, int64_t* __restrict level,
                    SIZES) {
  const Parabolas<T> in = {q, left, right, curve, old, depth};
  const int64_t blocks = (ni + BLOCK - 1) / BLOCK;
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t j = 0; j < nj; ++j)
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t first = b * BLOCK, end = b + 1 < blocks ? first + BLOCK : ni;
      int64_t met[BLOCK] = {};
      for (int64_t k = 0; k < nk - 1; ++k)
        for (int64_t i = first; i < end; ++i) {
          const int64_t at = j * row + i;
          out[at + k * plane] = mean(in, next[at + k * plane], next[at + (k + 1) * plane], at,
                                     plane, met[i - first]);
        }
      for (int64_t i = first; i < end; ++i) level[j * row + i] = met[i - first] - (nk - 1);
    }
}

// Both cases under masks, the levels in between while a lane has some.
template <class T>
void remapping_lanes(const T* __restrict q, const T* __restrict left, const T* __restrict right,
                     const T* __restrict curve, const T* __restrict old, const T* __restrict next,
                     const T* __restrict depth, T* __restrict out, int64_t* __restrict level,
                     SIZES) {
  constexpr int64_t W = 64 / sizeof(T);
  typedef typename Mask<T>::type M;
  const int64_t strips = (ni + W - 1) / W;
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t j = 0; j < nj; ++j)
    for (int64_t b = 0; b < strips; ++b) {
      const int64_t width = ni - b * W < W ? ni - b * W : W, start = j * row + b * W;
      int64_t met[W] = {};
      const int64_t last = nk - 1;
      for (int64_t k = 0; k < last; ++k) {
        T mean[W], total[W], from[W], to[W];
        M on[W], far[W], any = 0;
#pragma omp simd reduction(| : any)
        for (int64_t l = 0; l < W; ++l) {
          const int64_t at = start + (l < width ? l : 0), here = at + met[l] * plane;
          const T low = old[here], high = old[here + plane];
          from[l] = next[at + k * plane], to[l] = next[at + (k + 1) * plane];
          const T upper = (from[l] - low) / depth[here], lower = (to[l] - low) / depth[here];
          const T rise = curve[here] + right[here] - left[here];
          mean[l] = left[here] + T(0.5) * rise * (lower + upper) -
                    curve[here] * (lower * (lower + upper) + upper * upper) / T(3);
          total[l] = (high - from[l]) * (left[here] + T(0.5) * rise * (T(1) + upper) -
                                         curve[here] * (T(1) + upper * (T(1) + upper)) / T(3));
          far[l] = on[l] = to[l] <= high ? M(0) : M(-1);
          met[l] += far[l] & 1;
          any |= on[l];
        }
        if (any) {
          while (any) {
            any = 0;
#pragma omp simd reduction(| : any)
            for (int64_t l = 0; l < W; ++l) {
              const int64_t here = start + (l < width ? l : 0) + met[l] * plane;
              const M more = on[l] && old[here + (met[l] < last ? plane : 0)] < to[l] ? M(-1) : M(0);
              total[l] += more ? depth[here] * q[here] : T(0);
              met[l] += more & 1;
              on[l] = more;
              any |= more;
            }
          }
#pragma omp simd
          for (int64_t l = 0; l < W; ++l) {
            const int64_t here = start + (l < width ? l : 0) + met[l] * plane;
            const T part = to[l] - old[here], share = part / depth[here];
            const T rest = part * (left[here] + T(0.5) * share *
                                                    (right[here] - left[here] +
                                                     curve[here] * (T(1) - T(2.0 / 3.0) * share)));
            mean[l] = far[l] ? (total[l] + rest) / (to[l] - from[l]) : mean[l];
          }
        }
        for (int64_t l = 0; l < width; ++l) out[start + l + k * plane] = mean[l];
      }
      for (int64_t l = 0; l < width; ++l) level[start + l] = met[l] - last;
    }
}

}  // namespace

#define BOTH(NAME, WORDS_OF, GIVEN)                                                                \
  extern "C" void columns_##NAME##_f64(WORDS_OF(double), SIZES) {                                  \
    NAME<double>(GIVEN, ni, nj, nk, row, plane);                                                   \
  }                                                                                                \
  extern "C" void columns_##NAME##_f32(WORDS_OF(float), SIZES) {                                   \
    NAME<float>(GIVEN, ni, nj, nk, row, plane);                                                    \
  }
#define ADJUSTMENT(T)                                                                              \
  const T *a, const T *b, const T *c, const T *d, T *e, T *f, T *g, T near
#define SEDIMENTATION(T)                                                                           \
  const T *a, const T *b, const T *c, T *d, T *e, T dt, int64_t substeps
#define REMAPPING(T)                                                                               \
  const T *a, const T *b, const T *c, const T *d, const T *e, const T *f, const T *g, T *h,        \
      int64_t *level
#define GIVEN_ADJUSTMENT a, b, c, d, e, f, g, near
#define GIVEN_SEDIMENTATION a, b, c, d, e, dt, substeps
#define GIVEN_REMAPPING a, b, c, d, e, f, g, h, level
BOTH(adjustment_columns, ADJUSTMENT, GIVEN_ADJUSTMENT)
BOTH(adjustment_lanes, ADJUSTMENT, GIVEN_ADJUSTMENT)
BOTH(sedimentation_columns, SEDIMENTATION, GIVEN_SEDIMENTATION)
BOTH(sedimentation_lanes, SEDIMENTATION, GIVEN_SEDIMENTATION)
BOTH(remapping_columns, REMAPPING, GIVEN_REMAPPING)
BOTH(remapping_rows, REMAPPING, GIVEN_REMAPPING)
BOTH(remapping_lanes, REMAPPING, GIVEN_REMAPPING)
