// Hand-written schemes that act column by column, for GPUs: a thread a column, columns side by side.
//
// Pointers are to the first cell; `row` and `plane` are the strides of j and k, i is contiguous.
// Compile with -DREAL=double or float. `adjustment_points` has a thread for each point, because the
// points of a column do not depend on each other. `ahead` loads a level before its turn.

constexpr int MOST = 20;
constexpr REAL VAPOUR_GAS = 461.51, HEATING = 3484.9, PRESSURE = 610.78;
constexpr REAL MELTING = 273.16, SLOPE = 17.2693882, POLE = 35.86;

#define SIZES int ni, int nj, int nk, long long row, long long plane
#define IN const REAL* __restrict__
#define OUT REAL* __restrict__
#define KERNEL extern "C" __global__ void
#define COLUMN                                          \
  const int i = blockIdx.x * blockDim.x + threadIdx.x; \
  if (i >= ni) return;                                  \
  long long at = blockIdx.y * row + i;

// --- saturation adjustment ------------------------------------------------------------------------

__device__ inline REAL saturation(REAL t, REAL per_density) {
  const REAL off_pole = REAL(1) / (t - POLE);
  return PRESSURE * exp(SLOPE * (t - MELTING) * off_pole) * per_density / t;
}

__device__ inline void adjust(IN t, IN vapour, IN cloud, IN density, OUT new_t, OUT new_vapour,
                              OUT new_cloud, REAL near, long long at) {
  const REAL per_density = REAL(1) / (density[at] * VAPOUR_GAS), water = vapour[at] + cloud[at];
  const REAL dry = t[at] - HEATING * cloud[at];
  REAL warm = dry, held = water;
  if (water > saturation(dry, per_density)) {
    warm = t[at];
    for (int n = 0; n < MOST; ++n) {
      const REAL off_pole = REAL(1) / (warm - POLE);
      held = PRESSURE * exp(SLOPE * (warm - MELTING) * off_pole) * per_density / warm;
      const REAL growth = held * (SLOPE * (MELTING - POLE) * off_pole * off_pole - REAL(1) / warm);
      const REAL change = (warm - dry + HEATING * (held - water)) / (REAL(1) + HEATING * growth);
      warm -= change;
      if (!(fabs(change) > near)) break;
    }
  }
  new_t[at] = warm, new_vapour[at] = held, new_cloud[at] = water - held;
}

KERNEL adjustment_columns(IN t, IN vapour, IN cloud, IN density, OUT new_t, OUT new_vapour,
                          OUT new_cloud, REAL near, SIZES) {
  COLUMN
  for (int k = 0; k < nk; ++k, at += plane)
    adjust(t, vapour, cloud, density, new_t, new_vapour, new_cloud, near, at);
}

KERNEL adjustment_points(IN t, IN vapour, IN cloud, IN density, OUT new_t, OUT new_vapour,
                         OUT new_cloud, REAL near, SIZES) {
  COLUMN
  at += blockIdx.z * plane;
  adjust(t, vapour, cloud, density, new_t, new_vapour, new_cloud, near, at);
}

// --- sedimentation --------------------------------------------------------------------------------

__device__ inline REAL speed_of(REAL content) {
  return REAL(36.34) * pow(content, REAL(0.1364));
}
__device__ inline REAL least(REAL a, REAL b) {
  return a < b ? a : b;
}

KERNEL sedimentation_columns(IN rain, IN density, IN depth, OUT left, OUT fallen, REAL dt,
                             long long substeps, SIZES) {
  COLUMN
  const long long ground = at;
  REAL here = rain[at], thick = density[at], deep = depth[at];
  for (int k = 0; k < nk - 1; ++k, at += plane) {
    REAL below = rain[at + plane];
    const REAL thick_below = density[at + plane], deep_below = depth[at + plane];
    const REAL ratio = dt / (deep * REAL(substeps)), mass = thick * deep;
    const REAL per_mass = REAL(1) / (thick_below * deep_below);
    for (long long n = 0; n < substeps; ++n) {
      const REAL lost = least(speed_of(thick * here) * ratio, REAL(1)) * here;
      here -= lost, below += lost * mass * per_mass;
    }
    left[at] = here;
    here = below, thick = thick_below, deep = deep_below;
  }
  const REAL lost = least(speed_of(thick * here) * dt / deep, REAL(1)) * here;
  fallen[ground] = lost * thick * deep;
  left[at] = here - lost;
}

KERNEL sedimentation_ahead(IN rain, IN density, IN depth, OUT left, OUT fallen, REAL dt,
                           long long substeps, SIZES) {
  COLUMN
  const long long ground = at;
  const long long last = at + (nk - 1) * plane, second = nk > 1 ? at + plane : at;
  REAL here = rain[at], thick = density[at], deep = depth[at];
  REAL below = rain[second], thick_below = density[second], deep_below = depth[second];
  for (int k = 0; k < nk - 1; ++k, at += plane) {
    const long long after = k + 2 < nk ? at + 2 * plane : last;
    const REAL next = rain[after], thick_next = density[after], deep_next = depth[after];
    const REAL ratio = dt / (deep * REAL(substeps)), mass = thick * deep;
    const REAL per_mass = REAL(1) / (thick_below * deep_below);
    for (long long n = 0; n < substeps; ++n) {
      const REAL lost = least(speed_of(thick * here) * ratio, REAL(1)) * here;
      here -= lost, below += lost * mass * per_mass;
    }
    left[at] = here;
    here = below, thick = thick_below, deep = deep_below;
    below = next, thick_below = thick_next, deep_below = deep_next;
  }
  const REAL lost = least(speed_of(thick * here) * dt / deep, REAL(1)) * here;
  fallen[ground] = lost * thick * deep;
  left[at] = here - lost;
}

// --- remapping ------------------------------------------------------------------------------------

struct Parabolas {
  IN q;
  IN left;
  IN right;
  IN curve;
  IN old;
  IN depth;
};

// The mean over one new level, searched from `here` on, the place of a level from `low` to `high`.
__device__ inline REAL mean(const Parabolas& in, REAL from, REAL to, long long plane,
                            long long& here, REAL& low, REAL& high) {
  const REAL upper = (from - low) / in.depth[here], start = in.left[here], curve = in.curve[here];
  const REAL rise = curve + in.right[here] - start;
  if (to <= high) {
    const REAL lower = (to - low) / in.depth[here];
    return start + REAL(0.5) * rise * (lower + upper) -
           curve * (lower * (lower + upper) + upper * upper) / REAL(3);
  }
  REAL total = (high - from) * (start + REAL(0.5) * rise * (REAL(1) + upper) -
                                curve * (REAL(1) + upper * (REAL(1) + upper)) / REAL(3));
  for (;;) {
    here += plane, low = high, high = in.old[here + plane];
    if (!(high < to)) break;
    total += in.depth[here] * in.q[here];
  }
  const REAL part = to - low, share = part / in.depth[here], first = in.left[here];
  total += part * (first + REAL(0.5) * share *
                               (in.right[here] - first +
                                in.curve[here] * (REAL(1) - REAL(2.0 / 3.0) * share)));
  return total / (to - from);
}

KERNEL remapping_columns(IN q, IN left, IN right, IN curve, IN old, IN next, IN depth, OUT out,
                         long long* __restrict__ level, SIZES) {
  COLUMN
  const Parabolas in = {q, left, right, curve, old, depth};
  const long long first = at;
  long long here = at;
  REAL low = old[at], high = old[at + plane], from = next[at];
  for (int k = 0; k < nk - 1; ++k, at += plane) {
    const REAL to = next[at + plane];
    out[at] = mean(in, from, to, plane, here, low, high);
    from = to;
  }
  level[first] = (here - first) / plane - (nk - 1);
}

KERNEL remapping_ahead(IN q, IN left, IN right, IN curve, IN old, IN next, IN depth, OUT out,
                       long long* __restrict__ level, SIZES) {
  COLUMN
  const Parabolas in = {q, left, right, curve, old, depth};
  const long long first = at, last = at + (nk - 1) * plane;
  long long here = at;
  REAL low = old[at], high = old[at + plane], from = next[at], to = next[at + plane];
  for (int k = 0; k < nk - 1; ++k, at += plane) {
    const REAL after = next[k + 2 < nk ? at + 2 * plane : last];
    out[at] = mean(in, from, to, plane, here, low, high);
    from = to, to = after;
  }
  level[first] = (here - first) / plane - (nk - 1);
}
