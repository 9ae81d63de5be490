// Every check answers only yes or no; a call that fails one goes to Python, which has the words.
#include "stencil_arguments.h"

#include <algorithm>
#include <limits>

#include "numpy_array.h"
#include "scalar.h"

namespace fieldforge {
namespace {

constexpr int64_t widest = std::numeric_limits<int64_t>::max();

bool read_places(PyObject* given, int32_t* into, int32_t count) {
    int64_t wide[spatial_axes];
    if (!read_integers(given, wide, count)) return false;
    std::copy_n(wide, count, into);
    return true;
}

bool is_plain(PyObject* array) {
    if (is_numpy_array(array)) return true;
    return !PyObject_HasAttrString(array, "__gt_dims__") &&
           !PyObject_HasAttrString(array, "__gt_origin__") &&
           !PyObject_HasAttrString(array, "ndarray");
}

bool is_recommended(const Slot& slot, const FieldView& view) {
    int64_t before = 0;
    for (int32_t i = 0; i < slot.axes; ++i) {
        const int64_t stride = view.axes[slot.inwards[i]].stride;
        if (stride < before) return false;
        before = stride;
    }
    return true;
}

}  // namespace

bool read_integers(PyObject* given, int64_t* into, Py_ssize_t count) {
    const bool is_tuple = PyTuple_CheckExact(given);
    if (!is_tuple && !PyList_CheckExact(given)) return false;
    if (PySequence_Fast_GET_SIZE(given) != count) return false;
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* number = PySequence_Fast_GET_ITEM(given, i);
        if (!PyLong_CheckExact(number)) return false;
        int overflows = 0;
        into[i] = PyLong_AsLongLongAndOverflow(number, &overflows);
        if (overflows != 0) return false;
    }
    return true;
}

bool read_slot(PyObject* row, Slot& into) {
    const char* dtype = nullptr;
    PyObject *dims = nullptr, *axis = nullptr, *lower = nullptr, *upper = nullptr, *inwards = nullptr;
    if (!PyArg_ParseTuple(row, "is|O!O!O!O!O!", &into.place, &dtype, &PyTuple_Type, &dims,
                          &PyTuple_Type, &axis, &PyTuple_Type, &lower, &PyTuple_Type, &upper,
                          &PyTuple_Type, &inwards)) {
        return false;
    }
    into.dtype = dtype_from_name(dtype);
    if (dims == nullptr) return true;
    into.axes = static_cast<int32_t>(PyTuple_GET_SIZE(dims));
    into.has_layout = inwards != nullptr && PyTuple_GET_SIZE(inwards) > 0;
    const bool good = into.axes <= spatial_axes && axis != nullptr && lower != nullptr &&
                      upper != nullptr && read_places(axis, into.axis, into.axes) &&
                      read_integers(lower, into.lower, into.axes) &&
                      read_integers(upper, into.upper, into.axes) &&
                      (!into.has_layout || read_places(inwards, into.inwards, into.axes));
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "A field of a stencil has up to three axes, each with bounds.");
        return false;
    }
    into.dims = Py_NewRef(dims);
    return true;
}

bool Origin::read(PyObject* given) {
    if (given == nullptr || given == Py_None) return true;
    is_given_ = true;
    if (!PyDict_CheckExact(given)) return read_integers(given, all_, spatial_axes);
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(given, &at, &key, &value);) {
        if (!PyUnicode_CheckExact(key)) return false;
    }
    static PyObject* const all = PyUnicode_InternFromString("_all_");
    names_ = given;
    PyObject* rest = PyDict_GetItemWithError(given, all);
    is_given_ = rest != nullptr;
    return rest == nullptr ? PyErr_Occurred() == nullptr : read_integers(rest, all_, spatial_axes);
}

bool Origin::of(const Slot& slot, PyObject* name, int64_t* into) const {
    PyObject* own = names_ == nullptr ? nullptr : PyDict_GetItemWithError(names_, name);
    if (own != nullptr) return read_integers(own, into, slot.axes);
    for (int32_t i = 0; i < slot.axes; ++i) into[i] = all_[slot.axis[i]];
    return true;
}

bool Origin::of_field(const Slot& slot, PyObject* name, const FieldView& view, int64_t* into) const {
    for (int32_t i = 0; i < slot.axes; ++i) into[i] = -view.axes[i].start;
    const bool is_named = names_ != nullptr && PyDict_GetItemWithError(names_, name) != nullptr;
    if (!is_given_ && !is_named) return true;
    int64_t given[spatial_axes];
    return of(slot, name, given) && std::equal(given, given + slot.axes, into);
}

bool Extent::read(PyObject* given) {
    std::fill_n(sizes_, spatial_axes, widest);
    is_given_ = given != nullptr && given != Py_None;
    return !is_given_ || read_integers(given, sizes_, spatial_axes);
}

bool Extent::has_room(const Slot& slot, const FieldView& view, const int64_t* origin) {
    for (int32_t i = 0; i < slot.axes; ++i) {
        if (origin[i] < slot.lower[i]) return false;
        const Axis& axis = view.axes[i];
        int64_t room = axis.stop - axis.start;
        if (__builtin_sub_overflow(room, origin[i], &room)) return false;
        if (__builtin_sub_overflow(room, slot.upper[i], &room)) return false;
        int64_t& size = sizes_[slot.axis[i]];
        if (is_given_ && size > room) return false;
        size = std::min(size, room);
    }
    return true;
}

bool Extent::settle(int64_t least_levels) {
    for (int64_t& size : sizes_) {
        if (size == widest) size = 1;
    }
    if (*std::min_element(sizes_, sizes_ + spatial_axes) < 0) return false;
    if (*std::max_element(sizes_, sizes_ + spatial_axes) == 0) return false;
    return sizes_[2] >= least_levels;
}

bool is_of(const Slot& slot, const FieldView& view) {
    if (view.ndim != slot.axes || view.dtype != slot.dtype) return false;
    for (int32_t i = 0; i < slot.axes; ++i) {
        if (view.axes[i].dim != PyTuple_GET_ITEM(slot.dims, i)) return false;
    }
    return !slot.has_layout || is_recommended(slot, view);
}

PyObject* view_of_argument(const Slot& slot, PyObject* array, const int64_t* origin,
                           ArrayViews& views, size_t most) {
    if (!is_plain(array)) return nullptr;
    PyObject* made = views.add(array, slot.dims, most);
    if (made == nullptr) return nullptr;
    auto& view = *reinterpret_cast<FieldView*>(made);
    if (!is_of(slot, view)) return nullptr;
    for (int32_t i = 0; i < slot.axes; ++i) {
        Axis& axis = view.axes[i];
        if (__builtin_sub_overflow(axis.start, origin[i], &axis.start)) return nullptr;
        if (__builtin_sub_overflow(axis.stop, origin[i], &axis.stop)) return nullptr;
        view.origin += static_cast<uintptr_t>(origin[i]) * static_cast<uintptr_t>(axis.stride);
    }
    return made;
}

bool is_exactly(PyObject* number, DType dtype) {
    if (PyFloat_CheckExact(number)) return dtype == DType::float64;
    if (PyBool_Check(number)) return dtype == DType::bool_;
    if (PyLong_CheckExact(number)) return dtype == DType::int64;
    return is_numpy_number(number);  // the program compares the type
}

}  // namespace fieldforge
