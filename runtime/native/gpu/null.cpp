// The null driver: the same interface over memory of the host. It checks what it is asked to do.
#include <cstdio>
#include <cstring>
#include <memory>

#include "null_state.h"

namespace fieldforge::gpu::null {

State& state() {
    static State* const made = new State;  // never destroyed: threads may outlive main
    return *made;
}

State::State() {
    for (int i = 0; i < most_devices; ++i) {
        device[i].pool.device = i;
        device[i].legacy.index = i;
        device[i].legacy.device = i;
        device[i].legacy.blocking = true;
    }
}

int& current() {
    thread_local int device = -1;
    return device;
}

namespace {

constexpr const char* names[] = {
#define FIELDFORGE_GPU_ENTRY(member, arguments) #member,
    FIELDFORGE_GPU_ENTRIES(FIELDFORGE_GPU_ENTRY)
#undef FIELDFORGE_GPU_ENTRY
};

Result init(unsigned) { return success; }
Result driver_version(int* version) { return *version = 0, success; }
Result count_devices(int* count) {
    state().counted = true;
    return *count = state().devices, success;
}

Result device_get(int* device, int ordinal) {
    *device = ordinal;
    return ordinal >= 0 && ordinal < state().devices ? success : 101;
}

Result device_name(char* name, int size, int device) {
    snprintf(name, static_cast<size_t>(size), "Null device %d", device);
    return success;
}

Result device_arch(char* name, int size, int) {
    snprintf(name, static_cast<size_t>(size), "host");
    return success;
}

// The numbers are CUDA's. A block is as large as on a real device, so that plans are alike.
Result device_attribute(int* value, int attribute, int) {
    switch (attribute) {
        case 1: case 2: case 3: *value = 1024; break;
        case 4: *value = 64; break;
        case 5: *value = 2147483647; break;
        case 6: case 7: *value = 65535; break;
        case 8: *value = 49152; break;
        case 9: *value = 65536; break;
        case 10: *value = 32; break;
        case 12: *value = 65536; break;
        case 13: case 36: *value = 1000000; break;
        case 16: *value = 4; break;
        case 37: *value = 128; break;
        case 38: *value = 4 << 20; break;
        case 39: *value = 2048; break;
        case 81: case 97: *value = 49152; break;
        case 31: case 83: case 115: *value = 1; break;
        default: *value = 0;
    }
    return success;
}

Result device_uuid(void* uuid, int device) {
    std::memset(uuid, 0, 16);
    static_cast<unsigned char*>(uuid)[15] = static_cast<unsigned char>(device);
    return success;
}

Result device_pci(char* text, int size, int device) {
    snprintf(text, static_cast<size_t>(size), "0000:%02x:00.0", device);
    return success;
}

Result device_memory(size_t* bytes, int device) {
    NULL_ENTER(device_memory, nullptr);
    return *bytes = s.device[device].memory, success;
}

Result context_retain(Handle* context, int device) {
    NULL_ENTER(context_retain, nullptr);
    return *context = reinterpret_cast<Handle>(intptr_t{device} + 1), success;
}

Result context_get(Handle* context) {
    return *context = reinterpret_cast<Handle>(intptr_t{current()} + 1), success;
}

Result context_set(Handle context) {
    NULL_ENTER(context_set, context);
    return current() = static_cast<int>(reinterpret_cast<intptr_t>(context)) - 1, success;
}

Result context_sync() {
    NULL_ENTER(context_sync, nullptr);
    if (const Result refused = forbid_in_capture(); refused != success) return refused;
    for (const Stream* stream : s.streams) {
        if (stream->device == current()) s.host.merge(stream->clock);
    }
    s.host.merge(s.device[current() < 0 ? 0 : current()].legacy.clock);
    return success;
}

Result peer_possible(int* answer, int device, int peer) {
    return *answer = device != peer, success;
}
Result peer_enable(Handle context, unsigned) {
    NULL_ENTER(peer_enable, context);
    return success;
}

Result error_name(Result code, const char** text) {
    switch (code) {
        case invalid_value: *text = "NULL_INVALID_VALUE"; break;
        case out_of_memory: *text = "NULL_OUT_OF_MEMORY"; break;
        case invalid_image: *text = "NULL_INVALID_IMAGE"; break;
        case invalid_handle: *text = "NULL_INVALID_HANDLE"; break;
        case not_found: *text = "NULL_NOT_FOUND"; break;
        case not_ready: *text = "NULL_NOT_READY"; break;
        case illegal_address: *text = "NULL_ILLEGAL_ADDRESS"; break;
        case launch_failed: *text = "NULL_LAUNCH_FAILED"; break;
        case not_supported: *text = "NULL_NOT_SUPPORTED"; break;
        case capture_unsupported: *text = "NULL_CAPTURE_UNSUPPORTED"; break;
        case capture_invalidated: *text = "NULL_CAPTURE_INVALIDATED"; break;
        case capture_unjoined: *text = "NULL_CAPTURE_UNJOINED"; break;
        default: *text = "NULL_ERROR";
    }
    return success;
}

// The text is the newest problem, which says more than the code.
Result error_text(Result code, const char** text) {
    static std::string last;
    State& s = state();
    const std::lock_guard<std::recursive_mutex> lock(s.mutex);
    if (code == out_of_memory) {
        last = "the memory of the null device is used up";
    } else {
        last = s.problems.empty() ? "the null driver was asked to fail" : s.problems.back();
    }
    *text = last.c_str();
    return success;
}

}  // namespace

Call::Call(Entry entry, uintptr_t object) : lock(state().mutex) {
    State& s = state();
    const int index = static_cast<int>(entry);
    if (s.recording) s.calls.push_back({names[index], object});
    if (s.pending != 0 && s.injected[index] != success) {
        result = s.injected[index];
        s.injected[index] = success;
        --s.pending;
    }
}

Result problem(std::string text, Result code) {
    constexpr size_t most = 1000;
    State& s = state();
    if (s.problems.size() < most) s.problems.push_back(std::move(text));
    return code;
}

void record(bool on) {
    State& s = state();
    const std::lock_guard<std::recursive_mutex> lock(s.mutex);
    if (on) s.calls.clear();
    s.recording = on;
}

std::vector<CallRecord> recorded() {
    const std::lock_guard<std::recursive_mutex> lock(state().mutex);
    return state().calls;
}

std::vector<std::string> problems() {
    const std::lock_guard<std::recursive_mutex> lock(state().mutex);
    return state().problems;
}

void forget_problems() {
    const std::lock_guard<std::recursive_mutex> lock(state().mutex);
    state().problems.clear();
}

std::vector<Allocation> allocations() {
    constexpr const char* kinds[] = {"device", "pool", "pinned", "managed"};
    const std::lock_guard<std::recursive_mutex> lock(state().mutex);
    std::vector<Allocation> found;
    for (const auto& [start, block] : state().blocks) {
        if (!block.live) continue;
        found.push_back({start, block.size, kinds[static_cast<int>(block.kind)], block.device});
    }
    return found;
}

int device_count() { return state().devices; }

bool set_device_count(int count) {
    State& s = state();
    const std::lock_guard<std::recursive_mutex> lock(s.mutex);
    if (s.counted && count != s.devices) return false;
    s.devices = count;
    return true;
}

void set_memory(int device, size_t bytes) {
    const std::lock_guard<std::recursive_mutex> lock(state().mutex);
    state().device[device].memory = bytes;
}

void set_guard(int side) {
    const std::lock_guard<std::recursive_mutex> lock(state().mutex);
    state().guard = static_cast<Guard>(side);
}

bool fail_next(const std::string& entry, Result code) {
    State& s = state();
    const std::lock_guard<std::recursive_mutex> lock(s.mutex);
    for (int i = 0; i < static_cast<int>(Entry::count); ++i) {
        if (entry != names[i]) continue;
        s.pending += (code != success) - (s.injected[i] != success);
        s.injected[i] = code;
        return true;
    }
    return false;
}

size_t handles() {
    State& s = state();
    const std::lock_guard<std::recursive_mutex> lock(s.mutex);
    return s.streams.size() + s.events.size() + s.modules.size() + s.graphs.size() +
           s.execs.size() + s.pools.size();
}

}  // namespace fieldforge::gpu::null

namespace fieldforge::gpu {

std::string load_null(Driver& driver) {
    fill_unsupported(driver);
    driver.vendor = Vendor::null;
    driver.path = "null";
    driver.init = null::init;
    driver.driver_version = null::driver_version;
    driver.device_count = null::count_devices;
    driver.device_get = null::device_get;
    driver.device_name = null::device_name;
    driver.device_arch = null::device_arch;
    driver.device_attribute = null::device_attribute;
    driver.device_uuid = null::device_uuid;
    driver.device_pci = null::device_pci;
    driver.device_memory = null::device_memory;
    driver.context_retain = null::context_retain;
    driver.context_get = null::context_get;
    driver.context_set = null::context_set;
    driver.context_sync = null::context_sync;
    driver.peer_possible = null::peer_possible;
    driver.peer_enable = null::peer_enable;
    driver.error_name = null::error_name;
    driver.error_text = null::error_text;
    null::fill_memory(driver);
    null::fill_streams(driver);
    null::fill_modules(driver);
    null::fill_graphs(driver);
    return "";
}

}  // namespace fieldforge::gpu
