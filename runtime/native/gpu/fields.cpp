// Fields on devices: arrays of ours, and of any library that says where its memory lies.
#include <string_view>

#include "../field_view.h"
#include "gpu.h"
#include "guarded.h"
#include "tensor.h"

namespace fieldforge::gpu {
namespace {

DType dtype_of(const DataType& type) {
    constexpr DType none = DType::none;
    constexpr DType ints[] = {DType::int8, DType::int16, none, DType::int32, none, none, none, DType::int64};
    constexpr DType uints[] = {DType::uint8, DType::uint16, none, DType::uint32, none, none, none, DType::uint64};
    const int bytes = type.bits / 8;
    if (type.lanes != 1 || type.bits % 8 != 0 || bytes < 1 || bytes > 8) return none;
    switch (type.code) {
        case 0: return ints[bytes - 1];
        case 1: return uints[bytes - 1];
        case 2: return bytes == 8 ? DType::float64 : bytes == 4 ? DType::float32 : none;
        case 6: return bytes == 1 ? DType::bool_ : none;
        default: return none;
    }
}

// Memory of the host that a device can reach is memory of the host, managed memory is a device's.
int32_t place_of(const Array& array) {
    const bool on_host = array.device == nullptr || array.device_type == device_cuda_host ||
                         array.device_type == device_rocm_host;
    if (on_host) return device_host;
    return array.device_type == device_cuda_managed ? device_cuda : array.device_type;
}

uint8_t library_of(PyObject* array) {
    PyObject* name = PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(array)), "__module__");
    const char* text = name != nullptr && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
    const std::string_view module = text == nullptr ? "" : text;
    const auto is_of = [&](std::string_view root) {
        return module == root || (module.starts_with(root) && module[root.size()] == '.');
    };
    const uint8_t found = is_of("cupy") ? library_cupy : is_of("torch") ? library_torch : library_none;
    Py_XDECREF(name);
    PyErr_Clear();
    return found;
}

bool fill(FieldView* view, PyObject* given, PyObject* dims, PyObject* starts) {
    const nb::object array = import_any(given, false);
    const Array& found = *as_array(array.ptr());
    const DType dtype = dtype_of(found.type);
    if (dtype == DType::none) {
        throw nb::type_error("A field holds bool, int8 to uint64, float32 or float64.");
    }
    view->library = library_of(given);
    static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
    const Memory memory{found.address,
                        found.axes,
                        reinterpret_cast<const Py_ssize_t*>(found.shape),
                        reinterpret_cast<const Py_ssize_t*>(found.strides),
                        dtype,
                        place_of(found),
                        found.device_id,
                        found.readonly,
                        given};
    return fill_from_memory(view, memory, dims, starts);
}

}  // namespace

bool is_device_array(PyObject* object) {
    static PyObject* const interface = PyUnicode_InternFromString("__cuda_array_interface__");
    static PyObject* const dlpack = PyUnicode_InternFromString("__dlpack__");
    if (const Array* array = as_array(object)) return array->device != nullptr;
    PyTypeObject* type = Py_TYPE(object);
    return _PyType_Lookup(type, interface) != nullptr ||
           (!PyObject_CheckBuffer(object) && _PyType_Lookup(type, dlpack) != nullptr);
}

bool is_device_memory(PyObject* object) {
    if (const Buffer* buffer = as_buffer(object)) return !buffer->on_host();
    return is_device_array(object);
}

bool span_of(PyObject* object, Span& span) {
    return guarded([&] {
        if (const Buffer* buffer = as_buffer(object)) {
            Device& device = *buffer->device;
            span = {buffer->address, buffer->size, device_type_of(device, buffer->kind), device.ordinal};
            return true;
        }
        const nb::object array = import_any(object, false);
        const Array& found = *as_array(array.ptr());
        size_t count = 1;
        bool contiguous = true;
        for (int axis = found.axes - 1; axis >= 0; --axis) {
            contiguous &= found.shape[axis] <= 1 ||
                          found.strides[axis] == static_cast<int64_t>(count * found.type.size());
            count *= static_cast<size_t>(found.shape[axis]);
        }
        if (!contiguous) throw nb::type_error("The array is not contiguous.");
        if (found.readonly) throw nb::type_error("The array is read-only.");
        span = {found.address, count * found.type.size(), place_of(found), found.device_id};
        return true;
    });
}

bool is_own_array(PyObject* object) { return as_array(object) != nullptr; }

// The field keeps the array that it was given, whose memory must not move.
bool fill_from_device_array(FieldView* view, PyObject* array, PyObject* dims, PyObject* starts) {
    return guarded([&] { return fill(view, array, dims, starts); });
}

}  // namespace fieldforge::gpu
