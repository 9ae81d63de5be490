// The Python objects of the runtime, as C++ sees them.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <optional>
#include <utility>

#include "platform.h"

namespace fieldforge::gpu {

namespace nb = nanobind;

struct DeviceObject {
    Device* device;
};

struct Stream {
    StreamRef ref;
    PyObject* number = nullptr;  // `ptr`, once somebody asked
    explicit Stream(StreamRef ref) : ref(std::move(ref)) {}
    ~Stream() { Py_XDECREF(number); }
    Stream(Stream&& other) noexcept
        : ref(std::move(other.ref)), number(std::exchange(other.number, nullptr)) {}
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
};

struct Event {
    Device* device;
    Handle event;
    bool timing, blocking;
    ~Event() { give_event(*device, event, timing, blocking); }
    Event(Device* device, bool timing, bool blocking)
        : device(device), event(take_event(*device, timing, blocking)), timing(timing),
          blocking(blocking) {}
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
};

enum class MemoryKind { pool, device, pinned, managed, host, foreign };

struct PoolHandle {
    Device* device;
    Handle pool;
    bool owned;
    ~PoolHandle();
};
using PoolRef = std::shared_ptr<PoolHandle>;

// Memory with an owner. Where it is used on another stream than before, that one is waited for.
struct Buffer {
    Device* device;  // null for memory of the host that no device knows
    Address address = 0;
    size_t size = 0;
    MemoryKind kind = MemoryKind::foreign;
    StreamRef stream;
    PoolRef pool;
    PyObject* owner = nullptr;
    PyObject* graph = nullptr;  // the graph whose node allocated it
    int exports = 0;            // views of the host that are alive
    bool freed = false;

    Buffer() : device(nullptr) {}
    ~Buffer();
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    void free() ;                                    // may throw
    Result release() noexcept;                       // what the driver answers
    void use(const StreamRef& on);                   // from now on it belongs to that stream
    void end_use(const StreamRef& on);               // of another device: its own stream waits
    bool on_host() const { return kind == MemoryKind::pinned || kind == MemoryKind::host ||
                                  kind == MemoryKind::managed; }
};

struct DataType {
    uint8_t code, bits;  // as DLPack has them
    uint16_t lanes;
    size_t size() const { return (size_t{bits} * lanes + 7) / 8; }
};

constexpr int most_axes = 16;
constexpr int device_host = 1, device_cuda = 2, device_cuda_host = 3, device_rocm = 10,
              device_rocm_host = 11, device_null = 12, device_cuda_managed = 13;

// An array as programs take it; strides are in bytes.
struct Array {
    Address address = 0;
    int64_t shape[most_axes], strides[most_axes];
    int axes = 0;
    DataType type{2, 64, 1};
    int device_type = device_host, device_id = 0;
    bool readonly = false;
    Device* device = nullptr;     // null on the host
    PyObject* owner = nullptr;    // what keeps the memory alive
    Buffer* buffer = nullptr;     // if the owner is one of ours
    Py_buffer view{};             // of host memory that offers a buffer, held while this lives
    Array() = default;
    ~Array();
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;
};

struct Module {
    Device* device;
    Handle module = nullptr;
    explicit Module(Device* device) : device(device) {}
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;
};

struct Kernel {
    Device* device;
    Handle function;
    PyObject* module;
    std::string name;
    ~Kernel() { Py_XDECREF(module); }
    Kernel(Device* device, Handle function, PyObject* module, std::string name)
        : device(device), function(function), module(Py_NewRef(module)), name(std::move(name)) {}
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;
};

struct Dim3 {
    unsigned of[3];
};

// The Python class of T, once there is one. Objects of exactly that class are known without asking
// nanobind for it; `as` is null where the object is none.
template <typename T>
inline PyTypeObject* class_of = nullptr;

template <typename T>
T* as(PyObject* object) {
    if (Py_TYPE(object) != class_of<T> && !nb::isinstance<T>(object)) return nullptr;
    return nb::inst_ptr<T>(object);
}

// A new object of a class of ours, made of what `T` takes.
template <typename T, typename... Args>
nb::object make_object(Args&&... args) {
    const nb::handle type(reinterpret_cast<PyObject*>(class_of<T>));
    nb::object made = nb::steal(nb::inst_alloc(type).release().ptr());
    new (nb::inst_ptr<T>(made)) T(std::forward<Args>(args)...);
    nb::inst_mark_ready(made);
    return made;
}

// What `grid` and `block` may be: a number, or up to three.
Dim3 dim3_from(PyObject* given, const char* what);
nb::object device_object(Device& device);
nb::object default_resource(Device& device);  // the pool that is current on it
Device& device_from(nb::handle given);              // None, a number, or a Device
StreamRef stream_from(nb::handle given, Device* device);  // None: the current one of `device`
int device_type_of(const Device& device, MemoryKind kind);
const Array* as_array(PyObject* object);   // null if it is none
Buffer* as_buffer(PyObject* object);
const Kernel* as_kernel(PyObject* object);
// The current graph capture of a stream of ours keeps `object` alive.
void keep_for_capture(const StreamHandle& stream, PyObject* object);
void copy_memory(Device& device, Address to, Address from, size_t size, const StreamRef& stream);

extern PyObject* hook_foreign;  // (object) -> Array, for arguments that are not ours

void add_devices(nb::module_& module);
void add_streams(nb::module_& module);
void add_memory(nb::module_& module);
void add_arrays(nb::module_& module);
void add_modules(nb::module_& module);
void add_graphs(nb::module_& module);
void add_null(nb::module_& module);
int add_launchers(PyObject* module);
PyObject* make_launcher(PyObject* kernel, const char* format, Dim3 grid, Dim3 block,
                        unsigned shared, bool cooperative);
PyObject* launch_once(PyObject* kernel, Dim3 grid, Dim3 block, PyObject* arguments,
                      unsigned shared, PyObject* stream, bool cooperative);

}  // namespace fieldforge::gpu
