// `Limited(call, threads, workspace)`: sets the wishes of the thread for the time of a call.
#include "limited.h"

#include <structmember.h>

#include <utility>

#include "callable.h"
#include "interpreter_lock.h"
#include "wishes.h"
#include "workspace.h"

namespace fieldforge {
namespace {

struct Limited {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject* call;
    int threads;           // 0: no wish
    PyObject* workspace;   // None: no wish
    PyObject* weak_references;
};

Limited* limited_of(PyObject* self) { return reinterpret_cast<Limited*>(self); }

PyObject* vectorcall(PyObject* callable, PyObject* const* values, size_t flags,
                     PyObject* keywords) noexcept {
    Limited* self = limited_of(callable);
    int threads = self->threads > 0 ? self->threads : wishes.threads;
    Workspace* workspace = self->workspace == Py_None
                               ? wishes.workspace
                               : reinterpret_cast<Workspace*>(self->workspace);
    std::swap(threads, wishes.threads);
    std::swap(workspace, wishes.workspace);
    // borrowed: the caller holds this object, and it holds what it asks for
    PyObject* result =
        sleep_at_exit([&] { return PyObject_Vectorcall(self->call, values, flags, keywords); });
    wishes.threads = threads;
    wishes.workspace = workspace;
    return result;
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"call", "threads", "workspace", nullptr};
    PyObject *call, *workspace = Py_None;
    int threads = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|iO:Limited", const_cast<char**>(names), &call,
                                     &threads, &workspace)) {
        return nullptr;
    }
    if (threads < 0 || (workspace != Py_None && !is_workspace(workspace))) {
        PyErr_SetString(PyExc_ValueError, "Expected a number of threads and a Workspace or None.");
        return nullptr;
    }
    PyObject* self = type->tp_alloc(type, 0);
    if (self == nullptr) return nullptr;
    limited_of(self)->vectorcall = vectorcall;
    limited_of(self)->call = Py_NewRef(call);
    limited_of(self)->threads = threads;
    limited_of(self)->workspace = Py_NewRef(workspace);
    return self;
}

int init(PyObject*, PyObject*, PyObject*) { return 0; }

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(limited_of(self)->call);
    Py_VISIT(limited_of(self)->workspace);
    return 0;
}

// There is no tp_clear: it is immutable, and a cycle through it has another object that breaks it.
void deallocate(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (limited_of(self)->weak_references != nullptr) PyObject_ClearWeakRefs(self);
    Py_CLEAR(limited_of(self)->call);
    Py_CLEAR(limited_of(self)->workspace);
    type->tp_free(self);
    Py_DECREF(type);
}

PyMethodDef methods[] = {fast_subclasses(), {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Limited, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Limited, weak_references), READONLY, nullptr},
    {"call", T_OBJECT, offsetof(Limited, call), READONLY, "What is called."},
    {"threads", T_INT, offsetof(Limited, threads), READONLY, "How many threads; 0: no wish."},
    {"workspace", T_OBJECT, offsetof(Limited, workspace), READONLY, "The workspace, or None."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("A callable with threads or memory of its own.")},
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_init, reinterpret_cast<void*>(init)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, nullptr},
};

PyType_Spec spec = {
    "fieldforge.runtime._core.Limited",
    sizeof(Limited),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
        Py_TPFLAGS_HAVE_VECTORCALL,
    slots,
};

}  // namespace

int add_limited(PyObject* module) {
    PyObject* type = PyType_FromSpec(&spec);
    if (type == nullptr) return -1;
    return PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type));
}

}  // namespace fieldforge
