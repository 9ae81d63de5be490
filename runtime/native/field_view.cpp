// `FieldView`: the base class of `runtime.field.Field`.
#include "field_view.h"

#include "table.h"

#include <cstring>
#include <iterator>
#include <structmember.h>

namespace fieldforge {

PyTypeObject* field_view_type = nullptr;
PyTypeObject* familiar_field_type = nullptr;

namespace {

struct Kind {
    const char* name;
    int shift;
};

constexpr Kind kinds[] = {
    {"none", 0},  {"bool", 0},   {"int8", 0},  {"uint8", 0},  {"int16", 1},   {"uint16", 1},
    {"int32", 2}, {"uint32", 2}, {"int64", 3}, {"uint64", 3}, {"float32", 2}, {"float64", 3},
};

FieldView* view_of(PyObject* self) { return reinterpret_cast<FieldView*>(self); }

// The letter of the struct module says what kind of number it is, the item size how wide: `l` and
// `q` are the same type on some machines and not on others.
DType dtype_from_format(const char* format, Py_ssize_t itemsize) {
    if (format == nullptr) return DType::uint8;
    constexpr bool little = PY_LITTLE_ENDIAN;
    if (*format == '@' || *format == '=' || *format == (little ? '<' : '>')) ++format;
    if (*format == '\0' || format[1] != '\0') return DType::none;
    if (*format == '?') return DType::bool_;
    if (*format == 'f') return DType::float32;
    if (*format == 'd') return DType::float64;
    const bool is_signed = std::strchr("bhilq", *format) != nullptr;
    if (!is_signed && std::strchr("BHILQ", *format) == nullptr) return DType::none;
    switch (itemsize) {
        case 1: return is_signed ? DType::int8 : DType::uint8;
        case 2: return is_signed ? DType::int16 : DType::uint16;
        case 4: return is_signed ? DType::int32 : DType::uint32;
        case 8: return is_signed ? DType::int64 : DType::uint64;
        default: return DType::none;
    }
}

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
    axis.start = PyLong_AsLongLong(start);
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
    view->form = make_form(dtype, view->ndim, view->device_type,
                           (view->readonly ? 0 : form_writable) | (view->regular ? form_regular : 0));
    if (familiar_field_type == nullptr && Py_TYPE(view) != field_view_type &&
        !is_table_type(Py_TYPE(view))) {
        familiar_field_type = reinterpret_cast<PyTypeObject*>(
            Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(view))));
    }
    return true;
}

bool set_axes(FieldView* view, PyObject* starts, const Py_ssize_t* shape,
              const Py_ssize_t* strides) {
    PyObject* given = PySequence_Tuple(starts);
    if (given == nullptr) return false;
    bool good = PyTuple_GET_SIZE(given) == view->ndim;
    if (!good) {
        PyErr_Format(PyExc_ValueError, "Expected %d starts for an array of %d axes, got %zd.",
                     view->ndim, view->ndim, PyTuple_GET_SIZE(given));
    }
    for (int i = 0; good && i < view->ndim; ++i) {
        good = set_axis(view->axes[i], PyTuple_GET_ITEM(given, i), shape[i], strides[i]);
    }
    Py_DECREF(given);
    if (good) derive(view);
    return good;
}

void reset(FieldView* view) {
    view->dtype = DType::none;  // whoever still holds the view gets a refusal, not old memory
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
    view->owner = Py_NewRef(array);
    view->data = reinterpret_cast<uintptr_t>(buffer.buf);
    view->shift = static_cast<uint8_t>(dtype_shift(dtype));
    view->readonly = buffer.readonly != 0;
    view->device_type = device_cpu;
    view->device_id = 0;
    if (!set_dims(view, dims, buffer.ndim)) return false;
    if (!set_axes(view, starts, buffer.shape, buffer.strides)) return false;
    return complete(view, dtype);
}

int init(PyObject* self, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"array", "dims", "starts", nullptr};
    PyObject *array, *dims, *starts;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO:FieldView", const_cast<char**>(names),
                                     &array, &dims, &starts)) {
        return -1;
    }
    FieldView* view = view_of(self);
    if (view->dtype != DType::none) {  // a call in another thread may be using the old memory
        PyErr_SetString(PyExc_TypeError, "A FieldView is set up once.");
        return -1;
    }
    if (fill_from_buffer(view, array, dims, starts)) return 0;
    reset(view);
    return -1;
}

bool read_extents(PyObject* sequence, Py_ssize_t* into, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; ++i) {
        into[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(sequence, i));
        if (into[i] == -1 && PyErr_Occurred()) return false;
    }
    return true;
}

struct Parts {
    unsigned long long pointer;
    PyObject *shape, *strides, *owner, *dims, *starts;
    const char* dtype;
    int device_type, device_id, readonly;
};

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
    view->owner = Py_NewRef(parts.owner);
    view->data = static_cast<uintptr_t>(parts.pointer);
    view->shift = static_cast<uint8_t>(dtype_shift(dtype));
    view->readonly = parts.readonly != 0;
    view->device_type = static_cast<int16_t>(parts.device_type);
    view->device_id = parts.device_id;
    if (!set_dims(view, parts.dims, ndim)) return false;
    auto* numbers = static_cast<Py_ssize_t*>(PyMem_Calloc(2 * ndim + 1, sizeof(Py_ssize_t)));
    if (numbers == nullptr) return PyErr_NoMemory() != nullptr;
    const bool good = read_extents(parts.shape, numbers, ndim) &&
                      read_extents(parts.strides, numbers + ndim, ndim) &&
                      set_axes(view, parts.starts, numbers, numbers + ndim);
    PyMem_Free(numbers);
    return good && complete(view, dtype);
}

PyObject* allocate(PyTypeObject* type, PyObject*, PyObject*) {
    PyObject* self = type->tp_alloc(type, 0);
    if (self != nullptr) view_of(self)->axes = view_of(self)->few;
    return self;
}

PyObject* from_parts(PyObject* type, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"pointer",     "shape",     "strides", "dtype",  "device_type",
                                  "device_id",   "owner",     "dims",    "starts", "readonly",
                                  nullptr};
    Parts parts{};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "KO!O!siiOOO|p:from_parts",
                                     const_cast<char**>(names), &parts.pointer, &PyTuple_Type,
                                     &parts.shape, &PyTuple_Type, &parts.strides, &parts.dtype,
                                     &parts.device_type, &parts.device_id, &parts.owner,
                                     &parts.dims, &parts.starts, &parts.readonly)) {
        return nullptr;
    }
    PyObject* self = allocate(reinterpret_cast<PyTypeObject*>(type), nullptr, nullptr);
    if (self == nullptr || fill_from_parts(view_of(self), parts)) return self;
    Py_DECREF(self);
    return nullptr;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    FieldView* view = view_of(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(view->owner);
    Py_VISIT(view->buffer.obj);
    Py_VISIT(view->dims);
    return 0;
}

int clear(PyObject* self) {
    reset(view_of(self));
    return 0;
}

void deallocate(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (view_of(self)->weak_references != nullptr) PyObject_ClearWeakRefs(self);
    reset(view_of(self));
    type->tp_free(self);
    Py_DECREF(type);
}

template <typename Value>
PyObject* one_for_each_axis(PyObject* self, Value value) {
    FieldView* view = view_of(self);
    PyObject* result = PyTuple_New(view->ndim);
    for (int i = 0; result != nullptr && i < view->ndim; ++i) {
        PyObject* number = PyLong_FromLongLong(value(view->axes[i]));
        if (number == nullptr) Py_CLEAR(result);
        else PyTuple_SET_ITEM(result, i, number);
    }
    return result;
}

PyObject* get_ndarray(PyObject* self, void*) {
    PyObject* owner = view_of(self)->owner;
    return Py_NewRef(owner == nullptr ? Py_None : owner);
}

PyObject* get_dims(PyObject* self, void*) {
    PyObject* dims = view_of(self)->dims;
    return dims == nullptr ? PyTuple_New(0) : Py_NewRef(dims);
}

PyObject* get_starts(PyObject* self, void*) {
    return one_for_each_axis(self, [](const Axis& axis) { return axis.start; });
}

PyObject* get_stops(PyObject* self, void*) {
    return one_for_each_axis(self, [](const Axis& axis) { return axis.stop; });
}

PyObject* get_shape(PyObject* self, void*) {
    return one_for_each_axis(self, [](const Axis& axis) { return axis.stop - axis.start; });
}

PyObject* get_strides(PyObject* self, void*) {
    return one_for_each_axis(self, [](const Axis& axis) { return axis.stride; });
}

PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(view_of(self)->ndim); }

PyObject* get_dtype_name(PyObject* self, void*) {
    return PyUnicode_InternFromString(dtype_name(view_of(self)->dtype));
}

PyObject* get_pointer(PyObject* self, void*) {
    return PyLong_FromUnsignedLongLong(view_of(self)->data);
}

PyObject* get_device_type(PyObject* self, void*) {
    return PyLong_FromLong(view_of(self)->device_type);
}

PyObject* get_device_id(PyObject* self, void*) {
    return PyLong_FromLong(view_of(self)->device_id);
}

PyObject* get_readonly(PyObject* self, void*) {
    return PyBool_FromLong(view_of(self)->readonly);
}

// The array's own buffer, handed on; memory that is not the processor's offers none.
int get_buffer(PyObject* self, Py_buffer* into, int flags) {
    FieldView* view = view_of(self);
    if (view->buffer.obj != nullptr) return PyObject_GetBuffer(view->owner, into, flags);
    into->obj = nullptr;
    PyErr_SetString(PyExc_BufferError, "A field whose memory is not on the CPU has no buffer.");
    return -1;
}

PyGetSetDef properties[] = {
    {"ndarray", get_ndarray, nullptr, "The array that owns the memory.", nullptr},
    {"dims", get_dims, nullptr, "One Dimension for each axis.", nullptr},
    {"starts", get_starts, nullptr, "First index of each axis in domain coordinates.", nullptr},
    {"stops", get_stops, nullptr, "One past the last index of each axis.", nullptr},
    {"shape", get_shape, nullptr, "Extent of each axis.", nullptr},
    {"strides", get_strides, nullptr, "Stride of each axis in bytes.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of axes.", nullptr},
    {"dtype_name", get_dtype_name, nullptr, "Name of the element type.", nullptr},
    {"pointer", get_pointer, nullptr, "Address of the first element.", nullptr},
    {"device_type", get_device_type, nullptr, "Kind of device, as DLPack counts.", nullptr},
    {"device_id", get_device_id, nullptr, "Number of the device among its kind.", nullptr},
    {"readonly", get_readonly, nullptr, "Whether the memory must not be written.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef methods[] = {
    {"from_parts", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(from_parts)),
     METH_CLASS | METH_VARARGS | METH_KEYWORDS,
     "Make a view of memory that offers no buffer; `__init__` of a subclass is not called."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FieldView, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("Memory with a domain: FieldView(array, dims, starts).")},
    {Py_tp_new, reinterpret_cast<void*>(allocate)},
    {Py_tp_init, reinterpret_cast<void*>(init)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_getset, properties},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
    {0, nullptr},
};

PyType_Spec spec = {
    "fieldforge.runtime._core.FieldView",
    sizeof(FieldView),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    slots,
};

}  // namespace

const char* dtype_name(DType dtype) { return kinds[static_cast<int>(dtype)].name; }

int dtype_shift(DType dtype) { return kinds[static_cast<int>(dtype)].shift; }

DType dtype_from_name(const char* name) {
    for (int i = 1; i < static_cast<int>(std::size(kinds)); ++i) {
        if (std::strcmp(kinds[i].name, name) == 0) return static_cast<DType>(i);
    }
    return DType::none;
}

int add_field_view(PyObject* module) {
    field_view_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (field_view_type == nullptr) return -1;
    return PyModule_AddType(module, field_view_type);
}

}  // namespace fieldforge
