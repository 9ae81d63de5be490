"""What the threads of a block do together, by names of ours that each platform defines.

Kernels write these names, in one text for CUDA, HIP and the host; the text that uses one of
them gets their definitions in its prelude:

    ff::shared_array<f64> tile(first_byte, count);   // a part of the block's shared memory
    tile[i] = v;  const f64 v = tile[i];  tile[i] += v;    // never 'auto v = tile[i]'
    ff::barrier();                       // all threads of the block; also orders shared memory
    ff::warp_barrier();                  // the same for the 32 threads of a warp
    ff::async_copy<N>(tile, i, from);    // tile[i .. i + N) = from[0 .. N), 4, 8 or 16 bytes
    ff::async_commit();                  // this thread's copies so far become a group
    ff::async_wait<N>();                 // all but this thread's last N groups have arrived
    ff::shuffle(v, lane), ff::shuffle_down(v, n), ff::shuffle_up(v, n), ff::shuffle_xor(v, mask)
    ff::lane()                           // 0 to 31: the place of a thread in its warp
    ff::pack<f64, N> w = ff::load<N>(p);  ff::store(p, w);  w[0]    // N values at once
    ff::load<N>(tile, i), ff::store(tile, i, w)                     // and in shared memory
    ff::load_once(p), ff::store_once(p, v)     // a value that caches need not keep

The launch gives the bytes of shared memory (`Launch.shared`), all arrays together; each begins at a
multiple of 16 bytes where it is copied or loaded 16 bytes at a time. Every thread of a block comes
to each `barrier`, and every thread of a warp to each shuffle: a thread without a point skips the
work and not the kernel. After `async_wait`, a `barrier` shows the copies to other threads. Shuffles
move values of at most 8 bytes; with a last argument `width`, a power of two up to 32, among
groups of so many lanes.

The host checks all that (`runtime/gpu/host_block.py`, `host_shared.py`) and reports the line of
the source: races, missing barriers, barriers that not all threads reach, reads of what was never
written or has not arrived, indices outside an array, wide accesses that are not aligned.
"""

from __future__ import annotations

import re
from typing import Final

from ....runtime.gpu.host_block import FIBRES
from ....runtime.gpu.host_grid import LOOPS, PLACE, REPORT, WIDE
from ....runtime.gpu.host_shared import SHARED

# A warp of AMD has 64 threads; groups of 32 lanes behave alike. Copies are asynchronous from sm_80.
VENDORS: Final = """\
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
ONCE: Final = """\
namespace ff {
template <typename T> DEVICE T load_once(const T* from) { return *from; }
template <typename T> DEVICE void store_once(T* to, T value) { *to = value; }
template <int N, typename T> DEVICE pack<T, N> load_once(const T* from) { return load<N>(from); }
template <int N, typename T> DEVICE void store_once(T* to, const pack<T, N>& values) {
  store(to, values);
}
}  // namespace ff
"""
_TOGETHER: Final = re.compile(r"ff::(?!load|store|pack)")


def on_host(kernels: str) -> str:
    """Return what runs the threads of these kernels on the host, and checks what they do.

    >>> ["struct Fibre" in on_host(text) for text in ("ff::load<2>(p);", "ff::barrier();")]
    [False, True]
    """
    once = ONCE if "_once(" in kernels else ""
    if _TOGETHER.search(kernels):
        return PLACE + REPORT + WIDE + FIBRES + SHARED + once
    return PLACE + (REPORT + WIDE if "ff::" in kernels else "") + LOOPS + once
