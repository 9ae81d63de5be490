// GPUs as devices of programs: temporaries and copies in the order of the current stream.
#include "program_device.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "gpu.h"
#include "guarded.h"

namespace fieldforge {

namespace gpu {
namespace {

constexpr const char* name_of(int type) {
    return type == device_cuda ? "cuda" : type == device_rocm ? "hip" : "null";
}

// Freed memory stays with the driver's pool: the next call asks for as much again.
void keep_memory(Device& device) {
    static std::atomic<uint64_t> done{0};
    const uint64_t bit = uint64_t{1} << (device.index % 64);
    if (done.load(std::memory_order_relaxed) & bit) return;
    Handle pool = nullptr;
    uint64_t all = UINT64_MAX;
    if (device.driver->pool_current(&pool, device.handle) == success) {
        device.driver->pool_set(pool, pool_threshold, &all);
    }
    done.fetch_or(bit);
}

template <int type>
Platform& own_platform() {
    static Platform& found = platform_named(name_of(type));  // by name it takes a lock
    return found;
}

template <int type>
Device& own_device() {
    return device_at(own_platform<type>(), place.device_id);
}

// The stream of the call that this thread makes.
Handle stream_of_call(Device& device) {
    return place.stream != nullptr ? place.stream : current_stream(device)->ptr;
}

// The end of the last call that used some memory.
struct LastUse {
    Device* device;
    Handle stream, event;
    LastUse(Device* device, Handle stream)
        : device(device), stream(stream), event(take_event(*device, false, false)) {}
    ~LastUse() { give_event(*device, event, false, false); }
};

// Memory for temporaries of all that is captured for one stream: a graph that allocates by itself is
// slow to make and to launch. What is launched on other streams waits for the last use.
struct Room {
    Device& device;
    size_t size;
    LastUse use;
    Address address = 0;
    Room(Device& device, Handle stream, size_t size)
        : device(device), size(size), use(&device, stream) {
        GPU_CALL(device, alloc_async, &address, size, stream);
        GPU_CALL(device, event_record, use.event, stream);
    }
    ~Room() {
        if (is_finalizing()) return;
        const Guard guard(device, nullptr);
        lose(device, device.driver->stream_wait(nullptr, use.event, 0), Entry::stream_wait);
        lose(device, device.driver->free_async(address, nullptr), Entry::free_async);
    }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
};

std::shared_ptr<Room> room_for(Device& device, Handle stream, size_t size) {
    static std::mutex lock;
    static std::map<std::pair<Device*, Handle>, std::weak_ptr<Room>> rooms;
    if (size == 0) return nullptr;
    const std::lock_guard guard(lock);
    auto& known = rooms[{&device, stream}];
    std::shared_ptr<Room> room = known.lock();
    if (room == nullptr || room->size < size) {
        known = room = std::make_shared<Room>(device, stream, size);
    }
    return room;
}

// The room of what this thread captures, and how much of it is taken.
thread_local Room* own_room = nullptr;
thread_local size_t taken = 0;
constexpr size_t room_line = 256;

template <int type>
Block allocate(size_t size) noexcept {
    if (own_room != nullptr && taken + size <= own_room->size) {
        auto* const start = reinterpret_cast<std::byte*>(own_room->address) + taken;
        taken += (size + room_line - 1) / room_line * room_line;
        return {start, size};
    }
    try {
        Device& device = own_device<type>();
        const Guard guard(device);
        keep_memory(device);
        Address address = 0;
        const Result result = device.driver->alloc_async(&address, size, stream_of_call(device));
        if (result != success) return {};
        return {reinterpret_cast<std::byte*>(address), size};
    } catch (...) {  // the call is refused: there is no memory
        return {};
    }
}

template <int type>
void release(Block block) noexcept {
    if (block.data == nullptr || is_finalizing()) return;
    if (own_room != nullptr) {  // calls give back first what they took last
        const auto start = reinterpret_cast<Address>(block.data);
        if (start >= own_room->address && start < own_room->address + own_room->size) {
            taken = start - own_room->address;
            return;
        }
    }
    try {
        Device& device = own_device<type>();
        const Guard guard(device, nullptr);
        lose(device,
             device.driver->free_async(reinterpret_cast<Address>(block.data),
                                       stream_of_call(device)),
             Entry::free_async);
    } catch (...) {
        return;
    }
}

template <int type>
void copy(void* to, const void* from, size_t size, const Context& context) noexcept {
    try {
        Device& device = device_at(own_platform<type>(), context.device_id);
        const Guard guard(device);
        lose(device,
             device.driver->copy_async(reinterpret_cast<Address>(to), reinterpret_cast<Address>(from),
                                       size, context.stream),
             Entry::copy_async);
    } catch (...) {
        return;
    }
}

template <int type>
const Context* current(Context& room) noexcept {
    room = {context_version, sizeof(Context), type, place.device_id,
            nullptr, nullptr, nullptr, nullptr, nullptr};
    try {
        Device& device = own_device<type>();
        const Guard guard(device);
        room.stream = stream_of_call(device);
    } catch (...) {  // the launch fails again, and says why
        room.stream = nullptr;
    }
    return &room;
}

// Where nobody chose a stream of ours, work goes to that of the library whose arrays are given;
// its legacy stream is in order with our default.
template <int type>
bool settle() {
    if (place.libraries == 0) return true;
    return guarded([] {
        Device& device = own_device<type>();
        if (!has_chosen_stream(device)) place.stream = stream_of_library(place.libraries, device);
        return true;
    });
}

// A capture has an order of its own, and cannot wait for what happened before it.
template <int type>
bool lend(std::shared_ptr<void>& last, bool begins) noexcept {
    try {
        Device& device = own_device<type>();
        const Guard guard(device);
        const Handle stream = stream_of_call(device);
        if (is_capturing(device, stream)) return true;
        auto use = std::static_pointer_cast<LastUse>(last);
        if (begins) {
            if (use == nullptr || use->stream == stream) return true;
            return device.driver->stream_wait(stream, use->event, 0) == success;
        }
        if (use == nullptr) last = use = std::make_shared<LastUse>(&device, stream);
        use->stream = stream;
        return device.driver->event_record(use->event, stream) == success;
    } catch (...) {  // the call is refused
        return false;
    }
}

// Calls of a step as one: launched again and again.
struct StepGraph {
    Device* device;
    std::shared_ptr<Room> room;
    Handle exec = nullptr;
    ~StepGraph() {
        if (exec == nullptr || is_finalizing()) return;
        const Guard guard(*device, nullptr);
        lose(*device, device->driver->exec_destroy(exec), Entry::exec_destroy);
    }
};

// A stream while it captures; other threads have nothing to do with it.
struct Capturing {
    Device& device;
    Handle stream = nullptr, graph = nullptr;
    Capturing(Device& device, Room* room) : device(device) {
        constexpr unsigned non_blocking = 1;
        GPU_CALL(device, stream_create, &stream, non_blocking, 0);
        const Result result = device.driver->capture_begin(stream, capture_thread_local);
        if (result != success) {
            device.driver->stream_destroy(stream);
            fail(device, result, Entry::capture_begin);
        }
        capturing.fetch_add(1);
        own_room = room;
        taken = 0;
    }
    Result end() {
        own_room = nullptr;
        const Result result = device.driver->capture_end(stream, &graph);
        capturing.fetch_sub(1);
        is_over = true;
        return result;
    }
    ~Capturing() {
        if (!is_over) end();
        if (graph != nullptr) device.driver->graph_destroy(graph);
        lose(device, device.driver->stream_destroy(stream), Entry::stream_destroy);
    }
    bool is_over = false;
};

template <int type>
std::shared_ptr<void> capture_step(bool (*body)(void* data, void* stream), void* data,
                                   size_t size) {
    std::shared_ptr<StepGraph> made;
    guarded([&] {
        Device& device = own_device<type>();
        const Guard guard(device);
        const Handle stream = stream_of_call(device);
        const auto room = room_for(device, stream, size == 0 ? 0 : size + 2 * room_line);
        Capturing capturing(device, room.get());
        const bool is_done = body(data, capturing.stream);
        const Result result = capturing.end();
        if (!is_done) return false;
        if (result != success) fail(device, result, Entry::capture_end);
        auto step = std::make_shared<StepGraph>(StepGraph{&device, room});
        constexpr unsigned long long free_on_launch = 1;
        GPU_CALL(device, graph_instantiate, &step->exec, capturing.graph, free_on_launch);
        made = std::move(step);
        return true;
    });
    return made;
}

template <int type>
bool user_captures() noexcept {
    try {
        Device& device = own_device<type>();
        const Guard guard(device);
        return is_capturing(device, stream_of_call(device));
    } catch (...) {  // the launch fails again, and says why
        return false;
    }
}

template <int type>
bool launch_step(void* captured) {
    return guarded([&] {
        Device& device = own_device<type>();
        const Guard guard(device);
        const auto& step = *static_cast<StepGraph*>(captured);
        const Handle stream = stream_of_call(device);
        if (step.room != nullptr) GPU_CALL(device, stream_wait, stream, step.room->use.event, 0);
        GPU_CALL(device, graph_launch, step.exec, stream);
        if (step.room != nullptr) GPU_CALL(device, event_record, step.room->use.event, stream);
        return true;
    });
}

template <int type>
constexpr fieldforge::Device made = {type,    allocate<type>, release<type>, copy<type>,
                                     nullptr, current<type>,  true,          settle<type>,
                                     lend<type>, capture_step<type>, launch_step<type>,
                                     user_captures<type>};

}  // namespace

Device& at_hand(Platform& platform) {
    if (!platform.several) return *platform.devices[0];
    Handle context = nullptr;
    platform.driver.context_get(&context);
    for (const auto& device : platform.devices) {
        if (context != nullptr && device->context == context) return *device;
    }
    return *platform.devices[0];
}

void add_program_device(int32_t type) {
    if (find_device(type) != nullptr) return;
    switch (type) {
        case device_cuda: return add_device(made<device_cuda>);
        case device_rocm: return add_device(made<device_rocm>);
        case device_null: return add_device(made<device_null>);
        default: return;
    }
}

}  // namespace gpu
}  // namespace fieldforge
