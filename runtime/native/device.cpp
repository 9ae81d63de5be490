// The host as a device, and the list of all devices.
#include "device.h"

#include <array>
#include <cstdlib>
#include <cstring>

#include "pool.h"
#include "thread_count.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace fieldforge {
namespace {

constexpr size_t cache_line = 64;
constexpr size_t huge_page = size_t{2} << 20;

// Nests walk temporaries of whole fields as many streams at once; on small pages the speed of
// address translation would limit them.
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

void release(Block block) noexcept { std::free(block.data); }

void copy(void* to, const void* from, size_t size, const Context&) noexcept {
    std::memcpy(to, from, size);
}

int threads_of(void* pool) noexcept {
    return threads_of_call(static_cast<const Crew*>(pool)->threads);
}

// `Context::parallel_for`. The number of threads is looked up here and not before the call, so that
// the context is the same for every call.
void share(void* pool, int64_t count, int64_t most, int64_t points, LoopBody body,
           void* data) noexcept {
    share_loop(threads_of(pool), count, most, points, body, data);
}

// `Context::threads`: how many threads `share` would use.
int64_t threads(void* pool) noexcept { return threads_of(pool); }

}  // namespace

Machine host_machine = {};
constinit thread_local Place place;

namespace {

constexpr Context host_context = {
    context_version, sizeof(Context), device_cpu, 0,
    nullptr, share, nullptr, &host_machine, nullptr, threads,
};

std::array<const Device*, 4> devices = {&host_device};

}  // namespace

constexpr Device host_device = {device_cpu, allocate, release, copy, &host_context, nullptr};

const Device* find_device(int32_t type) noexcept {
    for (const Device* device : devices) {
        if (device != nullptr && device->type == type) return device;
    }
    return nullptr;
}

void add_device(const Device& device) noexcept {
    for (const Device*& place : devices) {
        if (place == nullptr || place->type == device.type) {
            place = &device;
            return;
        }
    }
}

}  // namespace fieldforge
