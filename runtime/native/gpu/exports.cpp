// Arrays of ours for other libraries: capsules of DLPack and its C exchange interface.
#include "tensor.h"

namespace fieldforge::gpu {
namespace {

template <typename T>
struct Exported {
    T managed{};
    int64_t shape[most_axes], strides[most_axes];
    PyObject* array;
};

void describe(const Array& array, DLTensor& tensor, int64_t* shape, int64_t* strides) {
    const auto size = static_cast<int64_t>(array.type.size());
    for (int i = 0; i < array.axes; ++i) {
        shape[i] = array.shape[i];
        if (array.strides[i] % size != 0) {
            throw nb::buffer_error("A stride is not a whole number of elements, which DLPack needs.");
        }
        strides[i] = array.strides[i] / size;
    }
    tensor = {reinterpret_cast<void*>(array.address), {array.device_type, array.device_id}, array.axes,
              array.type, shape, strides, 0};
}

template <typename T>
T* managed_tensor(PyObject* object) {
    const Array& array = *as_array(object);
    auto made = std::make_unique<Exported<T>>();
    describe(array, made->managed.tensor, made->shape, made->strides);
    made->array = Py_NewRef(object);
    made->managed.context = made.get();
    made->managed.deleter = [](T* managed) {
        auto* each = static_cast<Exported<T>*>(managed->context);
        if (!is_finalizing()) {
            const LockTaken taken;
            Py_DECREF(each->array);
        }
        delete each;
    };
    if constexpr (std::is_same_v<T, DLManagedVersioned>) {
        made->managed.version = {dlpack_major, dlpack_minor};
        made->managed.flags = array.readonly ? flag_readonly : 0;
    }
    return &made.release()->managed;
}

template <typename T>
void delete_unused(PyObject* capsule, const char* name) {
    if (!PyCapsule_IsValid(capsule, name)) return;  // somebody has taken it
    auto* managed = static_cast<T*>(PyCapsule_GetPointer(capsule, name));
    managed->deleter(managed);
}

int exchange_from(void* object, DLManagedVersioned** out) {
    try {
        *out = managed_tensor<DLManagedVersioned>(static_cast<PyObject*>(object));
        return 0;
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_BufferError, error.what());
        return -1;
    }
}

int exchange_to(DLManagedVersioned* tensor, void** out) {
    try {
        const bool readonly = (tensor->flags & flag_readonly) != 0;
        *out = array_from_tensor(tensor->tensor, readonly, delete_with(tensor)).release().ptr();
        return 0;
    } catch (nb::python_error& error) {
        error.restore();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_BufferError, error.what());
    }
    return -1;
}

int exchange_allocate(DLTensor*, DLManagedVersioned**, void* context,
                      void (*set_error)(void*, const char*, const char*)) {
    if (set_error != nullptr) set_error(context, "BufferError", "Allocate with 'gpu.Array.empty'.");
    return -1;
}

int exchange_describe(void* object, DLTensor* out) {
    Array& array = *const_cast<Array*>(as_array(static_cast<PyObject*>(object)));
    const auto size = static_cast<int64_t>(array.type.size());
    bool dense = true;
    int64_t step = size;
    for (int i = array.axes - 1; i >= 0; --i) {
        dense &= array.strides[i] == step || array.shape[i] == 1;
        step *= array.shape[i];
    }
    if (!dense) {  // strides in elements have no place that would live long enough
        PyErr_SetString(PyExc_BufferError, "The array is not dense.");
        return -1;
    }
    *out = {reinterpret_cast<void*>(array.address), {array.device_type, array.device_id}, array.axes,
            array.type, array.shape, nullptr, 0};
    return 0;
}

int exchange_stream(int32_t type, int32_t id, void** out) {
    try {
        Device* device = device_for(type, id);
        *out = device == nullptr ? nullptr : current_stream(*device)->ptr;
        return 0;
    } catch (const Failure& failure) {
        set_python_error(failure);
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_BufferError, error.what());
    }
    return -1;
}

// Lets the consumer's stream wait for what this array is used for; -1 asks for no order.
void order_for_consumer(const Array& array, nb::handle stream) {
    if (array.device == nullptr || !on_device(array.device_type)) {
        if (!stream.is_none() && !(PyLong_Check(stream.ptr()) && PyLong_AsLong(stream.ptr()) == -1)) {
            throw nb::buffer_error("Memory of the host has no stream.");
        }
        return;
    }
    const bool cuda = array.device_type == device_cuda || array.device_type == device_cuda_managed;
    const intptr_t theirs = stream.is_none() ? 0 : nb::cast<intptr_t>(stream);
    if (theirs == -1) return;
    if (cuda && !stream.is_none() && theirs == 0) {
        throw nb::buffer_error("The stream 0 may mean two things on CUDA: say 1 or 2.");
    }
    const bool known = array.buffer != nullptr && array.buffer->stream != nullptr;
    const StreamRef mine = known ? array.buffer->stream : current_stream(*array.device);
    if (is_capturing(*mine)) return;
    order(mine, std::make_shared<StreamHandle>(array.device, reinterpret_cast<Handle>(theirs), false, 0, 0));
}

}  // namespace

nb::object export_array(nb::handle self, nb::handle stream, nb::handle max_version) {
    const Array& array = *as_array(self.ptr());
    order_for_consumer(array, stream);
    const bool versioned = !max_version.is_none() && nb::cast<int>(max_version[0]) >= 1;
    if (versioned) {
        return nb::steal(PyCapsule_New(managed_tensor<DLManagedVersioned>(self.ptr()),
                                       "dltensor_versioned", [](PyObject* capsule) {
                                           delete_unused<DLManagedVersioned>(capsule, "dltensor_versioned");
                                       }));
    }
    if (array.readonly) throw nb::buffer_error("A read-only array needs a consumer of DLPack 1.");
    return nb::steal(PyCapsule_New(managed_tensor<DLManaged>(self.ptr()), "dltensor",
                                   [](PyObject* capsule) { delete_unused<DLManaged>(capsule, "dltensor"); }));
}

nb::capsule own_exchange() {
    static DLExchange table{{dlpack_major, dlpack_minor}, nullptr, exchange_allocate, exchange_from,
                            exchange_to, exchange_describe, exchange_stream};
    return nb::capsule(&table, "dlpack_exchange_api");
}

}  // namespace fieldforge::gpu
