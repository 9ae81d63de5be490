"""The names of ours in the text of kernels, which each vendor defines.

For what the threads of a block do together, kernels write these names, in one text for CUDA, HIP
and the host; the text that uses one of them gets their definitions in its prelude:

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
    ff::store_some(p, w, mask)           // the values with a bit in the mask
    ff::opaque(i)                        // i; no compiler computes before what is made from it
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

from typing import Final

# What kernels may ask for besides types: accesses of several elements, functions of a block whose
# threads work together, and accesses that caches need not keep.
WIDE: Final = "ff::wide"
BLOCK: Final = "ff::block"
ONCE: Final = "ff::once"
MASKED: Final = "ff::masked"  # wide stores of some elements; needs `pack` too
# By what they are and not by macros of the compiler: NVRTC, hiprtc and the host agree on them.
TYPES: Final = """\
typedef bool b8;
typedef signed char s8;
typedef unsigned char u8;
typedef short s16;
typedef unsigned short u16;
typedef int s32;
typedef unsigned int u32;
typedef long long s64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
"""
