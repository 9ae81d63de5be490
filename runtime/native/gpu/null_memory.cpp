// Memory of the null driver: blocks of the host, pools that hold on to bytes, copies and fills.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "null_state.h"

namespace fieldforge::gpu::null {
namespace {

constexpr size_t alignment = 256;
constexpr size_t most_quarantined = size_t{64} << 20;
constexpr unsigned char fresh = 0xff, stale = 0xdd;  // fresh memory reads as NaN

std::string hex(Address address) {
    char text[32];
    snprintf(text, sizeof text, "0x%zx", static_cast<size_t>(address));
    return text;
}

int here() { return current() < 0 ? 0 : current(); }

size_t held(const State& s, int device) {
    size_t sum = s.device[device].used + s.device[device].pool.reserved;
    for (const Pool* pool : s.pools) sum += pool->device == device ? pool->reserved : 0;
    return sum;
}

Result allocate(Address* address, size_t size, Kind kind, int device, Pool* pool) {
    State& s = state();
    if (size == 0) return problem("An allocation of 0 bytes was asked for.", invalid_value);
    const bool counts = kind == Kind::device || kind == Kind::pool;
    if (counts) {
        const size_t cached = pool != nullptr ? pool->reserved - pool->used : 0;
        const size_t more = size > cached ? size - cached : 0;
        if (held(s, device) + more > s.device[device].memory) return out_of_memory;
    }
    Block block{size, kind, device, pool, true, nullptr, {}};
    void* memory = s.guard == Guard::none
                       ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                       : reinterpret_cast<void*>(map_guarded(size, s.guard, block));
    if (memory == nullptr) return out_of_memory;
    s.guarded += block.mapping != 0;
    std::memset(memory, fresh, size);
    if (pool != nullptr) {
        pool->used += size;
        if (pool->reserved < pool->used) pool->reserved = pool->used;
    } else if (counts) {
        s.device[device].used += size;
    }
    *address = reinterpret_cast<Address>(memory);
    s.blocks.insert_or_assign(*address, std::move(block));
    return success;
}

Result alloc(Address* address, size_t size) {
    NULL_ENTER(alloc, nullptr);
    if (const Result refused = forbid_in_capture(); refused != success) return refused;
    return allocate(address, size, Kind::device, here(), nullptr);
}

Result alloc_from(Address* address, size_t size, Pool* pool, Handle handle) {
    Stream* stream = stream_of(handle);
    if (stream == nullptr) return invalid_handle;
    const Result result = allocate(address, size, Kind::pool, pool->device, pool);
    if (result != success) return result;
    if (stream->capture != nullptr) {
        state().blocks[*address].graph = stream->capture->graph->memory.get();
        stream->capture->graph->memory->blocks.push_back(*address);
        return submit(stream, std::make_shared<Node>(10, std::vector<Access>{},
                                                     [](const Node&) { return success; }));
    }
    order_streams(stream);
    stream->clock.set(stream->index, ++stream->ticks);
    state().blocks[*address].uses.write = {stream->index, stream->ticks};
    return success;
}

Result alloc_async(Address* address, size_t size, Handle stream) {
    NULL_ENTER(alloc_async, stream);
    const Stream* given = stream_of(stream);
    if (given == nullptr) return invalid_handle;
    return alloc_from(address, size, &s.device[given->device].pool, stream);
}

Result alloc_from_pool(Address* address, size_t size, Handle pool, Handle stream) {
    NULL_ENTER(alloc_from_pool, pool);
    return alloc_from(address, size, static_cast<Pool*>(pool), stream);
}

// The block that begins at an address and may be freed now; null with a problem noted if none.
Block* to_free(Address address, const char* how) {
    State& s = state();
    const auto found = s.blocks.find(address);
    if (found != s.blocks.end() && found->second.live) return &found->second;
    problem(found != s.blocks.end() ? "Memory at " + hex(address) + " was freed twice (" + how + ")."
                                    : "Memory at " + hex(address) + " was freed, but never "
                                      "allocated (" + how + ").",
            invalid_value);
    return nullptr;
}

Result free_now(Address address) {
    NULL_ENTER(free, address);
    if (const Result refused = forbid_in_capture(); refused != success) return refused;
    Block* block = to_free(address, "free");
    if (block == nullptr) return invalid_value;
    for (const Stream* stream : s.streams) s.host.merge(stream->clock);  // it waits for all
    release_memory(address, *block);
    return success;
}

Result free_async(Address address, Handle handle) {
    NULL_ENTER(free_async, address);
    Stream* stream = stream_of(handle);
    if (stream == nullptr) return invalid_handle;
    Block* block = to_free(address, "free_async");
    if (block == nullptr) return invalid_value;
    const Result result = submit(
        stream, std::make_shared<Node>(11, std::vector<Access>{{address, block->size, true}},
                                       [](const Node&) { return success; }));
    if (result != success || stream->capture != nullptr) return result;
    release_memory(address, *block);
    return success;
}

Result host_alloc(void** address, size_t size, unsigned) {
    NULL_ENTER(host_alloc, nullptr);
    if (const Result refused = forbid_in_capture(); refused != success) return refused;
    return allocate(reinterpret_cast<Address*>(address), size, Kind::pinned, here(), nullptr);
}

Result host_free(void* address) {
    NULL_ENTER(host_free, address);
    Block* block = to_free(reinterpret_cast<Address>(address), "host_free");
    if (block == nullptr) return invalid_value;
    release_memory(reinterpret_cast<Address>(address), *block);
    return success;
}

Result managed_alloc(Address* address, size_t size, unsigned) {
    NULL_ENTER(managed_alloc, nullptr);
    if (const Result refused = forbid_in_capture(); refused != success) return refused;
    return allocate(address, size, Kind::managed, here(), nullptr);
}

Result memory_info(size_t* unused, size_t* total) {
    NULL_ENTER(memory_info, nullptr);
    *total = s.device[here()].memory;
    const size_t in_use = held(s, here());
    *unused = *total > in_use ? *total - in_use : 0;
    return success;
}

Result copy_async(Address to, Address from, size_t size, Handle stream) {
    NULL_ENTER(copy_async, stream);
    return submit(stream_of(stream),
                  std::make_shared<Node>(
                      1, std::vector<Access>{{from, size, false}, {to, size, true}},
                      [to, from, size](const Node&) {
                          std::memmove(reinterpret_cast<void*>(to),
                                       reinterpret_cast<const void*>(from), size);
                          return success;
                      }));
}

Result copy_peer_async(Address to, Handle, Address from, Handle, size_t size, Handle stream) {
    return copy_async(to, from, size, stream);
}

Result copy_2d_async(Address to, size_t to_pitch, Address from, size_t from_pitch, size_t width,
                     size_t height, Handle stream) {
    NULL_ENTER(copy_2d_async, stream);
    if (width == 0 || height == 0) return success;
    const std::vector<Access> accesses{{from, (height - 1) * from_pitch + width, false},
                                       {to, (height - 1) * to_pitch + width, true}};
    return submit(stream_of(stream), std::make_shared<Node>(1, accesses, [=](const Node&) {
                      for (size_t row = 0; row < height; ++row) {
                          std::memmove(reinterpret_cast<void*>(to + row * to_pitch),
                                       reinterpret_cast<const void*>(from + row * from_pitch),
                                       width);
                      }
                      return success;
                  }));
}

template <typename T>
Result fill(Address to, T value, size_t count, Handle stream) {
    return submit(stream_of(stream),
                  std::make_shared<Node>(
                      2, std::vector<Access>{{to, count * sizeof(T), true}},
                      [to, value, count](const Node&) {
                          std::fill_n(reinterpret_cast<T*>(to), count, value);
                          return success;
                      }));
}

Result fill8_async(Address to, unsigned char value, size_t count, Handle stream) {
    NULL_ENTER(fill8_async, stream);
    return fill(to, value, count, stream);
}
Result fill16_async(Address to, unsigned short value, size_t count, Handle stream) {
    NULL_ENTER(fill16_async, stream);
    return fill(to, value, count, stream);
}
Result fill32_async(Address to, unsigned value, size_t count, Handle stream) {
    NULL_ENTER(fill32_async, stream);
    return fill(to, value, count, stream);
}

Result pointer_device(int* device, Address address) {
    NULL_ENTER(pointer_device, address);
    const Block* block = find_block(address);
    if (block == nullptr || !block->live) return invalid_value;
    return *device = block->device, success;
}

Result pointer_pool(Handle* pool, Address address) {
    NULL_ENTER(pointer_pool, address);
    const Block* block = find_block(address);
    if (block == nullptr || !block->live) return invalid_value;
    return *pool = block->pool, success;
}

Result pool_create(Handle* pool, const PoolProperties* properties) {
    NULL_ENTER(pool_create, nullptr);
    auto* made = new Pool{properties->location.id};
    s.pools.insert(made);
    return *pool = made, success;
}

Result pool_destroy(Handle pool) {
    NULL_ENTER(pool_destroy, pool);
    auto* given = static_cast<Pool*>(pool);
    if (given->used != 0) {
        return problem("A pool was destroyed that memory still belongs to.", invalid_value);
    }
    if (s.pools.erase(given) == 0) return problem("A pool was destroyed twice.", invalid_handle);
    for (auto& [start, block] : s.blocks) {
        if (block.pool == given) block.pool = nullptr;
    }
    delete given;
    return success;
}

Result pool_set(Handle pool, int attribute, void* value) {
    NULL_ENTER(pool_set, pool);
    if (attribute != pool_threshold) return not_supported;
    static_cast<Pool*>(pool)->threshold = *static_cast<uint64_t*>(value);
    return success;
}

Result pool_get(Handle pool, int attribute, void* value) {
    NULL_ENTER(pool_get, pool);
    const auto* given = static_cast<Pool*>(pool);
    *static_cast<uint64_t*>(value) = attribute == pool_used       ? given->used
                                     : attribute == pool_reserved ? given->reserved
                                                                  : given->threshold;
    return success;
}

Result pool_trim(Handle pool, size_t keep) {
    NULL_ENTER(pool_trim, pool);
    auto* given = static_cast<Pool*>(pool);
    given->reserved = std::max<uint64_t>(given->used, std::min<uint64_t>(keep, given->reserved));
    return success;
}

Result pool_current(Handle* pool, int device) {
    return *pool = &state().device[device].pool, success;
}

Result pool_access(Handle pool, const PoolAccess* accesses, size_t count) {
    NULL_ENTER(pool_access, pool);
    for (size_t i = 0; i < count; ++i) {
        static_cast<Pool*>(pool)->users |= uint64_t{1} << accesses[i].location.id;
    }
    return success;
}

}  // namespace

// The block that an address lies in, dead ones too.
Block* find_block(Address address, Address* start) {
    auto& blocks = state().blocks;
    auto next = blocks.upper_bound(address);
    if (next == blocks.begin()) return nullptr;
    --next;
    if (address >= next->first + next->second.size) return nullptr;
    if (start != nullptr) *start = next->first;
    return &next->second;
}

void release_memory(Address start, Block& block) {
    State& s = state();
    if (block.pool != nullptr) {
        block.pool->used -= block.size;
        if (block.pool->reserved > block.pool->threshold) {
            block.pool->reserved = std::max(block.pool->used, block.pool->threshold);
        }
    } else if (block.kind == Kind::device || block.kind == Kind::pool) {
        s.device[block.device].used -= block.size;
    }
    block.live = false;
    if (block.mapping != 0) close_guarded(start, block);
    else std::memset(reinterpret_cast<void*>(start), stale, block.size);
    s.quarantine.push_back(start);
    s.quarantined += block.size;
    while (s.quarantined > most_quarantined && !s.quarantine.empty()) {
        const auto oldest = s.blocks.find(s.quarantine.front());
        s.quarantine.pop_front();
        s.quarantined -= oldest->second.size;
        if (oldest->second.mapping == 0) {
            std::free(reinterpret_cast<void*>(oldest->first));
        } else {
            unmap_guarded(oldest->second);
            --s.guarded;
        }
        s.blocks.erase(oldest);
    }
}

void fill_memory(Driver& driver) {
    driver.alloc = alloc;
    driver.alloc_async = alloc_async;
    driver.alloc_from_pool = alloc_from_pool;
    driver.free = free_now;
    driver.free_async = free_async;
    driver.host_alloc = host_alloc;
    driver.host_free = host_free;
    driver.managed_alloc = managed_alloc;
    driver.memory_info = memory_info;
    driver.copy_async = copy_async;
    driver.copy_peer_async = copy_peer_async;
    driver.copy_2d_async = copy_2d_async;
    driver.fill8_async = fill8_async;
    driver.fill16_async = fill16_async;
    driver.fill32_async = fill32_async;
    driver.pointer_device = pointer_device;
    driver.pointer_pool = pointer_pool;
    driver.pool_create = pool_create;
    driver.pool_destroy = pool_destroy;
    driver.pool_set = pool_set;
    driver.pool_get = pool_get;
    driver.pool_trim = pool_trim;
    driver.pool_current = pool_current;
    driver.pool_access = pool_access;
}

}  // namespace fieldforge::gpu::null
