"""The dialect that CUDA and HIP share; what differs between them stands behind `#ifdef`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from .dialect import BLOCK, MASKED, ONCE, TYPES, WIDE

_MACROS: Final = """\
#define KERNEL extern "C" __global__ void
#define DEVICE static __device__ __forceinline__
#define INFINITE_f64 __longlong_as_double(0x7ff0000000000000ll)
#define INFINITE_f32 __int_as_float(0x7f800000)
#define NOT_A_NUMBER_f64 __longlong_as_double(0x7ff8000000000000ll)
#define NOT_A_NUMBER_f32 __int_as_float(0x7fc00000)
DEVICE void note(s32* first, s32 store) { atomicMin(first, store); }
"""

# A warp of AMD has 64 threads; groups of 32 lanes behave alike. Copies are asynchronous from sm_80.
_BLOCK: Final = """\
#define MEMBER __device__ __forceinline__
extern __shared__ __attribute__((aligned(128))) char block_memory[];
namespace ff {
DEVICE void barrier() { __syncthreads(); }
DEVICE int lane() {
  return int((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32);
}
#ifdef __HIP__
DEVICE void warp_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  __builtin_amdgcn_wave_barrier();
}
#define SHUFFLE(name, vendors) \\
  template <typename T> DEVICE T name(T value, int by, int width = 32) { \\
    return vendors(value, by, width); \\
  }
SHUFFLE(shuffle, __shfl)
SHUFFLE(shuffle_down, __shfl_down)
SHUFFLE(shuffle_up, __shfl_up)
SHUFFLE(shuffle_xor, __shfl_xor)
#else
DEVICE void warp_barrier() { __syncwarp(); }
#define SHUFFLE(name, vendors) \\
  template <typename T> DEVICE T name(T value, int by, int width = 32) { \\
    return vendors(0xffffffffu, value, by, width); \\
  }
SHUFFLE(shuffle, __shfl_sync)
SHUFFLE(shuffle_down, __shfl_down_sync)
SHUFFLE(shuffle_up, __shfl_up_sync)
SHUFFLE(shuffle_xor, __shfl_xor_sync)
#endif
template <typename T> struct shared_array {
  T* const data;
  MEMBER shared_array(unsigned first_byte, s64) : data((T*)(block_memory + first_byte)) {}
  template <typename I> MEMBER T& operator[](I i) const { return data[i]; }
};
template <typename T, int N> struct alignas(N * sizeof(T)) pack {
  T value[N];
  MEMBER T& operator[](int i) { return value[i]; }
  MEMBER const T& operator[](int i) const { return value[i]; }
};
#ifdef __HIP__
template <typename T> DEVICE T load_once(const T* from) { return __builtin_nontemporal_load(from); }
template <typename T> DEVICE void store_once(T* to, T value) {
  __builtin_nontemporal_store(value, to);
}
typedef float words2 __attribute__((ext_vector_type(2)));
typedef float words4 __attribute__((ext_vector_type(4)));
#else
template <typename T> DEVICE T load_once(const T* from) { return __ldcs(from); }
template <typename T> DEVICE void store_once(T* to, T value) { __stcs(to, value); }
typedef float2 words2;
typedef float4 words4;
#endif
template <int N, typename T> DEVICE pack<T, N> load(const T* from) {
  return *(const pack<T, N>*)from;
}
template <int N, typename T> DEVICE void store(T* to, const pack<T, N>& values) {
  *(pack<T, N>*)to = values;
}
template <int N, typename T> DEVICE pack<T, N> load_once(const T* from) {
  constexpr int bytes = N * sizeof(T);
  pack<T, N> values;
  if (bytes == 16) *(words4*)&values = load_once((const words4*)from);
  else if (bytes == 8) *(words2*)&values = load_once((const words2*)from);
  else values = load<N>(from);
  return values;
}
template <int N, typename T> DEVICE void store_once(T* to, const pack<T, N>& values) {
  constexpr int bytes = N * sizeof(T);
  if (bytes == 16) store_once((words4*)to, *(const words4*)&values);
  else if (bytes == 8) store_once((words2*)to, *(const words2*)&values);
  else store<N>(to, values);
}
template <int N, typename T, typename I> DEVICE pack<T, N> load(const shared_array<T>& from, I i) {
  return load<N>(from.data + i);
}
template <int N, typename T, typename I>
DEVICE void store(const shared_array<T>& to, I i, const pack<T, N>& values) {
  store<N>(to.data + i, values);
}
template <int N, typename T, typename I>
DEVICE void async_copy(const shared_array<T>& to, I i, const T* from) {
  constexpr int bytes = N * sizeof(T);
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "a copy has 4, 8 or 16 bytes");
#if __CUDA_ARCH__ >= 800
  const unsigned at = unsigned(__cvta_generic_to_shared(to.data + i));
  if (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                 ::"r"(at), "l"(from), "n"(bytes) : "memory");
  }
#else
  store<N>(to.data + i, load<N>(from));
#endif
}
DEVICE void async_commit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int N> DEVICE void async_wait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}
}  // namespace ff
"""

_MASKED: Final = """\
namespace ff {
template <int N, typename T> DEVICE void store_some(T* to, const pack<T, N>& values, u32 mask) {
  if (mask == (1u << N) - 1) return store<N>(to, values);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (mask >> i & 1) to[i] = values[i];
  }
}
#ifdef __HIP__
DEVICE s64 opaque(s64 value) { asm volatile("" : "+v"(value)::"memory"); return value; }
#else
DEVICE s64 opaque(s64 value) { asm volatile("" : "+l"(value)::"memory"); return value; }
#endif
}  // namespace ff
"""


def dialect(asked: Collection[str]) -> str:
    """Return what stands before kernels, with the functions of a block if they ask for any."""
    block = _BLOCK if {WIDE, BLOCK, ONCE, MASKED} & set(asked) else ""
    return TYPES + _MACROS + block + (_MASKED if MASKED in asked else "")
