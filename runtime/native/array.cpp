// The buffer protocol first, which is the fastest; then DLPack, and NumPy's and CUDA's interfaces.
#include "array.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

#include "held.h"

namespace nb = nanobind;

namespace fieldforge {
namespace {

// A masked array lends its memory without the mask, so whoever took it would read what is hidden.
bool has_mask(PyObject* array) { return PyObject_HasAttrString(array, "mask"); }

PyTypeObject* numpy_array_type() {
    static auto* const found = [] {
        const Held numpy(PyImport_ImportModule("numpy"));
        return numpy ? reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(numpy.get(), "ndarray"))
                     : nullptr;
    }();
    return found;
}

DType dtype_of(const nb::dlpack::dtype& given) {
    const int shift = given.bits == 8 ? 0 : given.bits == 16 ? 1 : given.bits == 32 ? 2 : 3;
    if (given.lanes != 1 || given.bits != 8 << shift) return DType::none;
    constexpr DType ints[] = {DType::int8, DType::int16, DType::int32, DType::int64};
    constexpr DType uints[] = {DType::uint8, DType::uint16, DType::uint32, DType::uint64};
    switch (static_cast<nb::dlpack::dtype_code>(given.code)) {
        case nb::dlpack::dtype_code::Int: return ints[shift];
        case nb::dlpack::dtype_code::UInt: return uints[shift];
        case nb::dlpack::dtype_code::Bool: return shift == 0 ? DType::bool_ : DType::none;
        case nb::dlpack::dtype_code::Float:
            return shift == 3 ? DType::float64 : shift == 2 ? DType::float32 : DType::none;
        default: return DType::none;
    }
}

// Memory of the host that a device can reach is memory of the host.
int device_of(int given) {
    constexpr int cuda_host = 3, rocm_host = 11;
    return given == cuda_host || given == rocm_host ? device_cpu : given;
}

template <typename Array>
bool fill_from_dlpack(FieldView* view, Array array, bool readonly, PyObject* dims) {
    const DType dtype = dtype_of(array.dtype());
    if (dtype == DType::none) return false;
    const auto ndim = static_cast<Py_ssize_t>(array.ndim());
    std::vector<Py_ssize_t> shape(array.shape_ptr(), array.shape_ptr() + ndim);
    std::vector<Py_ssize_t> strides(array.stride_ptr(), array.stride_ptr() + ndim);
    for (Py_ssize_t& stride : strides) stride <<= dtype_shift(dtype);
    const auto pointer = reinterpret_cast<uintptr_t>(array.data());
    const int device_type = device_of(array.device_type()), device_id = array.device_id();
    const nb::capsule owner(new Array(std::move(array)), [](void* each) noexcept {
        delete static_cast<Array*>(each);
    });
    return fill_from_memory(view,
                            {pointer, ndim, shape.data(), strides.data(), dtype, device_type,
                             device_id, readonly, owner.ptr()},
                            dims, nullptr);
}

// nanobind knows the versions of DLPack; what is not writable it hands out only as such.
bool fill_from_dlpack(FieldView* view, PyObject* array, PyObject* dims) {
    nb::ndarray<> writable;
    if (nb::try_cast(nb::handle(array), writable, false)) {
        return fill_from_dlpack(view, std::move(writable), false, dims);
    }
    nb::ndarray<nb::ro> readable;
    if (nb::try_cast(nb::handle(array), readable, false)) {
        return fill_from_dlpack(view, std::move(readable), true, dims);
    }
    return false;
}

// NumPy makes an array of what says where its memory lies, without a copy.
PyObject* as_numpy(PyObject* array) {
    if (!PyObject_HasAttrString(array, "__array_interface__")) return nullptr;
    const Held numpy(PyImport_ImportModule("numpy"));
    return numpy ? PyObject_CallMethod(numpy.get(), "asarray", "O", array) : nullptr;
}

bool try_fill(FieldView* view, PyObject* array, PyObject* dims) {
    if (PyObject_CheckBuffer(array)) {
        if (Py_TYPE(array) != numpy_array_type() && has_mask(array)) return false;
        return fill_from_buffer(view, array, dims, nullptr);
    }
    if (PyObject_HasAttrString(reinterpret_cast<PyObject*>(Py_TYPE(array)), "__dlpack__")) {
        return fill_from_dlpack(view, array, dims);
    }
    const Held numpy(as_numpy(array));
    return numpy && fill_from_buffer(view, numpy.get(), dims, nullptr);
}

}  // namespace

bool fill_from_array(FieldView* view, PyObject* array, PyObject* dims) {
    if (try_fill(view, array, dims)) return true;
    PyErr_Clear();
    reset(view);
    return false;
}

PyObject* view_of_array(PyObject* array, PyObject* dims) {
    PyObject* made = field_view_type->tp_new(field_view_type, nullptr, nullptr);
    if (made == nullptr) return nullptr;
    if (try_fill(reinterpret_cast<FieldView*>(made), array, dims)) return made;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "The array has changed.");
    Py_DECREF(made);
    return nullptr;
}

ArrayViews::~ArrayViews() {
    for (size_t i = 0; i < count_; ++i) reset(&views_[i]);
}

PyObject* ArrayViews::add(PyObject* array, PyObject* dims, size_t most) {
    if (views_ == nullptr) views_ = std::make_unique<FieldView[]>(most);
    FieldView* view = &views_[count_];
    auto* object = reinterpret_cast<PyObject*>(view);
    Py_SET_REFCNT(object, 1);
    Py_SET_TYPE(object, field_view_type);
    view->axes = view->few;
    if (!fill_from_array(view, array, dims)) return nullptr;
    ++count_;
    return object;
}

}  // namespace fieldforge
