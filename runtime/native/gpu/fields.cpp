// Fields on devices: arrays of ours, and of any library that says where its memory lies.
#include "../field_view.h"
#include "gpu.h"
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

bool fill(FieldView* view, PyObject* given, PyObject* dims, PyObject* starts) {
    const nb::object array = import_any(given, false);
    const Array& found = *as_array(array.ptr());
    const DType dtype = dtype_of(found.type);
    if (dtype == DType::none) {
        throw nb::type_error("A field holds bool, int8 to uint64, float32 or float64.");
    }
    static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
    const bool on_host = found.device == nullptr || found.device_type == device_cuda_host ||
                         found.device_type == device_rocm_host;
    const Memory memory{found.address,
                        found.axes,
                        reinterpret_cast<const Py_ssize_t*>(found.shape),
                        reinterpret_cast<const Py_ssize_t*>(found.strides),
                        dtype,
                        on_host                                    ? device_host
                        : found.device_type == device_cuda_managed ? device_cuda
                                                                   : found.device_type,
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

bool is_own_array(PyObject* object) { return as_array(object) != nullptr; }

// The field keeps the array that it was given, whose memory must not move.
bool fill_from_device_array(FieldView* view, PyObject* array, PyObject* dims, PyObject* starts) {
    try {
        return fill(view, array, dims, starts);
    } catch (const Failure& failure) {
        set_python_error(failure);
    } catch (nb::python_error& error) {
        error.restore();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_TypeError, error.what());
    }
    return false;
}

}  // namespace fieldforge::gpu
