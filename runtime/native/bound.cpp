// `BoundCall`: a program with arguments fixed; with all of them fixed they are checked only once.
#include "bound.h"

#include <structmember.h>

#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "callable.h"
#include "held.h"
#include "program.h"
#include "sequence.h"

namespace fieldforge {
namespace {

struct BoundCall {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    Signature signature;  // what is left to give
    PyObject* call;       // the normal call path: any callable
    PyObject* program;    // the native call path, or null
    PyObject* provider;   // or null
    PyObject* fixed;      // dictionary of what was given
    // In the order of the parameters; null where something is left to give, and `places` of those.
    std::vector<PyObject*>* values;
    std::vector<Py_ssize_t>* places;
    std::shared_ptr<const Prepared>* prepared;
    uint64_t generation;  // of the program, when the call was prepared
    PyObject* weak_references;
};

BoundCall* bound_of(PyObject* self) { return reinterpret_cast<BoundCall*>(self); }

// The normal call path through Python, all arguments by keyword: hooks, metrics and the rest.
PyObject* call_ordinarily(BoundCall* self, const Bound& left, PyObject* provider) {
    const Held kwargs(PyDict_Copy(self->fixed));
    if (!kwargs) return nullptr;
    for (Py_ssize_t i = 0; i < left.count; ++i) {
        PyObject* name = PyTuple_GET_ITEM(self->signature.parameters, i);
        if (PyDict_SetItem(kwargs.get(), name, left.values[i]) < 0) return nullptr;
    }
    if (provider != nullptr &&
        PyDict_SetItemString(kwargs.get(), "offset_provider", provider) < 0) {
        return nullptr;
    }
    return call_by_name(self->call, kwargs.get());
}

// All arguments are bound: earlier checks hold as long as the program keeps its variants.
PyObject* call_prepared(BoundCall* self, const Bound& bound) {
    Program* program = program_of(self->program);
    if (!program->watch->up_to_date()) return nullptr;
    if (*self->prepared == nullptr || self->generation != program->generation) {
        // Preparing may run Python code that drops variants, so compare with the state before.
        const uint64_t generation = program->generation;
        auto made = prepare(program, bound, {});
        if (made == nullptr) return PyErr_Occurred() ? nullptr : call_ordered(program, bound);
        *self->prepared = std::move(made);
        self->generation = generation;
    }
    const std::shared_ptr<const Prepared> prepared = *self->prepared;
    if (const Refusal refusal = prepared->run()) {
        return refuse(program, prepared->entry(), bound, refusal);
    }
    if (wishes.recording != nullptr && !record(wishes.recording, program, bound)) return nullptr;
    Py_RETURN_NONE;
}

PyObject* call_with(BoundCall* self, const Given& given) {
    std::vector<PyObject*>& values = *self->values;
    const bool gives_nothing = given.positional == 0 && given.keywords == nullptr;
    const bool is_whole = self->places->empty() && gives_nothing;
    const bool native = self->program != nullptr && !is_observed.load(std::memory_order_relaxed);
    if (is_whole && native) {
        return call_prepared(self, {values.data(), static_cast<Py_ssize_t>(values.size()),
                                    self->provider});
    }
    std::vector<PyObject*> left(self->places->size());
    Bound own{left.data(), static_cast<Py_ssize_t>(left.size())};
    if (!bind(self->signature, given, own)) return nullptr;
    PyObject* provider = own.provider != nullptr ? own.provider : self->provider;
    if (!native) return call_ordinarily(self, own, provider);
    std::vector<PyObject*> all(values);
    for (size_t i = 0; i < left.size(); ++i) all[(*self->places)[i]] = left[i];
    return call_ordered(program_of(self->program),
                        {all.data(), static_cast<Py_ssize_t>(all.size()), provider});
}

PyObject* vectorcall(PyObject* callable, PyObject* const* values, size_t flags,
                     PyObject* keywords) noexcept {
    try {
        return call_with(bound_of(callable), {values, PyVectorcall_NARGS(flags), keywords});
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

PyObject* call(PyObject* self, PyObject*) { return vectorcall(self, nullptr, 0, nullptr); }

// Sorts the parameters into those that are fixed and those that are left; false with an error set.
bool settle(BoundCall* self, PyObject* name, PyObject* parameters, PyObject* on_reject) {
    const Held names(PySequence_Tuple(parameters));
    const Held left(PyList_New(0));
    if (!names || !left) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i) {
        PyObject* parameter = PyTuple_GET_ITEM(names.get(), i);
        PyObject* value = PyDict_GetItemWithError(self->fixed, parameter);
        if (value == nullptr) {
            if (PyErr_Occurred() || PyList_Append(left.get(), parameter) < 0) return false;
            self->places->push_back(i);
        }
        self->values->push_back(value);  // borrowed from `fixed`, which nobody changes
    }
    return set_signature(self->signature, name, left.get(), on_reject);
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    static const char* keywords[] = {"name",   "call",            "program",   "parameters",
                                     "values", "offset_provider", "on_reject", nullptr};
    PyObject *name, *call, *program, *parameters, *values, *provider, *on_reject;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "UOOOO!OO:BoundCall",
                                     const_cast<char**>(keywords), &name, &call, &program,
                                     &parameters, &PyDict_Type, &values, &provider, &on_reject)) {
        return nullptr;
    }
    if (program != Py_None && !PyObject_TypeCheck(program, program_type)) {
        PyErr_SetString(PyExc_TypeError, "Expected a Program or None.");
        return nullptr;
    }
    const Held object(type->tp_alloc(type, 0));
    if (!object) return nullptr;
    BoundCall* self = bound_of(object.get());
    self->vectorcall = vectorcall;
    self->call = Py_NewRef(call);
    self->program = program == Py_None ? nullptr : Py_NewRef(program);
    self->provider = provider == Py_None ? nullptr : Py_NewRef(provider);
    self->fixed = PyDict_Copy(values);
    if (self->fixed == nullptr) return nullptr;
    try {
        self->values = new std::vector<PyObject*>;
        self->places = new std::vector<Py_ssize_t>;
        self->prepared = new std::shared_ptr<const Prepared>;
        if (!settle(self, name, parameters, on_reject)) return nullptr;
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
    return Py_NewRef(object.get());
}

int init(PyObject*, PyObject*, PyObject*) { return 0; }

int traverse(PyObject* object, visitproc visit, void* arg) {
    BoundCall* self = bound_of(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->call);
    Py_VISIT(self->program);
    Py_VISIT(self->provider);
    Py_VISIT(self->fixed);
    Py_VISIT(self->signature.on_reject);
    // What a prepared call holds is visited where nobody else holds it.
    if (self->prepared != nullptr && self->prepared->use_count() == 1) {
        return (*self->prepared)->traverse(visit, arg);
    }
    return 0;
}

// There is no tp_clear: a bound call is immutable, and every cycle through it contains another
// object, the program or a dictionary, that breaks the cycle.
void deallocate(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    BoundCall* self = bound_of(object);
    if (self->weak_references != nullptr) PyObject_ClearWeakRefs(object);
    delete self->prepared;
    delete self->values;
    delete self->places;
    clear_signature(self->signature);
    Py_CLEAR(self->call);
    Py_CLEAR(self->program);
    Py_CLEAR(self->provider);
    Py_CLEAR(self->fixed);
    type->tp_free(object);
    Py_DECREF(type);
}

PyObject* get_fixed(PyObject* self, void*) { return PyDict_Copy(bound_of(self)->fixed); }

PyMethodDef methods[] = {
    {"call", call, METH_NOARGS, "Call with what was bound, where that is everything."},
    fast_subclasses(),
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(BoundCall, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(BoundCall, weak_references), READONLY, nullptr},
    {"name", T_OBJECT, offsetof(BoundCall, signature.name), READONLY, "Name for messages."},
    {"parameters", T_OBJECT, offsetof(BoundCall, signature.parameters), READONLY,
     "Names of what is left to give, in order."},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"fixed", get_fixed, nullptr, "What was given, by name.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("A program with some or all of its arguments fixed.")},
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_init, reinterpret_cast<void*>(init)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {0, nullptr},
};

PyType_Spec spec = {
    "fieldforge.runtime._core.BoundCall",
    sizeof(BoundCall),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
        Py_TPFLAGS_HAVE_VECTORCALL,
    slots,
};

}  // namespace

int add_bound_call(PyObject* module) {
    PyObject* type = PyType_FromSpec(&spec);
    if (type == nullptr) return -1;
    return PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type));
}

}  // namespace fieldforge
