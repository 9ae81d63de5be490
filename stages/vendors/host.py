"""The host as a vendor: C++ that runs the threads of a grid in turn, and checks what they do."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from ...runtime.gpu.host_block import FIBRES
from ...runtime.gpu.host_grid import LOOPS, PLACE, REPORT, WIDE as ACCESSES
from ...runtime.gpu.host_shared import SHARED
from .dialect import BLOCK, MASKED, ONCE, TYPES, WIDE
from .vendor import Library, Usage, Vendor, never

# The macro asks GCC's C++ library for the headers of the C library as they are: to read its own
# <math.h>, templates and all, takes longer than to compile the kernels. Others ignore it.
_MACROS: Final = """\
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


_ONCE: Final = """\
namespace ff {
template <typename T> DEVICE T load_once(const T* from) { return *from; }
template <typename T> DEVICE void store_once(T* to, T value) { *to = value; }
template <int N, typename T> DEVICE pack<T, N> load_once(const T* from) { return load<N>(from); }
template <int N, typename T> DEVICE void store_once(T* to, const pack<T, N>& values) {
  store(to, values);
}
}  // namespace ff
"""

_MASKED: Final = """\
namespace ff {
template <int N, typename T> DEVICE void store_some(T* to, const pack<T, N>& values, u32 mask,
                       int line = __builtin_LINE()) {
  if (mask == (1u << N) - 1) return store<N>(to, values, line);
  for (int i = 0; i < N; ++i) {
    if (mask >> i & 1) to[i] = values[i];
  }
}
DEVICE s64 opaque(s64 value) { return value; }
}  // namespace ff
"""


def dialect(asked: Collection[str]) -> str:
    """Return what stands before kernels: names, and what runs the threads that they ask for.

    >>> ["struct Fibre" in dialect([each]) for each in (WIDE, BLOCK)]
    [False, True]
    """
    more = (_ONCE if ONCE in asked else "") + (_MASKED if MASKED in asked else "")
    if BLOCK in asked:
        return TYPES + _MACROS + PLACE + REPORT + ACCESSES + FIBRES + SHARED + more
    wide = REPORT + ACCESSES if {WIDE, ONCE, MASKED} & set(asked) else ""
    return TYPES + _MACROS + PLACE + wide + LOOPS + more


def grid_of(kernel: str) -> str:
    """Return the name of the function that runs a kernel for all threads of a grid."""
    return f"grid_of_{kernel}"


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
        f'extern "C" void {grid_of(kernel)}(const unsigned* grid, const unsigned* block, '
        "unsigned shared,",
        "                           void** args) {",
        *(f"  {type_} const a{i} = *({type_}*)args[{i}];" for i, type_ in enumerate(types)),
        f"  ff_host::each_thread(grid, block, shared, [=] {{ {kernel}({', '.join(names)}); }});",
        "}",
    ]
    return "\n".join(lines)


# Kernels of such a source run here, thread after thread.
_NAMES: Final = """\
#define BOTH static inline
#define __global__ static
#define __maxnreg__(...)
typedef void* gpuStream_t;
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x, unsigned y, unsigned z) : x(x), y(y), z(z) {}
};"""
_FLAGS: Final = ("-std=c++17", "-O1", "-fPIC", "-shared", "-ffp-contract=off", "-fwrapv",
                 "-fno-strict-aliasing")  # fmt: skip


def _nothing(_: str, __: Mapping[str, bytes]) -> Iterator[tuple[str, str, Usage]]:
    """Yield nothing: the C++ compiler does not tell."""
    yield from ()


HOST: Final = Vendor(
    name="host",
    platform="null",
    language="c++",
    device=None,
    prefix="host",
    gpus={},
    dialect=dialect,
    flags=_FLAGS,
    library=Library("#include <stdint.h>", _NAMES, _FLAGS),
    copies_apart=never,
    taken=_nothing,
    entry=grid_of,
    after=whole_grid,
)
