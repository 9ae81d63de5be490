"""What stands before the kernels: types, and the names that differ between platforms.

The kernels are one text for all platforms. NVRTC and hiprtc know the functions of the C library
without any header; the host runs the threads of a block in turn.
"""

from __future__ import annotations

from typing import Final

from ...gpu_target import Platform
from . import block_functions

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

_VENDORS: Final = """\
#define KERNEL extern "C" __global__ void
#define DEVICE static __device__ __forceinline__
#define INFINITE_f64 __longlong_as_double(0x7ff0000000000000ll)
#define INFINITE_f32 __int_as_float(0x7f800000)
#define NOT_A_NUMBER_f64 __longlong_as_double(0x7ff8000000000000ll)
#define NOT_A_NUMBER_f32 __int_as_float(0x7fc00000)
DEVICE void note(s32* first, s32 store) { atomicMin(first, store); }
"""

# The macro asks GCC's C++ library for the headers of the C library as they are: to read its own
# <math.h>, templates and all, takes longer than to compile the kernels. Others ignore it.
_HOST: Final = """\
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#include <math.h>
#include <string.h>
#define KERNEL static void
#define DEVICE static inline
#define __launch_bounds__(...)
#define INFINITE_f64 __builtin_inf()
#define INFINITE_f32 __builtin_inff()
#define NOT_A_NUMBER_f64 __builtin_nan("")
#define NOT_A_NUMBER_f32 __builtin_nanf("")
struct Place { unsigned x, y, z; };
static thread_local Place threadIdx, blockIdx, blockDim, gridDim;
DEVICE void note(s32* first, s32 store) { if (store < *first) *first = store; }
"""


def prelude(platform: Platform, kernels: str = "") -> str:
    """Return the text before the kernels, with `block_functions` if they use one of them."""
    if platform == "host":
        return TYPES + _HOST + block_functions.on_host(kernels)
    return TYPES + _VENDORS + (block_functions.VENDORS if "ff::" in kernels else "")


def whole_grid(kernel: str, types: tuple[str, ...]) -> str:
    """Return the function with which the null platform runs a kernel, for all threads of a grid.

    >>> print(whole_grid("k0", ("f64*", "s64")))
    extern "C" void grid_of_k0(const unsigned* grid, const unsigned* block, unsigned shared,
                               void** args) {
      f64* const a0 = *(f64**)args[0];
      s64 const a1 = *(s64*)args[1];
      ff_host::each_thread(grid, block, shared, [=] { k0(a0, a1); });
    }
    """
    names = [f"a{i}" for i in range(len(types))]
    lines = [
        f'extern "C" void {entry_of(kernel, "host")}(const unsigned* grid, const unsigned* block, '
        "unsigned shared,",
        "                           void** args) {",
        *(f"  {type_} const a{i} = *({type_}*)args[{i}];" for i, type_ in enumerate(types)),
        f"  ff_host::each_thread(grid, block, shared, [=] {{ {kernel}({', '.join(names)}); }});",
        "}",
    ]
    return "\n".join(lines)


def entry_of(kernel: str, platform: Platform) -> str:
    """Return the name by which a module has a kernel."""
    return f"grid_of_{kernel}" if platform == "host" else kernel
