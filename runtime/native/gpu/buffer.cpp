// Buffers below their Python object: how memory is got, used on streams, and given back.
#include "memory.h"

#include <cstdlib>
#include <map>

namespace fieldforge::gpu {
namespace {

struct Pinned {
    std::mutex mutex;
    std::map<std::pair<const Driver*, size_t>, std::vector<Address>> kept;
};

Pinned& pinned() {
    static auto* const made = new Pinned;
    return *made;
}

constexpr size_t smallest_pinned = 4096, largest_kept = size_t{64} << 20, most_kept = 8;

size_t size_class(size_t size) {
    size_t of = smallest_pinned;
    while (of < size) of *= 2;
    return of;
}

// The memory of a pinned buffer is used again only when its stream is done with it.
Result release_pinned(Buffer& buffer) noexcept {
    const Driver& driver = *buffer.device->driver;
    const size_t of = size_class(buffer.size);
    if (of <= largest_kept && driver.stream_query(buffer.stream->ptr) == success) {
        const std::lock_guard<std::mutex> lock(pinned().mutex);
        auto& kept = pinned().kept[{&driver, of}];
        if (kept.size() < most_kept) {
            kept.push_back(buffer.address);
            return success;
        }
    }
    return driver.host_free(reinterpret_cast<void*>(buffer.address));
}

void trim_pinned(const Driver& driver) {
    const std::lock_guard<std::mutex> lock(pinned().mutex);
    for (auto& [key, kept] : pinned().kept) {
        if (key.first != &driver) continue;
        for (const Address address : kept) driver.host_free(reinterpret_cast<void*>(address));
        kept.clear();
    }
}

std::string bytes_text(uint64_t bytes) {
    char text[64];
    if (bytes < 1 << 20) snprintf(text, sizeof text, "%llu bytes", (unsigned long long)bytes);
    else snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
    return text;
}

template <typename F>
void for_pools(Device& device, F visit) {
    std::vector<Handle> pools;
    {
        const std::lock_guard<std::mutex> lock(device.mutex);
        pools = device.pools;
    }
    Handle own = nullptr;
    if (device.driver->pool_current(&own, device.handle) == success) pools.push_back(own);
    for (const Handle pool : pools) visit(pool);
}

[[noreturn]] void fail_for_memory(Device& device, size_t size, Entry entry) {
    size_t unused = 0, total = 0;
    uint64_t held = 0, used = 0;
    device.driver->memory_info(&unused, &total);
    for_pools(device, [&](Handle pool) {
        uint64_t value = 0;
        if (device.driver->pool_get(pool, pool_reserved, &value) == success) held += value;
        if (device.driver->pool_get(pool, pool_used, &value) == success) used += value;
    });
    Failure failure;
    failure.code = out_of_memory;
    failure.name = "OUT_OF_MEMORY";
    failure.call = device.driver->names[static_cast<int>(entry)];
    failure.object = "device " + device.label();
    failure.text = "asked for " + bytes_text(size) + ", " + bytes_text(unused) + " of " +
                   bytes_text(total) + " are free, and pools hold " + bytes_text(held) +
                   ", of which " + bytes_text(used) + " are in use";
    throw failure;
}

// Waits for the device, so that what was freed is free, and gives what pools hold to the system.
void trim(Device& device) {
    if (capturing.load(std::memory_order_relaxed) != 0) return;
    device.driver->context_sync();
    for_pools(device, [&](Handle pool) { device.driver->pool_trim(pool, 0); });
    trim_pinned(*device.driver);
}

template <typename F>
void try_twice(Device& device, size_t size, Entry entry, F allocate) {
    Result result = allocate();
    if (result == out_of_memory) {
        trim(device);
        result = allocate();
    }
    if (result == out_of_memory) fail_for_memory(device, size, entry);
    if (result != success) fail(device, result, entry);
}

}  // namespace

PoolHandle::~PoolHandle() {
    if (!owned || is_finalizing()) return;
    const Guard guard(*device, nullptr);
    {
        const std::lock_guard<std::mutex> lock(device->mutex);
        std::erase(device->pools, pool);
    }
    lose(*device, device->driver->pool_destroy(pool), Entry::pool_destroy);
}

PoolRef make_pool(Device& device, bool own) {
    const Guard guard(device);
    Handle pool = nullptr;
    if (!own) {
        GPU_CALL(device, pool_current, &pool, device.handle);
        return std::make_shared<PoolHandle>(&device, pool, false);
    }
    PoolProperties properties{};
    properties.allocation = 1;
    properties.location = {1, device.handle};
    GPU_CALL(device, pool_create, &pool, &properties);
    const std::lock_guard<std::mutex> lock(device.mutex);
    device.pools.push_back(pool);
    return std::make_shared<PoolHandle>(&device, pool, true);
}

void allocate(Buffer& buffer, MemoryKind kind, Device& device, size_t size, const StreamRef& stream,
              const PoolRef& pool) {
    buffer.device = &device;
    buffer.size = size;
    buffer.kind = kind;
    buffer.stream = stream;
    buffer.pool = pool;
    if (size == 0) return;
    const Guard guard(device);
    const Driver& driver = *device.driver;
    Address* to = &buffer.address;
    if (kind == MemoryKind::pool) {
        try_twice(device, size, Entry::alloc_from_pool, [&] {
            return pool->owned ? driver.alloc_from_pool(to, size, pool->pool, stream->ptr)
                               : driver.alloc_async(to, size, stream->ptr);
        });
        if (stream->graph != nullptr) buffer.graph = Py_NewRef(stream->graph);
    } else if (kind == MemoryKind::pinned) {
        const std::lock_guard<std::mutex> lock(pinned().mutex);
        auto& kept = pinned().kept[{&driver, size_class(size)}];
        if (!kept.empty()) {
            *to = kept.back();
            return kept.pop_back();
        }
        constexpr unsigned portable = 1;
        GPU_CALL(device, host_alloc, reinterpret_cast<void**>(to), size_class(size), portable);
    } else if (kind == MemoryKind::managed) {
        constexpr unsigned global = 1;
        try_twice(device, size, Entry::managed_alloc,
                  [&] { return driver.managed_alloc(to, size, global); });
    } else {
        try_twice(device, size, Entry::alloc, [&] { return driver.alloc(to, size); });
    }
}

Result Buffer::release() noexcept {
    if (freed) return success;
    freed = true;
    Result result = success;
    if (address != 0 && !is_finalizing() && device != nullptr && graph == nullptr) {
        const Guard guard(*device, nullptr);
        const Driver& driver = *device->driver;
        switch (kind) {
            case MemoryKind::pool:
                if (capturing.load(std::memory_order_relaxed) != 0 && is_capturing(*stream)) {
                    // A graph cannot free what it did not allocate: that waits for its end.
                    const std::lock_guard<std::mutex> lock(device->mutex);
                    device->deferred.emplace_back(address, stream);
                } else {
                    result = driver.free_async(address, stream->ptr);
                }
                break;
            case MemoryKind::pinned: result = release_pinned(*this); break;
            case MemoryKind::managed:
            case MemoryKind::device: result = driver.free(address); break;
            default: break;
        }
    } else if (graph != nullptr && address != 0 && stream != nullptr && stream->graph == graph) {
        result = device->driver->free_async(address, stream->ptr);  // a node of the same graph
    } else if (kind == MemoryKind::host) {
        std::free(reinterpret_cast<void*>(address));
    }
    return result;
}

void Buffer::free() {
    if (exports != 0) throw nb::buffer_error("The buffer is in use by a view of the host.");
    const Result result = release();
    address = 0;
    if (result != success) fail(*device, result, Entry::free_async);
}

Buffer::~Buffer() {
    const Result result = release();
    if (device != nullptr) lose(*device, result, Entry::free_async);
    Py_XDECREF(owner);
    Py_XDECREF(graph);
}

void Buffer::use(const StreamRef& on) {
    if (stream == nullptr || (stream->ptr == on->ptr && stream->device == on->device)) return;
    if (is_capturing(*on) || is_capturing(*stream)) return;
    order(stream, on);
    if (stream->device == on->device) stream = on;
}

void Buffer::end_use(const StreamRef& on) {
    if (stream == nullptr || stream->device == on->device) return;
    if (!is_capturing(*on) && !is_capturing(*stream)) order(on, stream);
}

namespace {

// Whether there is a path between two devices; it is open then.
bool open_path(Device& user, Device& owner) {
    if (&owner == &user || owner.platform != user.platform) return false;
    const Driver& driver = *user.driver;
    int possible = 0;
    if (driver.peer_possible(&possible, user.handle, owner.handle) != success) return false;
    if (possible == 0) return false;
    retain(owner);
    const Guard guard(user);
    const Result result = driver.peer_enable(owner.context, 0);
    if (result != success && result != peer_already_enabled) fail(user, result, Entry::peer_enable);
    return true;
}

void open_pool(Device& user, Handle pool) {
    const PoolAccess access{{1, user.handle}, 3};
    GPU_CALL(user, pool_access, pool, &access, 1);
}

}  // namespace

void allow_access(Device& user, const Buffer& buffer) {
    if (buffer.device == nullptr || !open_path(user, *buffer.device)) return;
    if (buffer.kind == MemoryKind::pool && buffer.pool != nullptr) open_pool(user, buffer.pool->pool);
}

void allow_access(Device& user, Device& owner, Address address) {
    if (!open_path(user, owner)) return;
    Handle pool = nullptr;
    const Guard guard(owner);
    if (owner.driver->pointer_pool(&pool, address) != success || pool == nullptr) return;
    open_pool(user, pool);
}

void free_deferred(Device& device) noexcept {
    std::vector<std::pair<Address, StreamRef>> list;
    {
        const std::lock_guard<std::mutex> lock(device.mutex);
        list.swap(device.deferred);
    }
    for (const auto& [address, stream] : list) {
        lose(device, device.driver->free_async(address, stream->ptr), Entry::free_async);
    }
}

void copy_memory(Device& device, Address to, Address from, size_t size, const StreamRef& stream) {
    if (size == 0) return;
    const Guard guard(device);
    GPU_CALL(device, copy_async, to, from, size, stream->ptr);
}

}  // namespace fieldforge::gpu
