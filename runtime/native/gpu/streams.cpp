// Streams and events below their Python objects: pools, the current stream, order between streams.
#include "platform.h"

namespace fieldforge::gpu {
namespace {

struct Currents {
    std::vector<StreamRef> by_device;
    std::vector<StreamRef> before;  // what `with stream:` puts back
};

Currents& currents() {
    thread_local Currents mine;
    return mine;
}

StreamRef& current_slot(int index) {
    auto& by_device = currents().by_device;
    if (by_device.size() <= static_cast<size_t>(index)) by_device.resize(index + 1);
    return by_device[index];
}

constexpr size_t most_kept = 256;

constexpr const char* library_names[] = {"cupy", "torch"};  // in the order of the bits
PyObject* library_streams[] = {nullptr, nullptr};           // what tells their current streams

}  // namespace

StreamHandle::~StreamHandle() {
    if (is_finalizing()) return;
    if (keep != nullptr) {
        const LockTaken taken;
        Py_DECREF(keep);
    }
    if (!owned) return;
    const Guard guard(*device, nullptr);
    int status = 0;
    if (capturing.load(std::memory_order_relaxed) != 0) device->driver->capture_status(ptr, &status);
    if (status == 0 && priority == 0 && (flags & stream_nonblocking) != 0) {
        const std::lock_guard<SpinLock> lock(device->kept);
        if (device->streams.size() < most_kept) {
            device->streams.push_back(ptr);
            return;
        }
    }
    lose(*device, device->driver->stream_destroy(ptr), Entry::stream_destroy);
}

StreamRef make_stream(Device& device, int priority, bool nonblocking) {
    const Guard guard(device);
    const unsigned flags = nonblocking ? stream_nonblocking : 0;
    Handle stream = nullptr;
    if (priority == 0 && nonblocking) {
        const std::lock_guard<SpinLock> lock(device.kept);
        if (!device.streams.empty()) {
            stream = device.streams.back();
            device.streams.pop_back();
        }
    }
    if (stream == nullptr) GPU_CALL(device, stream_create, &stream, flags, priority);
    return std::make_shared<StreamHandle>(&device, stream, true, flags, priority);
}

const StreamRef& current_stream(Device& device) {
    StreamRef& mine = current_slot(device.index);
    if (mine != nullptr) [[likely]] return mine;
    if (device.stream == nullptr) {
        // It waits for the legacy stream, which CuPy and torch use unless told otherwise, and that
        // for it: what they compute with a program's fields is in order.
        StreamRef made = make_stream(device, 0, false);
        const std::lock_guard<std::mutex> lock(device.mutex);
        if (device.stream == nullptr) device.stream = made;
    }
    return mine = device.stream;
}

void set_current_stream(StreamRef stream) {
    const int index = stream->device->index;
    current_slot(index) = std::move(stream);
}

void push_stream(const StreamRef& stream) {
    currents().before.push_back(current_stream(*stream->device));
    set_current_stream(stream);
}

void pop_stream() {
    auto& before = currents().before;
    if (before.empty()) return;
    StreamRef last = std::move(before.back());
    before.pop_back();
    set_current_stream(std::move(last));
}

Handle take_event(Device& device, bool timing, bool blocking) {
    {
        const std::lock_guard<SpinLock> lock(device.kept);
        auto& kept = device.events[timing * 2 + blocking];
        if (!kept.empty()) {
            const Handle event = kept.back();
            kept.pop_back();
            return event;
        }
    }
    const Guard guard(device);
    Handle event = nullptr;
    GPU_CALL(device, event_create, &event,
             (timing ? 0 : event_untimed) | (blocking ? event_blocking : 0));
    return event;
}

void give_event(Device& device, Handle event, bool timing, bool blocking) noexcept {
    if (is_finalizing()) return;
    {
        const std::lock_guard<SpinLock> lock(device.kept);
        auto& kept = device.events[timing * 2 + blocking];
        if (kept.size() < most_kept) {
            kept.push_back(event);
            return;
        }
    }
    const Guard guard(device, nullptr);
    lose(device, device.driver->event_destroy(event), Entry::event_destroy);
}

void order(const StreamRef& earlier, const StreamRef& later) {
    if (earlier->ptr == later->ptr && earlier->device == later->device) return;
    Device& device = *earlier->device;
    const Handle event = take_event(device, false, false);
    struct Return {
        Device& device;
        Handle event;
        ~Return() { give_event(device, event, false, false); }
    } const give_back{device, event};
    {
        const Guard guard(device);
        GPU_CALL(device, event_record, event, earlier->ptr);
    }
    const Guard guard(*later->device);
    GPU_CALL(*later->device, stream_wait, later->ptr, event, 0);
}

bool is_capturing(const StreamHandle& stream) { return is_capturing(*stream.device, stream.ptr); }

bool is_capturing(Device& device, Handle stream) {
    if (capturing.load(std::memory_order_relaxed) == 0) return false;
    int status = 0;
    const Guard guard(device, nullptr);
    return device.driver->capture_status(stream, &status) == success && status != 0;
}

bool has_chosen_stream(Device& device) {
    const StreamRef& mine = current_slot(device.index);
    return mine != nullptr && mine != device.stream;
}

Handle stream_of_library(unsigned libraries, const Device& device) {
    constexpr uintptr_t legacy = 1;  // a name of its own for the stream whose handle is null
    for (int place = 0; place < 2; ++place) {
        if ((libraries & 1u << place) == 0) continue;
        PyObject*& ask = library_streams[place];
        if (ask == nullptr) ask = PyObject_CallFunction(hook_library, "s", library_names[place]);
        PyObject* number = ask == nullptr ? nullptr : PyLong_FromLong(device.ordinal);
        PyObject* found = number == nullptr ? nullptr : PyObject_CallOneArg(ask, number);
        Py_XDECREF(number);
        const uintptr_t address = found == nullptr ? 0 : PyLong_AsUnsignedLongLong(found);
        Py_XDECREF(found);
        if (PyErr_Occurred()) {
            Failure pending;
            pending.code = -2;  // a Python error is set
            throw pending;
        }
        if (address > legacy) return reinterpret_cast<Handle>(address);
    }
    return nullptr;
}

}  // namespace fieldforge::gpu
