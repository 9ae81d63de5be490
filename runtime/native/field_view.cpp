// Setting up a view: everything that follows from memory and domain is worked out here, once.
#include "field_view.h"

#include "held.h"
#include "overlap.h"
#include "table.h"

namespace fieldforge {
namespace {

// Makes room for the axes and keeps the dimensions; the axes borrow them from the tuple.
bool set_dims(FieldView* view, PyObject* dims, Py_ssize_t ndim) {
    PyObject* tuple = PySequence_Tuple(dims);
    if (tuple == nullptr) return false;
    if (PyTuple_GET_SIZE(tuple) != ndim) {
        PyErr_Format(PyExc_ValueError, "Expected %zd dimensions for an array of %zd axes, got %zd.",
                     ndim, ndim, PyTuple_GET_SIZE(tuple));
        Py_DECREF(tuple);
        return false;
    }
    view->dims = tuple;
    view->axes = view->few;
    if (ndim > inline_axes) {
        view->axes = static_cast<Axis*>(PyMem_Calloc(ndim, sizeof(Axis)));
        if (view->axes == nullptr) return PyErr_NoMemory() != nullptr;
    }
    view->ndim = static_cast<int32_t>(ndim);
    for (Py_ssize_t i = 0; i < ndim; ++i) view->axes[i].dim = PyTuple_GET_ITEM(tuple, i);
    return true;
}

bool set_axis(Axis& axis, PyObject* start, int64_t extent, int64_t stride) {
    axis.start = start == nullptr ? 0 : PyLong_AsLongLong(start);
    if (axis.start == -1 && PyErr_Occurred()) return false;
    if (extent < 0 || __builtin_add_overflow(axis.start, extent, &axis.stop)) {
        PyErr_Format(PyExc_OverflowError, "An axis cannot cover %lld points from %lld on.",
                     static_cast<long long>(extent), static_cast<long long>(axis.start));
        return false;
    }
    axis.stride = stride;
    return true;
}

// Everything that follows from data, axes and dtype is worked out here, once, and never in a call.
void derive(FieldView* view) {
    const uintptr_t item = uintptr_t{1} << view->shift;
    bool empty = false;
    view->origin = view->low = view->high = view->data;
    view->regular = view->data % item == 0;
    for (int i = 0; i < view->ndim; ++i) {
        const Axis& axis = view->axes[i];
        const auto stride = static_cast<uintptr_t>(axis.stride);
        const int64_t extent = axis.stop - axis.start;
        view->origin -= static_cast<uintptr_t>(axis.start) * stride;
        view->regular &= extent <= 1 || stride % item == 0;
        empty |= extent == 0;
        if (extent == 0) continue;
        (axis.stride < 0 ? view->low : view->high) += static_cast<uintptr_t>(extent - 1) * stride;
    }
    view->high = empty ? view->low : view->high + item;
}

// Last of all: a view with a dtype is complete, and calls take it.
bool complete(FieldView* view, DType dtype) {
    view->dtype = dtype;
    const bool writable = !view->readonly && !overlaps_itself(*view);
    view->form = make_form(dtype, view->ndim, view->device_type,
                           (writable ? form_writable : 0) | (view->regular ? form_regular : 0));
    if (familiar_field_type == nullptr && Py_TYPE(view) != field_view_type &&
        !is_table_type(Py_TYPE(view))) {
        familiar_field_type = reinterpret_cast<PyTypeObject*>(
            Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(view))));
    }
    return true;
}

bool set_axes(FieldView* view, PyObject* starts, const Memory& memory) {
    const Held given(starts == nullptr ? nullptr : PySequence_Tuple(starts));
    if (starts != nullptr && !given) return false;
    if (given && PyTuple_GET_SIZE(given.get()) != view->ndim) {
        PyErr_Format(PyExc_ValueError, "Expected %d starts for an array of %d axes, got %zd.",
                     view->ndim, view->ndim, PyTuple_GET_SIZE(given.get()));
        return false;
    }
    for (int i = 0; i < view->ndim; ++i) {
        PyObject* start = given ? PyTuple_GET_ITEM(given.get(), i) : nullptr;
        if (!set_axis(view->axes[i], start, memory.shape[i], memory.strides[i])) return false;
    }
    derive(view);
    return true;
}

bool read_extents(PyObject* sequence, Py_ssize_t* into, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; ++i) {
        into[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(sequence, i));
        if (into[i] == -1 && PyErr_Occurred()) return false;
    }
    return true;
}

}  // namespace

void reset(FieldView* view) {
    view->dtype = DType::none;
    view->form = 0;
    view->ndim = 0;
    view->origin = view->low = view->high = view->data = 0;
    if (view->axes != view->few) PyMem_Free(view->axes);
    view->axes = view->few;
    delete view->table;
    view->table = nullptr;
    PyBuffer_Release(&view->buffer);
    Py_CLEAR(view->owner);
    Py_CLEAR(view->dims);
}

bool fill_from_memory(FieldView* view, const Memory& memory, PyObject* dims, PyObject* starts) {
    view->owner = Py_NewRef(memory.owner);
    view->data = memory.pointer;
    view->shift = static_cast<uint8_t>(dtype_shift(memory.dtype));
    view->readonly = memory.readonly;
    view->device_type = static_cast<int16_t>(memory.device_type);
    view->device_id = memory.device_id;
    if (!set_dims(view, dims, memory.ndim)) return false;
    if (!set_axes(view, starts, memory)) return false;
    return complete(view, memory.dtype);
}

bool fill_from_buffer(FieldView* view, PyObject* array, PyObject* dims, PyObject* starts) {
    if (PyObject_GetBuffer(array, &view->buffer, PyBUF_RECORDS_RO) < 0) return false;
    const Py_buffer& buffer = view->buffer;
    const DType dtype = dtype_from_format(buffer.format, buffer.itemsize);
    if (dtype == DType::none) {
        PyErr_Format(PyExc_TypeError,
                     "A field holds bool, int8 to uint64, float32 or float64 in the byte order of "
                     "the machine; got an array of format '%s'.",
                     buffer.format);
        return false;
    }
    return fill_from_memory(view,
                            {reinterpret_cast<uintptr_t>(buffer.buf), buffer.ndim, buffer.shape,
                             buffer.strides, dtype, device_cpu, 0, buffer.readonly != 0, array},
                            dims, starts);
}

bool fill_from_parts(FieldView* view, const Parts& parts) {
    const DType dtype = dtype_from_name(parts.dtype);
    if (dtype == DType::none) {
        PyErr_Format(PyExc_TypeError, "A field cannot hold '%s'.", parts.dtype);
        return false;
    }
    const Py_ssize_t ndim = PyTuple_GET_SIZE(parts.shape);
    if (PyTuple_GET_SIZE(parts.strides) != ndim) {
        PyErr_Format(PyExc_ValueError, "Expected %zd strides, one for each axis, got %zd.", ndim,
                     PyTuple_GET_SIZE(parts.strides));
        return false;
    }
    auto* numbers = static_cast<Py_ssize_t*>(PyMem_Calloc(2 * ndim + 1, sizeof(Py_ssize_t)));
    if (numbers == nullptr) return PyErr_NoMemory() != nullptr;
    const bool good =
        read_extents(parts.shape, numbers, ndim) &&
        read_extents(parts.strides, numbers + ndim, ndim) &&
        fill_from_memory(view,
                         {static_cast<uintptr_t>(parts.pointer), ndim, numbers, numbers + ndim,
                          dtype, parts.device_type, parts.device_id, parts.readonly != 0,
                          parts.owner},
                         parts.dims, parts.starts);
    PyMem_Free(numbers);
    return good;
}

}  // namespace fieldforge
