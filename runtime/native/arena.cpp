// Workspace from the device: one block for each call that ever runs at the same time.
#include "arena.h"

#include <utility>

namespace fieldforge {

Arena::~Arena() {
    for (Block block : free_) device_.release(block);
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
    device_.release(found);  // too small: the mesh has grown
    return device_.allocate(size);
}

void Arena::give_back(Block block) noexcept {
    if (block.data == nullptr) return;
    if (device_.queues) return device_.release(block);
    const std::lock_guard guard(lock_);
    try {
        free_.push_back(block);
    } catch (...) {
        device_.release(block);
    }
}

}  // namespace fieldforge
