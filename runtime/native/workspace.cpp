// `Workspace(buffer)`, of the host or of a device: one call uses it at a time; calls beside it have memory of their own.
#include "workspace.h"

#include <cstdint>
#include <new>

#include "device.h"
#include "gpu/gpu.h"

namespace fieldforge {
namespace {

constexpr uintptr_t cache_line = 64;
PyTypeObject* workspace_type = nullptr;

Workspace* workspace_of(PyObject* self) { return reinterpret_cast<Workspace*>(self); }

// Where the memory of a buffer or of an array on a device lies; false with a Python error set.
bool take(Workspace* made, PyObject* given, uintptr_t& start, uintptr_t& length) {
    if (gpu::is_device_memory(given)) {
        gpu::Span span;
        if (!gpu::span_of(given, span)) return false;
        start = span.address;
        length = span.size;
        made->device_type = span.device_type;
        made->device_id = span.device_id;
        made->owner = Py_NewRef(given);
        return true;
    }
    if (PyObject_GetBuffer(given, &made->buffer, PyBUF_WRITABLE) < 0) return false;
    start = reinterpret_cast<uintptr_t>(made->buffer.buf);
    length = static_cast<uintptr_t>(made->buffer.len);
    made->device_type = device_cpu;
    return true;
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"buffer", nullptr};
    PyObject* given;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Workspace", const_cast<char**>(names),
                                     &given)) {
        return nullptr;
    }
    PyObject* self = type->tp_alloc(type, 0);
    if (self == nullptr) return nullptr;
    Workspace* made = workspace_of(self);
    new (&made->last) std::shared_ptr<void>;
    uintptr_t start = 0, length = 0;
    if (!take(made, given, start, length)) {
        Py_DECREF(self);
        return nullptr;
    }
    const uintptr_t gap = (cache_line - start % cache_line) % cache_line;
    made->data = reinterpret_cast<std::byte*>(start + gap);
    made->size = length > gap ? length - gap : 0;
    return self;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(workspace_of(self)->buffer.obj);
    Py_VISIT(workspace_of(self)->owner);
    return 0;
}

// No tp_clear: a call may be using the memory, and the exporter can break any cycle.
void deallocate(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    PyBuffer_Release(&workspace_of(self)->buffer);
    workspace_of(self)->last.~shared_ptr();
    Py_XDECREF(workspace_of(self)->owner);
    type->tp_free(self);
    Py_DECREF(type);
}

PyObject* get_size(PyObject* self, void*) { return PyLong_FromSize_t(workspace_of(self)->size); }

PyObject* get_device(PyObject* self, void*) {
    return Py_BuildValue("ii", workspace_of(self)->device_type, workspace_of(self)->device_id);
}

PyGetSetDef properties[] = {
    {"size", get_size, nullptr, "Bytes from the first aligned address on.", nullptr},
    {"device", get_device, nullptr, "Kind of device, as DLPack numbers it, and its number.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("Memory of the caller for temporaries: Workspace(buffer).")},
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_getset, properties},
    {0, nullptr},
};

PyType_Spec spec = {
    "fieldforge.runtime._core.Workspace",
    sizeof(Workspace),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    slots,
};

}  // namespace

bool is_workspace(PyObject* object) { return Py_IS_TYPE(object, workspace_type); }

int add_workspace(PyObject* module) {
    workspace_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (workspace_type == nullptr) return -1;
    return PyModule_AddType(module, workspace_type);
}

}  // namespace fieldforge
