// Entries that a driver lacks.
#include "driver.h"

namespace fieldforge::gpu {
namespace {

template <typename F>
struct Unsupported;
template <typename... A>
struct Unsupported<Result (*)(A...)> {
    static Result answer(A...) { return not_supported; }
};

}  // namespace

void fill_unsupported(Driver& driver) {
#define FIELDFORGE_GPU_ENTRY(member, arguments)                     \
    driver.member = Unsupported<decltype(driver.member)>::answer;   \
    driver.names[static_cast<int>(Entry::member)] = #member;
    FIELDFORGE_GPU_ENTRIES(FIELDFORGE_GPU_ENTRY)
#undef FIELDFORGE_GPU_ENTRY
}

}  // namespace fieldforge::gpu
