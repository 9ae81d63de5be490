// Precompiled operations on rows of numbers: one function for each operation and dtype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "chains.h"
#include "code/vectors.h"

namespace fieldforge::rows {

// Computes `count` numbers of `out` from those of up to three operands, which lie one after the
// other in memory. `out` may be an operand of the same size.
using Kernel = void (*)(void* out, const void* a, const void* b, const void* c, int64_t count);

struct NamedKernel {
    const char* name;  // operation and dtypes, such as `add.float64` and `cast.float64.int32`
    Kernel run;
};

// The kernels for one class of processors, compiled from one source with its own flags.
struct KernelTable {
    const char* name;  // of the class, such as `x86-64-v3`
    const NamedKernel* kernels;
    size_t count;
    const ChainTable* chains;
    Vectors::Class code = Vectors::Class::none;  // of the machine code that chains are; else they are links

    // Null if there is none.
    const NamedKernel* find(std::string_view wanted) const;
};

// The tables that this processor can run, the fastest first.
const KernelTable* const* kernel_tables(size_t& count) noexcept;

}  // namespace fieldforge::rows
