// The structures of DLPack 1, which fix how arrays of all libraries are handed over.
#pragma once

#include "objects.h"

namespace fieldforge::gpu {

struct DLDevice {
    int32_t type, id;
};
struct DLTensor {
    void* data;
    DLDevice device;
    int32_t ndim;
    DataType dtype;
    int64_t *shape, *strides;  // in elements; null strides are those of C order
    uint64_t byte_offset;
};
struct DLManaged {
    DLTensor tensor;
    void* context;
    void (*deleter)(DLManaged*);
};
struct DLVersion {
    uint32_t major, minor;
};
struct DLManagedVersioned {
    DLVersion version;
    void* context;
    void (*deleter)(DLManagedVersioned*);
    uint64_t flags;
    DLTensor tensor;
};
constexpr uint64_t flag_readonly = 1, flag_copied = 2;
constexpr uint32_t dlpack_major = 1, dlpack_minor = 3;

struct DLExchange {
    DLVersion version;
    DLExchange* previous;
    int (*allocate)(DLTensor*, DLManagedVersioned**, void*, void (*)(void*, const char*, const char*));
    int (*from_object)(void* object, DLManagedVersioned** out);
    int (*to_object)(DLManagedVersioned* tensor, void** out);
    int (*describe)(void* object, DLTensor* out);
    int (*current_stream)(int32_t type, int32_t id, void** out);
};

inline bool on_device(int type) {
    return type == device_cuda || type == device_rocm || type == device_null ||
           type == device_cuda_managed;
}

nb::object new_array(Array*& made);
// Takes over the reference to `owner`, which keeps the memory of the tensor.
nb::object array_from_tensor(const DLTensor& tensor, bool readonly, nb::object owner);
Device* device_for(int type, int id);  // null for the host
const DLExchange* exchange_of(PyTypeObject* type);
// Lets our current stream wait for what another library has under way on `theirs`.
void order_after_stream(Device& device, void* theirs);
// Arrays of NumPy and CuPy, read without a protocol; false for everything else, and where a
// protocol has to tell more.
bool import_known(nb::handle given, bool order_after, nb::object& array);
bool is_numpy(PyTypeObject* type);  // or a subclass
nb::object import_any(nb::handle given, bool order_after);
nb::object export_array(nb::handle self, nb::handle stream, nb::handle max_version);
nb::capsule own_exchange();
// A capsule that calls the deleter of what another library made.
nb::object delete_with(DLManagedVersioned* managed);
int64_t size_of(const Array& array);  // in elements
// In the order of a stream; `wait` also lets the host wait, where it reads or wrote the memory.
void copy_array(nb::handle to, nb::handle from, nb::handle stream, bool wait);
void copy_arrays(const Array& to, const Array& from, const StreamRef& stream, Device& device);

}  // namespace fieldforge::gpu
