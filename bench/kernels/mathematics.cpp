// Errors and times of functions of one or two arguments, in a file that begins with their definitions.
//
// FUNCTION, OPERANDS (1 or 2), REAL, BITS (of its size), OWN(a, b), LIBM(a, b), VECTOR(a, b) and TRUE(a, b), which
// is of a wider type WIDE, come before.

#include <math.h>
#include <stdint.h>
#include <time.h>

namespace {

REAL of(BITS b) {
  REAL a;
  __builtin_memcpy(&a, &b, sizeof a);
  return a;
}

BITS bits_of(REAL a) {
  BITS b;
  __builtin_memcpy(&b, &a, sizeof b);
  return b;
}

constexpr int MANTISSA = sizeof(REAL) == 8 ? 53 : 24, LEAST = sizeof(REAL) == 8 ? -1074 : -149;

// Units in the last place that `found` has at `exact`; a number too large for the type counts as the next beyond
// its largest. -1 where NaN, infinity or the sign of a zero is not what it must be.
double ulps(REAL found, WIDE exact) {
  const REAL rounded = REAL(exact);
  if (rounded != rounded || found != found) return (rounded != rounded) == (found != found) ? 0 : -1;
  if (rounded == 0 && found == 0) return signbit(rounded) == signbit(found) ? 0 : -1;
  if (rounded == found) {
    if (isinf(found)) return 0;
  } else if (isinf(found) != isinf(rounded)) {
    const REAL finite = isinf(found) ? rounded : found;
    return bits_of(REAL(fabs(finite))) + 4 >= bits_of(REAL(INFINITY)) ? 1 : -1;
  } else if (isinf(found)) {
    return -1;
  }
  int exponent = LEAST;
  if (rounded != 0) frexp(double(rounded), &exponent), exponent -= MANTISSA;
  if (exponent < LEAST) exponent = LEAST;
  // in two steps: 2^1074 is more than a number holds
  const WIDE error = (WIDE(found) - exact) * WIDE(ldexp(1.0, -exponent / 2));
  return fabs(double(error * WIDE(ldexp(1.0, -exponent - -exponent / 2))));
}

}  // namespace

extern "C" void own(const REAL* __restrict a, const REAL* __restrict b, REAL* __restrict out, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = OWN(a[i], b[i]);
}

extern "C" void vector(const REAL* __restrict a, const REAL* __restrict b, REAL* __restrict out, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) out[i] = VECTOR(a[i], b[i]);
}

// Scalar also where the compiler knows of a function for vectors.
extern "C" __attribute__((optimize("no-tree-vectorize"))) void libm(const REAL* a, const REAL* b, REAL* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = LIBM(a[i], b[i]);
}

// The largest error of what was found; `worst` is where. A value that is wrong in kind has the error infinity.
extern "C" double largest(const REAL* a, const REAL* b, const REAL* found, int64_t count, int64_t* worst) {
  double most = -1;
#pragma omp parallel for schedule(dynamic, 1024)
  for (int64_t i = 0; i < count; ++i) {
    double here = ulps(found[i], TRUE(a[i], b[i]));
    if (here < 0) here = INFINITY;
    if (here > most)
#pragma omp critical
      if (here > most) most = here, *worst = i;
  }
  return most;
}

// The least time of a call, in nanoseconds a value.
extern "C" double time_of(void (*function)(const REAL*, const REAL*, REAL*, int64_t), const REAL* a, const REAL* b,
                          REAL* out, int64_t count, int64_t rounds) {
  double least = INFINITY;
  for (int64_t round = 0; round < rounds; ++round) {
    timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    function(a, b, out, count);
    clock_gettime(CLOCK_MONOTONIC, &to);
    const double taken = double(to.tv_sec - from.tv_sec) * 1e9 + double(to.tv_nsec - from.tv_nsec);
    if (taken < least) least = taken;
  }
  return least / double(count);
}
