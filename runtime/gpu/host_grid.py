"""The loops over the threads of a grid, as C++ of the host: how the null platform runs kernels.

Kernels whose threads work together are run by `host_block` instead.
"""

from __future__ import annotations

from typing import Final

# Which thread of which block runs: what the null driver says of one that fails.
# Needs variables 'threadIdx', 'blockIdx', 'blockDim' and 'gridDim', each with x, y and z.
PLACE: Final = """\
extern "C" __attribute__((visibility("default"))) void fieldforge_place(unsigned* six) {
  six[0] = threadIdx.x, six[1] = threadIdx.y, six[2] = threadIdx.z;
  six[3] = blockIdx.x, six[4] = blockIdx.y, six[5] = blockIdx.z;
}
"""
EACH_THREAD: Final = (
    PLACE
    + """\
namespace ff_host {
template <typename Kernel>
static void each_thread(const unsigned* grid, const unsigned* block, unsigned,
                        const Kernel& kernel) {
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {block[0], block[1], block[2]};
  for (blockIdx.z = 0; blockIdx.z < grid[2]; ++blockIdx.z)
  for (blockIdx.y = 0; blockIdx.y < grid[1]; ++blockIdx.y)
  for (blockIdx.x = 0; blockIdx.x < grid[0]; ++blockIdx.x)
  for (threadIdx.z = 0; threadIdx.z < block[2]; ++threadIdx.z)
  for (threadIdx.y = 0; threadIdx.y < block[1]; ++threadIdx.y)
  for (threadIdx.x = 0; threadIdx.x < block[0]; ++threadIdx.x) kernel();
}
}  // namespace ff_host
"""
)
