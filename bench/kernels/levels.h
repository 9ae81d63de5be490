// Rows of levels in vector registers: loads, arithmetic and stores of a whole register, scalars for the rest.

#pragma once

#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__AVX512F__)
constexpr int64_t REGISTER = 64;
#else
constexpr int64_t REGISTER = 32;
#endif

template <class T>
struct Register {
  typedef T type __attribute__((vector_size(REGISTER)));
};

template <class V, class T>
inline V load(const T* p) {
  V v;
  memcpy(&v, p, sizeof(V));
  return v;
}

template <class V, class T>
inline void store(T* p, V v) {
  memcpy(p, &v, sizeof(V));
}

// Past the caches: the line is not read before it is written. `p` must be aligned to a register.
template <class V, class T>
inline void stream(T* p, V v) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64)
    return _mm512_stream_si512(reinterpret_cast<__m512i*>(p), reinterpret_cast<__m512i&>(v));
#elif defined(__AVX__)
  if constexpr (sizeof(V) == 32)
    return _mm256_stream_si256(reinterpret_cast<__m256i*>(p), reinterpret_cast<__m256i&>(v));
#endif
  store(p, v);
}

// Call body(k, V()) for registers of levels first..last, then body(k, T()) for the levels that are left.
template <class T, class Body>
inline void over_levels(int64_t first, int64_t last, Body body) {
  using V = typename Register<T>::type;
  constexpr int64_t lanes = REGISTER / sizeof(T);
  int64_t k = first;
  for (; k + lanes <= last; k += lanes) body(k, V());
  for (; k < last; ++k) body(k, T());
}

template <int COUNT>
struct Count {
  static constexpr int value = COUNT;
};

// Call body(k, V(), Count<N>()) for N registers of levels at a time, 10 or 5 while there are so many:
// a body that takes one row after the other, the sums of all N in registers, reads memory in long
// runs. Rows in lockstep, as in `over_levels`, are runs of one line, which no prefetcher follows.
template <class T, class Body>
inline void over_chunks(int64_t first, int64_t last, Body body) {
  using V = typename Register<T>::type;
  constexpr int64_t lanes = REGISTER / sizeof(T);
  int64_t k = first;
  for (; k + 10 * lanes <= last; k += 10 * lanes) body(k, V(), Count<10>());
  for (; k + 5 * lanes <= last; k += 5 * lanes) body(k, V(), Count<5>());
  for (; k + lanes <= last; k += lanes) body(k, V(), Count<1>());
  for (; k < last; ++k) body(k, T(), Count<1>());
}

template <class T>
inline bool can_stream(const T* p, int64_t nk) {
  return reinterpret_cast<uintptr_t>(p) % REGISTER == 0 && nk * sizeof(T) % REGISTER == 0;
}

// Ask for a row that is read soon: where it lies only the table knows, so no hardware can foresee it.
template <class T>
inline void expect(const T* row, int64_t nk) {
  const char* p = reinterpret_cast<const char*>(row);
  const int64_t bytes = nk * sizeof(T);
  for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(p + at, 0, 2);
}

// Row at which part t of `count` equal parts begins.
inline int64_t begin_of(int64_t t, int64_t count, int64_t rows) {
  return (t * rows + count - 1) / count;
}

// Memory of one thread, aligned to a register and released at the end of the scope.
template <class T>
struct Scratch {
  T* at;
  explicit Scratch(int64_t count)
      : at(static_cast<T*>(aligned_alloc(64, (count * sizeof(T) + 63) / 64 * 64))) {}
  ~Scratch() { free(at); }
  Scratch(const Scratch&) = delete;
};
