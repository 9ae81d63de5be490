// Platforms and devices as the objects see them: the loaded driver, what each device keeps ready
// (events, streams, its default stream), and how a failed call becomes an exception.
#pragma once

#include <Python.h>

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "../interpreter_lock.h"
#include "driver.h"

namespace fieldforge::gpu {

struct Device;

// A call of a driver that failed, or a platform that cannot be had (`code` -1).
struct Failure : std::exception {
    int code = -1;
    std::string name, call, object, text;
    const char* what() const noexcept override { return text.c_str(); }
};

struct Platform {
    Driver driver;
    std::vector<std::unique_ptr<Device>> devices;
    bool several = false;
    std::string name;
};

// The handle of a stream; the last reference gives it back to its device.
struct StreamHandle {
    StreamHandle(Device* device, Handle ptr, bool owned, unsigned flags, int priority)
        : device(device), ptr(ptr), owned(owned), flags(flags), priority(priority) {}
    ~StreamHandle();
    StreamHandle(const StreamHandle&) = delete;
    StreamHandle& operator=(const StreamHandle&) = delete;

    Device* device;
    Handle ptr;
    bool owned;
    unsigned flags;
    int priority;
    PyObject* keep = nullptr;    // whom the stream belongs to, if not us
    PyObject* graph = nullptr;   // borrowed: what captures it, if we began that
};
using StreamRef = std::shared_ptr<StreamHandle>;

// Held for a few instructions, by threads with and without the interpreter's lock.
class SpinLock {
   public:
    void lock() noexcept {
        while (taken_.exchange(true, std::memory_order_acquire)) {
            while (taken_.load(std::memory_order_relaxed)) {
            }
        }
    }
    void unlock() noexcept { taken_.store(false, std::memory_order_release); }

   private:
    std::atomic<bool> taken_{false};
};

// Never destroyed, so that every object may point to its device.
struct Device {
    Platform* platform;
    const Driver* driver;
    int ordinal;
    int handle;
    int index;  // among the devices of all platforms
    Handle context = nullptr;
    std::mutex mutex;
    SpinLock kept;  // of `events` and `streams`
    std::vector<Handle> events[4];  // to be used again: by `timing` and `blocking`
    std::vector<Handle> streams;    // likewise: those of the default priority that do not block
    StreamRef stream;               // current wherever nobody chose another
    std::atomic<Failure*> lost{nullptr};  // the first error of a destructor, not yet raised
    std::vector<Handle> pools;            // that we made
    std::vector<std::pair<Address, StreamRef>> deferred;  // to be freed when no stream captures
    PyObject* object = nullptr;           // its Python object
    PyObject* memory = nullptr;           // its memory resource, if one was set
    std::string label() const;            // "cuda:0"
};

Platform& platform_named(const std::string& name);  // "cuda", "hip" or "null"
Platform& default_platform();  // as the settings say; asks Python once
void forget_default_platform();
Device& device_at(Platform& platform, int ordinal);
Device& current_device();
void retain(Device& device);  // makes the context, once

extern thread_local Device* ready;   // the device whose context is current, where there is only one
extern std::atomic<int> capturing;   // how many captures we have begun

[[noreturn]] void fail(const Device& device, Result result, Entry entry, std::string object = {});
void raise_lost(Device& device);
void lose(Device& device, Result result, Entry entry) noexcept;  // of destructors
void set_python_error(const Failure& failure);
bool is_finalizing();

// Makes the device current for a block; what was current is current again behind it.
class Guard {
   public:
    explicit Guard(Device& device) : driver_(device.driver) {
        if (device.lost.load(std::memory_order_relaxed) != nullptr) raise_lost(device);
        if (ready == &device) return;
        enter(device);
    }
    Guard(Device& device, std::nullptr_t) noexcept : driver_(device.driver) {  // of destructors
        if (ready != &device) enter_quietly(device);
    }
    ~Guard() {
        if (previous_ != nullptr) driver_->context_set(previous_);
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    void enter(Device& device);
    void enter_quietly(Device& device) noexcept;
    const Driver* driver_;
    Handle previous_ = nullptr;
};

// Calls an entry of the driver of a device; an answer that is not `success` is a Failure.
#define GPU_CALL(device, member, ...) GPU_CALL_ON(device, "", member, __VA_ARGS__)
#define GPU_CALL_ON(device, object, member, ...)                                         \
    do {                                                                                 \
        const ::fieldforge::gpu::Result result_ = (device).driver->member(__VA_ARGS__);  \
        if (result_ != ::fieldforge::gpu::success) [[unlikely]]                          \
            ::fieldforge::gpu::fail(device, result_, ::fieldforge::gpu::Entry::member, object); \
    } while (false)

// The current stream of this thread on a device, and how to choose another.
const StreamRef& current_stream(Device& device);
void set_current_stream(StreamRef stream);
void push_stream(const StreamRef& stream);
void pop_stream();
StreamRef make_stream(Device& device, int priority, bool nonblocking);

Handle take_event(Device& device, bool timing, bool blocking);
void give_event(Device& device, Handle event, bool timing, bool blocking) noexcept;
// Lets what comes on `later` wait for what was submitted to `earlier`.
void order(const StreamRef& earlier, const StreamRef& later);
// Ask the driver only while somebody captures.
bool is_capturing(const StreamHandle& stream);
bool is_capturing(Device& device, Handle stream);

// Whether this thread works on a stream that it chose, not on the default of the device.
bool has_chosen_stream(Device& device);
// The stream that is current for one of these libraries (bits of `Library`), if any has another than
// the legacy stream; null otherwise. Asks Python.
Handle stream_of_library(unsigned libraries, const Device& device);

extern PyObject* hook_choose;  // () -> name of the platform
extern PyObject* hook_error;   // (code, name, call, object, text) -> exception
extern PyObject* hook_lost;    // (text) -> None
extern PyObject* hook_library; // (name) -> callable(ordinal) -> address of a current stream

}  // namespace fieldforge::gpu
