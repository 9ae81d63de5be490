// Vectors of the machine for hand-written kernels: one register, loads, stores past the caches.

#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace simd {

#if defined(__AVX512F__)
constexpr int64_t BYTES = 64;
#elif defined(__AVX__)
constexpr int64_t BYTES = 32;
#else
constexpr int64_t BYTES = 16;
#endif

template <class T>
struct Lanes;
template <>
struct Lanes<double> {
  typedef double type __attribute__((vector_size(BYTES)));
  typedef int64_t mask __attribute__((vector_size(BYTES)));
};
template <>
struct Lanes<float> {
  typedef float type __attribute__((vector_size(BYTES)));
  typedef int32_t mask __attribute__((vector_size(BYTES)));
};

template <class T>
using Vector = typename Lanes<T>::type;
template <class T>
constexpr int64_t WIDTH = BYTES / sizeof(T);

template <class T>
inline Vector<T> load(const T* from) {
  Vector<T> value;
  memcpy(&value, from, BYTES);
  return value;
}

template <class T>
inline void store(T* to, Vector<T> value) {
  memcpy(to, &value, BYTES);
}

// Write a line that will not be read soon: no read for ownership. `to` is aligned to a register.
template <class T>
inline void stream(T* to, Vector<T> value) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), reinterpret_cast<__m512i>(value));
#elif defined(__AVX__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(value));
#elif defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<__m128i>(value));
#else
  store(to, value);
#endif
}

// Streamed lines become visible to other threads.
inline void drain() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

// The lanes of `here` moved up by one, the last lane of `before` in front.
template <class T>
inline Vector<T> from_left(Vector<T> before, Vector<T> here) {
  typename Lanes<T>::mask lanes;
  for (int64_t n = 0; n < WIDTH<T>; ++n) lanes[n] = WIDTH<T> - 1 + n;
  return __builtin_shuffle(before, here, lanes);
}

// The lanes of `here` moved down by one, the first lane of `after` behind.
template <class T>
inline Vector<T> from_right(Vector<T> here, Vector<T> after) {
  typename Lanes<T>::mask lanes;
  for (int64_t n = 0; n < WIDTH<T>; ++n) lanes[n] = n + 1;
  return __builtin_shuffle(here, after, lanes);
}

inline double root(double x) { return __builtin_sqrt(x); }
inline float root(float x) { return __builtin_sqrtf(x); }

inline Vector<double> root(Vector<double> x) {
#if defined(__AVX512F__)
  return _mm512_sqrt_pd(x);
#else
  for (int64_t n = 0; n < WIDTH<double>; ++n) x[n] = __builtin_sqrt(x[n]);
  return x;
#endif
}

inline Vector<float> root(Vector<float> x) {
#if defined(__AVX512F__)
  return _mm512_sqrt_ps(x);
#else
  for (int64_t n = 0; n < WIDTH<float>; ++n) x[n] = __builtin_sqrtf(x[n]);
  return x;
#endif
}

template <class T>
inline T* buffer(int64_t count) {
  const int64_t bytes = (count * static_cast<int64_t>(sizeof(T)) + 255) / 64 * 64;
  return static_cast<T*>(aligned_alloc(64, bytes));
}

}  // namespace simd
