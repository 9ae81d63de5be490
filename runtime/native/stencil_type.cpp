// The Python type of stencils.
#include "stencil.h"

#include <structmember.h>

#include <new>
#include <vector>

#include "callable.h"
#include "held.h"

namespace fieldforge {
namespace {

PyObject* accept_layout(PyObject* object, PyObject* name) {
    const int32_t index = stencil_of(object)->of_call->find(name);
    auto& slots = *stencil_of(object)->slots;
    if (index >= 0 && static_cast<size_t>(index) < slots.size()) slots[index].has_layout = false;
    if (PyErr_Occurred()) return nullptr;
    Py_RETURN_NONE;
}

// The names of the arguments, and then of options.
PyObject* with_options(PyObject* arguments, std::initializer_list<const char*> options) {
    const Held made(PySequence_List(arguments));
    if (!made) return nullptr;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(made.get()); ++i) {
        PyObject* name = Py_NewRef(PyList_GET_ITEM(made.get(), i));
        PyUnicode_InternInPlace(&name);
        PyList_SetItem(made.get(), i, name);
    }
    for (const char* option : options) {
        const Held name(PyUnicode_InternFromString(option));
        if (!name || PyList_Append(made.get(), name.get()) < 0) return nullptr;
    }
    return PySequence_Tuple(made.get());
}

bool set_names(Stencil* self, PyObject* arguments) {
    self->arguments = with_options(arguments, {});
    self->call_names = with_options(arguments, {"domain", "origin", "exec_info", "validate_args"});
    self->run_names = with_options(arguments, {"_domain_", "_origin_", "exec_info"});
    if (self->arguments == nullptr || self->call_names == nullptr || self->run_names == nullptr) {
        return false;
    }
    self->of_call = new Names;
    self->of_run = new Names;
    return self->of_call->set(self->call_names) && self->of_run->set(self->run_names);
}

bool set_slots(Stencil* self, PyObject* rows, PyObject* defaults) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rows); ++i) {
        self->slots->emplace_back();
        if (!read_slot(PyTuple_GET_ITEM(rows, i), self->slots->back())) return false;
        self->fields += self->slots->back().dims != nullptr;
        PyObject* value = PyDict_GetItemWithError(defaults, PyTuple_GET_ITEM(self->arguments, i));
        if (value == nullptr && PyErr_Occurred()) return false;
        self->defaults->push_back(Py_XNewRef(value));
    }
    return true;
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    static const char* keywords[] = {"program",  "arguments",    "positional", "slots",
                                     "defaults", "least_levels", "waits",      nullptr};
    PyObject *program, *arguments, *rows, *defaults;
    Py_ssize_t positional;
    long long least_levels;
    int waits;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!nO!O!Lp:Stencil",
                                     const_cast<char**>(keywords), program_type, &program,
                                     &PyTuple_Type, &arguments, &positional, &PyTuple_Type, &rows,
                                     &PyDict_Type, &defaults, &least_levels, &waits)) {
        return nullptr;
    }
    const Py_ssize_t count = PyTuple_GET_SIZE(arguments);
    if (count != PyTuple_GET_SIZE(rows) || count > static_cast<Py_ssize_t>(most_arguments)) {
        PyErr_Format(PyExc_ValueError, "Expected one slot for each of at most %zu arguments.", most_arguments);
        return nullptr;
    }
    const Held object(type->tp_alloc(type, 0));
    if (!object) return nullptr;
    Stencil* self = stencil_of(object.get());
    self->vectorcall = vectorcall_stencil;
    self->program = program_of(Py_NewRef(program));
    self->positional = positional;
    self->least_levels = least_levels;
    self->waits = waits;
    try {
        self->slots = new std::vector<Slot>;
        self->defaults = new std::vector<PyObject*>;
        if (!set_names(self, arguments) || !set_slots(self, rows, defaults)) return nullptr;
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
    return Py_NewRef(object.get());
}

int init(PyObject*, PyObject*, PyObject*) { return 0; }

int traverse(PyObject* object, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(stencil_of(object)->program);
    return 0;
}

// There is no tp_clear: a stencil is immutable, and every cycle through it contains its class or its
// program, which break the cycle.
void deallocate(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    Stencil* self = stencil_of(object);
    if (self->weak_references != nullptr) PyObject_ClearWeakRefs(object);
    if (self->slots != nullptr) {
        for (Slot& slot : *self->slots) Py_XDECREF(slot.dims);
    }
    if (self->defaults != nullptr) {
        for (PyObject* value : *self->defaults) Py_XDECREF(value);
    }
    delete self->slots;
    delete self->defaults;
    delete self->of_call;
    delete self->of_run;
    Py_CLEAR(self->arguments);
    Py_CLEAR(self->call_names);
    Py_CLEAR(self->run_names);
    Py_CLEAR(self->program);
    type->tp_free(object);
    Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run_stencil)),
     METH_FASTCALL | METH_KEYWORDS,
     "run(*, _domain_, _origin_, exec_info=None, **arguments): call with origin and domain decided."},
    {"accept_layout", accept_layout, METH_O,
     "accept_layout(name): take any layout of a field from now on."},
    fast_subclasses(),
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Stencil, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Stencil, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("A stencil of GTScript over a program.")},
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
    "fieldforge.runtime._core.Stencil",
    sizeof(Stencil),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
        Py_TPFLAGS_HAVE_VECTORCALL,
    slots,
};

}  // namespace

int add_stencil(PyObject* module) {
    PyObject* type = PyType_FromSpec(&spec);
    if (type == nullptr) return -1;
    return PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type));
}

}  // namespace fieldforge
