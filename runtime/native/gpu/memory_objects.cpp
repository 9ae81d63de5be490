// `Buffer` and the memory resources.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdlib>

#include "memory.h"

namespace fieldforge::gpu {
namespace {

const char* kind_name(MemoryKind kind) {
    constexpr const char* names[] = {"pool", "device", "pinned", "managed", "host", "foreign"};
    return names[static_cast<int>(kind)];
}

struct Resource {
    Device* device;
    MemoryKind kind;
    PoolRef pool;
};
struct PoolResource : Resource {};
struct DeviceResource : Resource {};
struct PinnedResource : Resource {};
struct ManagedResource : Resource {};
struct HostResource {
    size_t alignment;
};

nb::object allocated(const Resource& self, Py_ssize_t size, nb::handle stream) {
    if (size < 0) throw nb::value_error("A buffer cannot have a negative size.");
    auto buffer = std::make_unique<Buffer>();
    allocate(*buffer, self.kind, *self.device, static_cast<size_t>(size),
             stream_from(stream, self.device), self.pool);
    return nb::cast(buffer.release(), nb::rv_policy::take_ownership);
}

nb::object allocated_on_host(const HostResource& self, Py_ssize_t size, nb::handle) {
    if (size < 0) throw nb::value_error("A buffer cannot have a negative size.");
    auto buffer = std::make_unique<Buffer>();
    const size_t rounded = (static_cast<size_t>(size) + self.alignment - 1) / self.alignment;
    buffer->kind = MemoryKind::host;
    buffer->size = static_cast<size_t>(size);
    void* memory = size == 0 ? nullptr : std::aligned_alloc(self.alignment, rounded * self.alignment);
    if (memory == nullptr && size != 0) throw std::bad_alloc();
    buffer->address = reinterpret_cast<Address>(memory);
    return nb::cast(buffer.release(), nb::rv_policy::take_ownership);
}

nb::object buffer_from_handle(uintptr_t ptr, size_t size, nb::handle device, nb::handle owner,
                              nb::handle stream, bool on_host) {
    auto buffer = std::make_unique<Buffer>();
    buffer->device = on_host && device.is_none() ? nullptr : &device_from(device);
    buffer->address = ptr;
    buffer->size = size;
    buffer->kind = on_host ? MemoryKind::pinned : MemoryKind::foreign;
    if (on_host) buffer->graph = nullptr;
    if (buffer->device != nullptr) buffer->stream = stream_from(stream, buffer->device);
    buffer->freed = true;  // it is not ours to free
    if (!owner.is_none()) buffer->owner = Py_NewRef(owner.ptr());
    return nb::cast(buffer.release(), nb::rv_policy::take_ownership);
}

void check_alive(const Buffer& buffer) {
    if (buffer.freed && buffer.address == 0 && buffer.size != 0) {
        throw nb::value_error("The buffer was freed.");
    }
}

// Memory that a copy reads or writes: a Buffer of ours, or whatever offers a buffer on the host.
class Memory {
   public:
    Memory(nb::handle given, bool writable) {
        buffer_ = as_buffer(given.ptr());
        if (buffer_ == nullptr) {
            if (const Array* array = as_array(given.ptr()); array != nullptr) {
                throw nb::type_error("A copy of arrays goes through 'Array.copy_from'.");
            }
            const int flags = PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
            if (PyObject_GetBuffer(given.ptr(), &view_, flags) < 0) throw nb::python_error();
            held_ = true;
        } else {
            check_alive(*buffer_);
        }
    }
    ~Memory() {
        if (held_) PyBuffer_Release(&view_);
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    Address address() const {
        return buffer_ != nullptr ? buffer_->address : reinterpret_cast<Address>(view_.buf);
    }
    size_t size() const { return buffer_ != nullptr ? buffer_->size : static_cast<size_t>(view_.len); }
    Buffer* buffer() const { return buffer_; }

   private:
    Buffer* buffer_;
    Py_buffer view_{};
    bool held_ = false;
};

Device& place_of(const Buffer& a, const Buffer* b) {
    if (a.device != nullptr) return *a.device;
    return b != nullptr && b->device != nullptr ? *b->device : current_device();
}

// Copies `size` bytes in the order of a stream; the host is waited for where it takes the result.
void copy(Buffer& self, nb::handle other, nb::handle stream, bool from_other) {
    check_alive(self);
    const Memory memory(other, !from_other);
    if (memory.size() != self.size) {
        PyErr_Format(PyExc_ValueError, "The sizes must agree: the buffer has %zu bytes, the other %zu.",
                     self.size, memory.size());
        throw nb::python_error();
    }
    Device& device = place_of(self, memory.buffer());
    const StreamRef on = stream_from(stream, &device);
    self.use(on);
    if (memory.buffer() != nullptr) {
        memory.buffer()->use(on);
        allow_access(device, *memory.buffer());
    }
    const Address to = from_other ? self.address : memory.address();
    const Address from = from_other ? memory.address() : self.address;
    copy_memory(device, to, from, self.size, on);
    if (memory.buffer() != nullptr) {
        memory.buffer()->end_use(on);
        keep_for_capture(*on, other.ptr());
        return;
    }
    if (is_capturing(*on)) {
        keep_for_capture(*on, other.ptr());
        return;
    }
    const Guard guard(device);
    Result result;
    {
        const LockReleased released;
        result = device.driver->stream_sync(on->ptr);
    }
    if (result != success) fail(device, result, Entry::stream_sync);
}

void fill(Buffer& self, unsigned value, int width, nb::handle stream) {
    check_alive(self);
    if (self.device == nullptr) throw nb::value_error("Memory of the host alone is filled by NumPy.");
    Device& device = *self.device;
    const StreamRef on = stream_from(stream, &device);
    self.use(on);
    if (self.size == 0) return;
    if ((width != 1 && width != 2 && width != 4) || self.size % static_cast<size_t>(width) != 0) {
        throw nb::value_error("The width of a fill is 1, 2 or 4 bytes and divides the size.");
    }
    const Guard guard(device);
    const size_t count = self.size / static_cast<size_t>(width);
    if (width == 1) {
        GPU_CALL(device, fill8_async, self.address, static_cast<unsigned char>(value), count, on->ptr);
    } else if (width == 2) {
        GPU_CALL(device, fill16_async, self.address, static_cast<unsigned short>(value), count, on->ptr);
    } else {
        GPU_CALL(device, fill32_async, self.address, value, count, on->ptr);
    }
}

// What cuda.core calls when a buffer of ours, handed over by address, is given back.
void deallocate(const Resource& self, uintptr_t ptr, size_t, nb::handle stream) {
    const StreamRef on = stream_from(stream, self.device);
    const Guard guard(*self.device);
    if (self.kind == MemoryKind::pool) {
        GPU_CALL(*self.device, free_async, ptr, on->ptr);
    } else if (self.kind == MemoryKind::pinned) {
        GPU_CALL(*self.device, host_free, reinterpret_cast<void*>(ptr));
    } else {
        GPU_CALL(*self.device, free, ptr);
    }
}

template <typename T>
nb::class_<T> add_resource(nb::module_& module, const char* name) {
    return nb::class_<T>(module, name)
        .def("allocate", [](const T& self, Py_ssize_t size, nb::handle stream) {
            return allocated(self, size, stream);
        }, nb::arg("size"), nb::kw_only(), nb::arg("stream") = nb::none())
        .def("deallocate", [](const T& self, uintptr_t ptr, size_t size, nb::handle stream) {
            deallocate(self, ptr, size, stream);
        }, nb::arg("ptr"), nb::arg("size"), nb::kw_only(), nb::arg("stream") = nb::none())
        .def_prop_ro("device", [](const T& self) { return device_object(*self.device); })
        .def_prop_ro("kind", [](const T& self) { return kind_name(self.kind); })
        .def_prop_ro("is_host_accessible", [](const T& self) {
            return self.kind == MemoryKind::pinned || self.kind == MemoryKind::managed;
        })
        .def_prop_ro("is_device_accessible", [](const T&) { return true; });
}

template <typename T, MemoryKind kind>
void make_plain(T* self, nb::object device) {
    new (self) T{{&device_from(device), kind, nullptr}};
}

PyObject* pool_type;

uint64_t pool_value(const Resource& self, int attribute) {
    uint64_t value = 0;
    const Guard guard(*self.device);
    GPU_CALL(*self.device, pool_get, self.pool->pool, attribute, &value);
    return value;
}

void set_threshold(const PoolResource& self, uint64_t value) {
    const Guard guard(*self.device);
    GPU_CALL(*self.device, pool_set, self.pool->pool, pool_threshold, &value);
}

void make_pool_resource(PoolResource* self, nb::object device, bool own,
                        const std::optional<uint64_t>& release_threshold) {
    Device& place = device_from(device);
    new (self) PoolResource{{&place, MemoryKind::pool, make_pool(place, own)}};
    if (release_threshold.has_value()) set_threshold(*self, *release_threshold);
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
    Buffer& buffer = *nb::inst_ptr<Buffer>(self);
    if (!buffer.on_host() || (buffer.address == 0 && buffer.size != 0)) {
        PyErr_SetString(PyExc_BufferError,
                        "The memory is not on the host: copy it, for instance with 'copy_to'.");
        view->obj = nullptr;
        return -1;
    }
    const int result = PyBuffer_FillInfo(view, self, reinterpret_cast<void*>(buffer.address),
                                         static_cast<Py_ssize_t>(buffer.size), 0, flags);
    if (result == 0) ++buffer.exports;
    return result;
}

void release_buffer(PyObject* self, Py_buffer*) { --nb::inst_ptr<Buffer>(self)->exports; }

PyType_Slot buffer_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
    {0, nullptr},
};

PyTypeObject* buffer_type;

}  // namespace

nb::object default_resource(Device& device) {
    return nb::handle(pool_type)(device_object(device));
}

Buffer* as_buffer(PyObject* object) {
    return Py_TYPE(object) == buffer_type ? nb::inst_ptr<Buffer>(object) : nullptr;
}

void add_memory(nb::module_& module) {
    auto buffer = nb::class_<Buffer>(module, "Buffer", nb::is_final(), nb::is_weak_referenceable(),
                                     nb::type_slots(buffer_slots));
    buffer_type = reinterpret_cast<PyTypeObject*>(buffer.ptr());
    buffer.def_prop_ro("ptr", [](const Buffer& self) { return self.address; })
        .def_prop_ro("size", [](const Buffer& self) { return self.size; })
        .def_prop_ro("kind", [](const Buffer& self) { return kind_name(self.kind); })
        .def_prop_ro("device", [](const Buffer& self) {
            return self.device == nullptr ? nb::none() : device_object(*self.device);
        })
        .def_prop_ro("stream", [](const Buffer& self) -> nb::object {
            return self.stream == nullptr ? nb::none() : nb::cast(Stream{self.stream});
        })
        .def_prop_ro("is_host_accessible", [](const Buffer& self) { return self.on_host(); })
        .def_prop_ro("is_device_accessible", [](const Buffer& self) {
            return self.kind != MemoryKind::host;
        })
        .def_prop_ro("owner", [](const Buffer& self) {
            return self.owner == nullptr ? nb::none() : nb::borrow(self.owner);
        })
        .def("free", [](Buffer& self, nb::handle stream) {
            if (!stream.is_none() && self.device != nullptr) self.use(stream_from(stream, self.device));
            self.free();
        }, nb::arg("stream") = nb::none())
        .def("use_on", [](Buffer& self, nb::handle stream) {
            if (self.device != nullptr) self.use(stream_from(stream, self.device));
        }, nb::arg("stream") = nb::none())
        .def("copy_from", [](Buffer& self, nb::handle source, nb::handle stream) {
            copy(self, source, stream, true);
        }, nb::arg("source"), nb::kw_only(), nb::arg("stream") = nb::none())
        .def("copy_to", [](Buffer& self, nb::handle target, nb::handle stream) {
            copy(self, target, stream, false);
        }, nb::arg("target"), nb::kw_only(), nb::arg("stream") = nb::none())
        .def("fill", fill, nb::arg("value"), nb::kw_only(), nb::arg("width") = 1,
             nb::arg("stream") = nb::none())
        .def_static("from_handle", buffer_from_handle, nb::arg("ptr"), nb::arg("size"), nb::kw_only(),
                    nb::arg("device") = nb::none(), nb::arg("owner") = nb::none(),
                    nb::arg("stream") = nb::none(), nb::arg("on_host") = false)
        .def("__len__", [](const Buffer& self) { return self.size; })
        .def("__repr__", [](const Buffer& self) {
            return "<Buffer of " + std::to_string(self.size) + " bytes (" + kind_name(self.kind) +
                   ") on " + (self.device == nullptr ? "host" : self.device->label()) + ">";
        });
    auto pool = add_resource<PoolResource>(module, "PoolMemoryResource");
    pool.def("__init__", make_pool_resource, nb::arg("device") = nb::none(), nb::kw_only(),
             nb::arg("own") = false, nb::arg("release_threshold") = nb::none())
        .def_prop_ro("ptr", [](const PoolResource& self) { return reinterpret_cast<uintptr_t>(self.pool->pool); })
        .def_prop_ro("used", [](const PoolResource& self) { return pool_value(self, pool_used); })
        .def_prop_ro("reserved", [](const PoolResource& self) { return pool_value(self, pool_reserved); })
        .def_prop_rw("release_threshold", [](const PoolResource& self) {
            return pool_value(self, pool_threshold);
        }, set_threshold)
        .def("trim", [](const PoolResource& self, size_t keep) {
            const Guard guard(*self.device);
            GPU_CALL(*self.device, pool_trim, self.pool->pool, keep);
        }, nb::arg("keep") = 0);
    pool_type = pool.ptr();
    add_resource<DeviceResource>(module, "DeviceMemoryResource").def("__init__", make_plain<DeviceResource, MemoryKind::device>, nb::arg("device") = nb::none());
    add_resource<PinnedResource>(module, "PinnedMemoryResource").def("__init__", make_plain<PinnedResource, MemoryKind::pinned>, nb::arg("device") = nb::none());
    add_resource<ManagedResource>(module, "ManagedMemoryResource").def("__init__", make_plain<ManagedResource, MemoryKind::managed>, nb::arg("device") = nb::none());
    nb::class_<HostResource>(module, "HostMemoryResource")
        .def(nb::init<size_t>(), nb::arg("alignment") = 64)
        .def("allocate", allocated_on_host, nb::arg("size"), nb::kw_only(),
             nb::arg("stream") = nb::none())
        .def_prop_ro("alignment", [](const HostResource& self) { return self.alignment; })
        .def_prop_ro("is_host_accessible", [](const HostResource&) { return true; })
        .def_prop_ro("is_device_accessible", [](const HostResource&) { return false; });
}

}  // namespace fieldforge::gpu
