// The buffer protocol first, which is the fastest; then DLPack, then the array interface of NumPy.
#include "array.h"

#include "dlpack.h"
#include "gpu/gpu.h"
#include "held.h"
#include "numpy_array.h"

namespace fieldforge {
namespace {

// NumPy wraps objects with an array interface without a copy.
PyObject* as_numpy(PyObject* array) {
    if (!PyObject_HasAttrString(array, "__array_interface__")) return nullptr;
    const Held numpy(PyImport_ImportModule("numpy"));
    return numpy ? PyObject_CallMethod(numpy.get(), "asarray", "O", array) : nullptr;
}

// An array with named axes, such as xarray's, as (array, starts) in the order of `dims`; null without
// a Python error where it is none, or has other axes.
PyObject* in_order(PyObject* array, PyObject* dims) {
    if (!PyObject_HasAttrString(array, "dims")) return nullptr;
    const Held module(PyImport_ImportModule("fieldforge.runtime.fields.named_axes"));
    if (!module) return nullptr;
    Held parts(PyObject_CallMethod(module.get(), "in_order", "OO", array, dims));
    return parts && parts.get() != Py_None ? parts.release() : nullptr;
}

// A masked array exports its memory without the mask, so a program would read hidden values.
bool is_masked(PyObject* array) {
    return !is_numpy_array(array) && is_array_of_numpy(array) && PyObject_HasAttrString(array, "mask");
}

bool try_fill(FieldView* view, PyObject* array, PyObject* dims) {
    if (PyObject_CheckBuffer(array) && !gpu::is_device_array(array)) {
        return !is_masked(array) && fill_from_buffer(view, array, dims, nullptr);
    }
    if (gpu::is_own_array(array)) return gpu::fill_from_device_array(view, array, dims, nullptr);
    if (has_dlpack(array)) return fill_from_dlpack(view, array, dims);
    if (const Held named(in_order(array, dims)); named) {
        return fill_from_buffer(view, PyTuple_GET_ITEM(named.get(), 0), dims,
                                PyTuple_GET_ITEM(named.get(), 1));
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
    if (!fill_from_numpy(view, array, dims) && !fill_from_array(view, array, dims)) return nullptr;
    ++count_;
    return object;
}

}  // namespace fieldforge
