// Which kernels this processor can run.
#include <cstring>

#include "code/pages.h"
#include "kernels.h"

namespace fieldforge::rows {

#ifdef ROWS_X86_64
extern const KernelTable kernels_v4, kernels_v3;
#endif
extern const KernelTable kernels_baseline;

#ifdef ROWS_X86_64
namespace {

// The same kernels, with chains in machine code.
KernelTable with_code(const KernelTable& kernels, const char* name, Vectors::Class code) {
    return {name, kernels.kernels, kernels.count, kernels.chains, code};
}

}  // namespace
#endif

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
    static const KernelTable* found[5];
    static const size_t known = [] {
        size_t number = 0;
#ifdef ROWS_X86_64
        static const KernelTable code_v4 = with_code(kernels_v4, "x86-64-v4 with code", Vectors::Class::avx512);
        static const KernelTable code_v3 = with_code(kernels_v3, "x86-64-v3 with code", Vectors::Class::avx2);
        __builtin_cpu_init();
        const bool may_write = Pages::are_allowed();
        if (may_write && __builtin_cpu_supports("x86-64-v4")) found[number++] = &code_v4;
        if (may_write && __builtin_cpu_supports("x86-64-v3")) found[number++] = &code_v3;
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
