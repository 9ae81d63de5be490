// Ranges of NVTX version 3, where a profiler has put a library into this process.
#pragma once

namespace fieldforge::gpu {

struct Ranges;

// The functions of the library that a profiler named; null where none watches.
const Ranges* injected_ranges();

}  // namespace fieldforge::gpu
