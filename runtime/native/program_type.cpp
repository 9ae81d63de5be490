// `Program(name, parameters, on_miss, on_reject)`: the Python type, its variants and what it watches.
#include "program.h"

#include <structmember.h>

#include <algorithm>
#include <new>

#include "callable.h"
#include "held.h"
#include "interpreter_lock.h"

namespace fieldforge {

PyTypeObject* program_type = nullptr;

namespace {

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    static const char* keywords[] = {"name",      "parameters", "on_miss",
                                     "on_reject", "otherwise",  nullptr};
    PyObject *name, *parameters, *on_miss, *on_reject, *otherwise = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "UOOO|O:Program", const_cast<char**>(keywords),
                                     &name, &parameters, &on_miss, &on_reject, &otherwise)) {
        return nullptr;
    }
    PyObject* object = type->tp_alloc(type, 0);
    if (object == nullptr) return nullptr;
    Program* self = program_of(object);
    self->vectorcall = vectorcall_program;
    self->on_miss = Py_NewRef(on_miss);
    self->otherwise = otherwise == Py_None ? nullptr : Py_NewRef(otherwise);
    try {
        self->variants = new std::vector<Variant>;
        self->watch = new Watch;
        if (set_signature(self->signature, name, parameters, on_reject)) return object;
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    }
    Py_DECREF(object);
    return nullptr;
}

// `make` has done everything; a subclass may have an `__init__` with other arguments.
int init(PyObject*, PyObject*, PyObject*) { return 0; }

// An entry that asks for more is faster where it fits, whenever it was added.
void insert(Program* self, Variant made) {
    const auto behind = [](const Variant& one, const Variant& other) {
        return one.entry->plan->demands() > other.entry->plan->demands();
    };
    auto& all = *self->variants;
    const auto place = std::upper_bound(all.begin(), all.end(), made, behind);
    all.insert(place, std::move(made));
    ++self->generation;
}

// No call finds neither: the variants have room for both, so that the exchange cannot fail.
PyObject* replace(PyObject* object, PyObject* args) {
    PyObject *before, *after;
    if (!PyArg_ParseTuple(args, "OO!:replace", &before, entry_type, &after)) return nullptr;
    auto& all = *program_of(object)->variants;
    const auto old = std::find_if(all.begin(), all.end(), [&](const Variant& each) {
        return reinterpret_cast<PyObject*>(each.entry) == before;
    });
    if (old == all.end()) {
        PyErr_SetString(PyExc_ValueError, "The program does not have the entry to replace.");
        return nullptr;
    }
    Variant made{reinterpret_cast<Entry*>(Py_NewRef(after)), std::move(old->values)};
    all.erase(old);
    insert(program_of(object), std::move(made));
    Py_DECREF(before);
    Py_RETURN_NONE;
}

PyObject* add(PyObject* object, PyObject* args) {
    PyObject *given, *values = nullptr;
    if (!PyArg_ParseTuple(args, "O|O:add", &given, &values)) return nullptr;
    if (!PyObject_TypeCheck(given, entry_type)) {
        PyErr_Format(PyExc_TypeError, "Expected an Entry, got '%s'.", Py_TYPE(given)->tp_name);
        return nullptr;
    }
    Program* self = program_of(object);
    auto* entry = reinterpret_cast<Entry*>(given);
    const Py_ssize_t parameters = PyTuple_GET_SIZE(self->signature.parameters);
    if (entry->plan->parameters != parameters) {
        PyErr_Format(PyExc_ValueError, "Expected an entry for %zd parameters, got one for %d.",
                     parameters, static_cast<int>(entry->plan->parameters));
        return nullptr;
    }
    Variant made{entry, {}};
    try {
        if (values == nullptr || read_static(values, parameters, made.values)) {
            insert(self, std::move(made));
            Py_INCREF(given);
            Py_RETURN_NONE;
        }
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    }
    drop_static(made.values);
    return nullptr;
}

void drop_variants(Program* self) {
    ++self->generation;
    std::vector<Variant> variants;
    variants.swap(*self->variants);
    for (Variant& each : variants) {
        drop_static(each.values);
        Py_DECREF(each.entry);
    }
}

PyObject* forget(PyObject* object, PyObject*) {
    drop_variants(program_of(object));
    program_of(object)->watch->clear();
    Py_RETURN_NONE;
}

PyObject* watch(PyObject* object, PyObject* args) {
    PyObject *triples, *on_change;
    if (!PyArg_ParseTuple(args, "OO:watch", &triples, &on_change)) return nullptr;
    try {
        if (!program_of(object)->watch->set(triples, on_change)) return nullptr;
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

// Hands every call to `python_call`.
PyObject* vectorcall_python(PyObject* callable, PyObject* const* values, size_t flags,
                            PyObject* keywords) noexcept {
    const Held python_call(Py_NewRef(program_of(callable)->python_call));
    return sleep_at_exit(
        [&] { return PyObject_Vectorcall(python_call.get(), values, flags, keywords); });
}

// Python takes all calls, or none: the pointer changes, so native calls ask nothing.
PyObject* route(PyObject* object, PyObject* python_call) {
    Program* self = program_of(object);
    const bool natively = python_call == Py_None;
    if (!natively && !PyCallable_Check(python_call)) {
        PyErr_SetString(PyExc_TypeError, "Expected a callable or None.");
        return nullptr;
    }
    self->vectorcall = natively ? vectorcall_program : vectorcall_python;
    Py_XSETREF(self->python_call, natively ? nullptr : Py_NewRef(python_call));
    Py_RETURN_NONE;
}

PyObject* get_entries(PyObject* object, void*) {
    std::vector<PyObject*> entries;
    for (const Variant& each : *program_of(object)->variants) {
        entries.push_back(reinterpret_cast<PyObject*>(each.entry));
    }
    return tuple_of(entries.data(), static_cast<Py_ssize_t>(entries.size()));
}

int traverse(PyObject* object, visitproc visit, void* arg) {
    Program* self = program_of(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->on_miss);
    Py_VISIT(self->otherwise);
    Py_VISIT(self->python_call);
    Py_VISIT(self->signature.on_reject);
    for (size_t i = 0; self->variants != nullptr && i < self->variants->size(); ++i) {
        const Variant& each = (*self->variants)[i];
        Py_VISIT(each.entry);
        for (const StaticArgument& argument : each.values) {
            Py_VISIT(argument.value);
            Py_VISIT(argument.same);
            Py_VISIT(argument.seen);
        }
    }
    return self->watch == nullptr ? 0 : self->watch->traverse(visit, arg);
}

// The name and parameters are strings and cannot be part of a cycle: a program that was cleared
// can still be called, and answers with an error.
int clear(PyObject* object) {
    Program* self = program_of(object);
    PyObject* none = Py_None;
    Py_XSETREF(self->on_miss, Py_NewRef(none));
    Py_CLEAR(self->otherwise);
    self->vectorcall = vectorcall_program;
    Py_CLEAR(self->python_call);
    Py_XSETREF(self->signature.on_reject, Py_NewRef(none));
    if (self->watch != nullptr) self->watch->clear();
    if (self->variants != nullptr) drop_variants(self);
    return 0;
}

void deallocate(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    Program* self = program_of(object);
    if (self->weak_references != nullptr) PyObject_ClearWeakRefs(object);
    clear(object);
    Py_CLEAR(self->on_miss);
    clear_signature(self->signature);
    delete self->variants;
    delete self->watch;
    type->tp_free(object);
    Py_DECREF(type);
}

PyObject* call(PyObject* object, PyObject* const* values, Py_ssize_t count, PyObject* keywords) {
    return call_program(program_of(object), {values, count, keywords});
}

PyMethodDef methods[] = {
    {"call", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)),
     METH_FASTCALL | METH_KEYWORDS,
     "Call natively, whatever a subclass makes of calls; what does not fit is refused."},
    {"add", add, METH_VARARGS,
     "add(entry, values=()): add a variant for rows (parameter, value, same) of static values."},
    {"replace", replace, METH_VARARGS,
     "replace(before, after): exchange the entry of a variant; calls in flight keep theirs."},
    {"forget", forget, METH_NOARGS, "Drop all variants, and what is watched."},
    {"watch", watch, METH_VARARGS,
     "watch(triples, on_change): call `on_change()` before a call if a name of (namespace, name, "
     "object), or a cell of (cell, None, object), holds another object."},
    {"route", route, METH_O, "route(python_call): hand every call to a callable; None: call natively."},
    fast_subclasses(),
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Program, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Program, weak_references), READONLY, nullptr},
    {"name", T_OBJECT, offsetof(Program, signature.name), READONLY, "Name for messages."},
    {"parameters", T_OBJECT, offsetof(Program, signature.parameters), READONLY, "Names in order."},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"entries", get_entries, nullptr, "The variants in the order in which they are tried.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("A callable: Program(name, parameters, on_miss, on_reject).")},
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_init, reinterpret_cast<void*>(init)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {0, nullptr},
};

PyType_Spec spec = {
    "fieldforge.runtime._core.Program",
    sizeof(Program),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
        Py_TPFLAGS_HAVE_VECTORCALL,
    slots,
};

}  // namespace

int add_program(PyObject* module) {
    program_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (program_type == nullptr) return -1;
    return PyModule_AddType(module, program_type);
}

}  // namespace fieldforge
