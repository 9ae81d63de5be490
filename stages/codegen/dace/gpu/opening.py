"""What DaCe's text for GPUs needs before it: what its headers have, and launches in slices."""

from __future__ import annotations

from typing import Final

from ....vendors.vendor import Vendor
from ...entry_point import CONTEXT

_STATE: Final = """\
static inline s64 later(s64 a, s64 b) { return a < b ? b : a; }
static inline s64 earlier(s64 a, s64 b) { return a < b ? a : b; }
#define DACE_DFI DEVICE
#define DACE_ALIGN(bytes)
namespace dace { typedef uint32_t uint; }
struct kernel_state_t { gpuStream_t stream; s32 error; };
struct Blocks { s64 x, y, z; };
DEVICE Blocks block_of(s64 first_y, s64 first_z) {
  return {blockIdx.x, blockIdx.y + first_y, blockIdx.z + first_z};
}
"""
# The launch of a grid, in slices of what vendors allow along y and z.
_SLICES: Final = """\
static void launch(kernel_state_t* state, {kernel}, Blocks blocks, dim3 block,
                   void** args, unsigned shared, s64& first_y, s64& first_z) {{
  const s64 most = 65535;
  if (blocks.x <= 0) return;
  for (first_z = 0; first_z < blocks.z; first_z += most)
  for (first_y = 0; first_y < blocks.y; first_y += most) {{
    const s64 y = blocks.y - first_y, z = blocks.z - first_z;
    const dim3 grid(
        unsigned(blocks.x), unsigned(y < most ? y : most), unsigned(z < most ? z : most));
    {launch}
  }}
}}"""
_LAUNCH: Final = """\
const s32 error = s32(gpuLaunchKernel(kernel, grid, block, args, shared, state->stream));
    if (state->error == 0) state->error = error;"""
_RUN: Final = """\
(void)state, (void)shared;
    gridDim = {grid.x, grid.y, grid.z};
    for (blockIdx.z = 0; blockIdx.z < grid.z; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y)
    for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x)
    for (threadIdx.z = 0; threadIdx.z < block.z; ++threadIdx.z)
    for (threadIdx.y = 0; threadIdx.y < block.y; ++threadIdx.y)
    for (threadIdx.x = 0; threadIdx.x < block.x; ++threadIdx.x) kernel(args);"""


def opening(vendor: Vendor) -> str:
    """Return the text before the functions of a program."""
    launch = _SLICES.format(
        kernel="void (*kernel)(void**)" if vendor.in_turn else "const void* kernel",
        launch=_RUN if vendor.in_turn else _LAUNCH,
    )
    # DaCe's pointers are those of the C library's types
    types = (
        vendor.dialect(())
        .replace("typedef long long ", "typedef int64_t ")
        .replace("typedef unsigned long long ", "typedef uint64_t ")
    )
    library = vendor.library
    return "\n".join([library.headers, types, CONTEXT, library.names, _STATE, launch])


def launched(vendor: Vendor, kernel: str) -> str:
    """Return what `launch` takes of a kernel: on the host, the function that runs one thread."""
    return f"thread_of_{kernel}" if vendor.in_turn else f"(void*){kernel}"
