// Workspace from the system, once for as many calls as ever run at the same time.
#include "arena.h"

#include <cstdint>
#include <cstdlib>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace fieldforge {
namespace {

constexpr size_t cache_line = 64;
constexpr size_t huge_page = size_t{2} << 20;

// Temporaries of whole fields are walked with many streams at once; on small pages that is
// bound by address translation.
Block allocate(size_t size) noexcept {
    const bool large = size >= 2 * huge_page;
    const size_t alignment = large ? huge_page : cache_line;
    if (size > SIZE_MAX - alignment) return {};
    const size_t rounded = (size + alignment - 1) / alignment * alignment;
    auto* data = static_cast<std::byte*>(std::aligned_alloc(alignment, rounded));
#if defined(__linux__)
    if (large && data != nullptr) madvise(data, rounded, MADV_HUGEPAGE);
#endif
    return {data, data == nullptr ? 0 : rounded};
}

}  // namespace

Arena::~Arena() {
    for (Block block : free_) std::free(block.data);
}

Block Arena::take(size_t size) noexcept {
    Block found;
    {
        const std::lock_guard guard(lock_);
        if (!free_.empty()) {
            found = free_.back();
            free_.pop_back();
        }
    }
    if (found.size >= size) return found;
    std::free(found.data);  // sizes of one program only grow with the mesh
    return allocate(size);
}

void Arena::give_back(Block block) noexcept {
    if (block.data == nullptr) return;
    const std::lock_guard guard(lock_);
    try {
        free_.push_back(block);
    } catch (...) {
        std::free(block.data);
    }
}

}  // namespace fieldforge
