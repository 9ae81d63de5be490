// Which kernels this processor can run.
#include <cstring>

#include "kernels.h"

namespace fieldforge::rows {

#ifdef ROWS_X86_64
extern const KernelTable kernels_v4, kernels_v3;
#endif
extern const KernelTable kernels_baseline;

const NamedKernel* KernelTable::find(std::string_view wanted) const {
    for (size_t i = 0; i < count; ++i) {
        if (wanted == kernels[i].name) return &kernels[i];
    }
    return nullptr;
}

const NamedLink* ChainTable::find(std::string_view op, int size, int ones) const {
    for (size_t i = 0; i < count; ++i) {
        const NamedLink& link = links[i];
        if (link.size == size && link.ones == ones && op == link.op) return &link;
    }
    return nullptr;
}

const KernelTable* const* kernel_tables(size_t& count) noexcept {
    static const KernelTable* found[3];
    static const size_t known = [] {
        size_t number = 0;
#ifdef ROWS_X86_64
        __builtin_cpu_init();
        if (__builtin_cpu_supports("x86-64-v4")) found[number++] = &kernels_v4;
        if (__builtin_cpu_supports("x86-64-v3")) found[number++] = &kernels_v3;
#endif
        found[number++] = &kernels_baseline;
        return number;
    }();
    count = known;
    return found;
}

}  // namespace fieldforge::rows
