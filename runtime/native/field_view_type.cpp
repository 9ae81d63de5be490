// `FieldView`: the base class of `runtime.fields.field.Field`, as Python sees it.
#include "field_view.h"

#include <structmember.h>

#include "dlpack.h"
#include "gpu/gpu.h"

namespace fieldforge {

PyTypeObject* field_view_type = nullptr;
PyTypeObject* familiar_field_type = nullptr;

namespace {

FieldView* view_of(PyObject* self) { return reinterpret_cast<FieldView*>(self); }

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
    if (gpu::is_device_array(array) ? gpu::fill_from_device_array(view, array, dims, starts)
                         : fill_from_buffer(view, array, dims, starts)) {
        return 0;
    }
    reset(view);
    return -1;
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

int add_field_view(PyObject* module) {
    field_view_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (field_view_type == nullptr) return -1;
    return PyModule_AddType(module, field_view_type);
}

}  // namespace fieldforge
