// `Program(name, parameters, on_miss, on_reject)`: binds the arguments, picks the entry, calls it.
#include "program.h"

#include <structmember.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <vector>

#include "call.h"
#include "entry.h"
#include "names.h"
#include "watch.h"

namespace fieldforge {
namespace {

struct Program {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject* name;
    PyObject* parameters;
    PyObject* on_miss;
    PyObject* on_reject;
    Names* names;
    // Owned references; entries that ask most of the layout come first. Read and changed with
    // the interpreter's lock held, and an entry is held while it is in use.
    std::vector<Entry*>* entries;
    Watch* watch;
    PyObject* weak_references;
};

Program* program_of(PyObject* self) { return reinterpret_cast<Program*>(self); }

// A reference that is given back at the end of the block.
class Held {
   public:
    explicit Held(PyObject* object) : object_(object) {}
    ~Held() { Py_XDECREF(object_); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    PyObject* get() const { return object_; }
    explicit operator bool() const { return object_ != nullptr; }

   private:
    PyObject* object_;
};

// The arguments of one call as the interpreter hands them over; all borrowed.
struct Given {
    PyObject* const* values;
    Py_ssize_t positional;
    PyObject* keywords;  // tuple of names or null
};

PyObject* tuple_of(PyObject* const* values, Py_ssize_t count) {
    PyObject* made = PyTuple_New(count);
    for (Py_ssize_t i = 0; made != nullptr && i < count; ++i) {
        PyTuple_SET_ITEM(made, i, Py_NewRef(values[i]));
    }
    return made;
}

PyObject* tuple_of(const std::vector<int64_t>& numbers) {
    PyObject* made = PyTuple_New(static_cast<Py_ssize_t>(numbers.size()));
    for (size_t i = 0; made != nullptr && i < numbers.size(); ++i) {
        PyObject* number = PyLong_FromLongLong(numbers[i]);
        if (number == nullptr) Py_CLEAR(made);
        else PyTuple_SET_ITEM(made, static_cast<Py_ssize_t>(i), number);
    }
    return made;
}

// Hands the case over to Python, which raises the error for the person; steals the detail.
PyObject* reject(Program* self, PyObject* plan, PyObject* arguments, Reason reason,
                 PyObject* detail) {
    const Held held(detail);
    if (detail == nullptr || arguments == nullptr) return nullptr;
    const Held result(PyObject_CallFunction(self->on_reject, "OOiO", plan, arguments,
                                            static_cast<int>(reason), detail));
    if (result) PyErr_SetString(PyExc_RuntimeError, "'on_reject' must raise.");
    return nullptr;
}

// Arguments that do not fit the parameters: there is no plan yet, so the detail begins with the
// name of the program and its parameters.
PyObject* reject_binding(Program* self, Reason reason, PyObject* detail) {
    if (detail == nullptr) return nullptr;
    const Held nothing(PyTuple_New(0));
    return reject(self, Py_None, nothing.get(), reason,
                  Py_BuildValue("OON", self->name, self->parameters, detail));
}

PyObject* reject_missing(Program* self, PyObject* const* bound, Py_ssize_t count) {
    std::vector<int64_t> missing;
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (bound[i] == nullptr) missing.push_back(i);
    }
    return reject_binding(self, Reason::missing, tuple_of(missing));
}

// The arguments of one call in the order of the parameters, and what stands beside them.
struct Bound {
    PyObject** values;
    Py_ssize_t count;
    PyObject* provider = nullptr;
};

// Puts the arguments in the order of the parameters; false with a Python error set.
bool bind(Program* self, const Given& given, Bound& into) {
    PyObject** const bound = into.values;
    const Py_ssize_t count = into.count;
    if (given.positional > count) {
        reject_binding(self, Reason::too_many, PyLong_FromSsize_t(given.positional));
        return false;
    }
    std::copy_n(given.values, given.positional, bound);
    std::fill(bound + given.positional, bound + count, nullptr);
    Py_ssize_t filled = given.positional;
    const Py_ssize_t keywords = given.keywords == nullptr ? 0 : PyTuple_GET_SIZE(given.keywords);
    for (Py_ssize_t i = 0; i < keywords; ++i) {
        PyObject* name = PyTuple_GET_ITEM(given.keywords, i);
        // Mostly the keywords come in the order of the parameters.
        const bool in_order = filled < count && PyTuple_GET_ITEM(self->parameters, filled) == name;
        const int32_t index = in_order ? static_cast<int32_t>(filled) : self->names->find(name);
        if (index < 0) {
            if (index == Keyword::unknown) {
                reject_binding(self, Reason::unknown_name, Py_NewRef(name));
                return false;
            }
            if (index == Keyword::failed) return false;
            if (index == Keyword::offset_provider) {
                into.provider = given.values[given.positional + i];
            }
            continue;
        }
        if (bound[index] != nullptr) {
            reject_binding(self, Reason::repeated, Py_NewRef(name));
            return false;
        }
        bound[index] = given.values[given.positional + i];
        ++filled;
    }
    if (filled != count) reject_missing(self, bound, count);
    return filled == count;
}

enum class Outcome { done, failed, no_fit };

// What `on_reject` is shown: the arguments and, where there are tables, the provider after them.
PyObject* shown(const Entry* entry, const Bound& bound) {
    if (entry->plan->tables.empty()) return tuple_of(bound.values, bound.count);
    PyObject* made = PyTuple_New(bound.count + 1);
    for (Py_ssize_t i = 0; made != nullptr && i <= bound.count; ++i) {
        PyObject* value = i < bound.count ? bound.values[i] : bound.provider;
        PyTuple_SET_ITEM(made, i, Py_NewRef(value == nullptr ? Py_None : value));
    }
    return made;
}

Outcome call_entry(Program* self, Entry* entry, const Bound& bound) {
    Refusal refusal;
    {
        Frame frame(*entry->plan);
        refusal = frame.flatten(bound.values, bound.provider);
        if (!refusal) {
            if (!frame.fits()) return Outcome::no_fit;
            refusal = frame.check();
        }
        if (!refusal) refusal = frame.run(entry->address, *entry->arena);
    }
    if (!refusal) return Outcome::done;
    const Held arguments(shown(entry, bound));
    reject(self, entry->source, arguments.get(), refusal.reason, tuple_of(refusal.detail));
    return Outcome::failed;
}

Outcome call_first_fit(Program* self, const Bound& bound) {
    // By index: looking into a dataclass may run Python code, and that may add an entry.
    for (size_t i = 0; i < self->entries->size(); ++i) {
        Entry* entry = (*self->entries)[i];
        const Held held(Py_NewRef(reinterpret_cast<PyObject*>(entry)));
        const Outcome outcome = call_entry(self, entry, bound);
        if (outcome != Outcome::no_fit) return outcome;
    }
    return Outcome::no_fit;
}

// No variant fits: Python compiles one and adds it.
bool ask_for_entry(Program* self, const Given& given) {
    const Held args(tuple_of(given.values, given.positional));
    const Held kwargs(PyDict_New());
    if (!args || !kwargs) return false;
    const Py_ssize_t keywords = given.keywords == nullptr ? 0 : PyTuple_GET_SIZE(given.keywords);
    for (Py_ssize_t i = 0; i < keywords; ++i) {
        if (PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(given.keywords, i),
                           given.values[given.positional + i]) < 0) {
            return false;
        }
    }
    const Held result(PyObject_CallFunctionObjArgs(self->on_miss, args.get(), kwargs.get(), nullptr));
    return static_cast<bool>(result);
}

PyObject* call_bound(Program* self, const Given& given, Bound bound) {
    if (!self->watch->up_to_date() || !bind(self, given, bound)) return nullptr;
    Outcome outcome = call_first_fit(self, bound);
    if (outcome == Outcome::no_fit) {
        if (!ask_for_entry(self, given)) return nullptr;
        outcome = call_first_fit(self, bound);
    }
    if (outcome == Outcome::done) Py_RETURN_NONE;
    if (outcome == Outcome::no_fit) {
        PyErr_Format(PyExc_RuntimeError, "'on_miss' of '%U' added no entry that fits the call.",
                     self->name);
    }
    return nullptr;
}

PyObject* vectorcall(PyObject* callable, PyObject* const* values, size_t flags,
                     PyObject* keywords) noexcept {
    Program* self = program_of(callable);
    const Given given{values, PyVectorcall_NARGS(flags), keywords};
    const Py_ssize_t count = PyTuple_GET_SIZE(self->parameters);
    try {
        std::array<PyObject*, 64> few;
        if (count <= static_cast<Py_ssize_t>(few.size())) {
            return call_bound(self, given, {few.data(), count});
        }
        std::vector<PyObject*> many(static_cast<size_t>(count));
        return call_bound(self, given, {many.data(), count});
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

// An interned copy of the names, so that identity is enough nearly always.
PyObject* intern_all(PyObject* names) {
    PyObject* tuple = PySequence_Tuple(names);
    for (Py_ssize_t i = 0; tuple != nullptr && i < PyTuple_GET_SIZE(tuple); ++i) {
        if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(tuple, i))) {
            PyErr_SetString(PyExc_TypeError, "The names of parameters are strings.");
            Py_CLEAR(tuple);
        }
    }
    if (tuple == nullptr) return nullptr;
    const Held held(tuple);
    const Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    PyObject* interned = PyTuple_New(count);
    for (Py_ssize_t i = 0; interned != nullptr && i < count; ++i) {
        PyObject* name = Py_NewRef(PyTuple_GET_ITEM(tuple, i));
        PyUnicode_InternInPlace(&name);
        PyTuple_SET_ITEM(interned, i, name);
    }
    return interned;
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    static const char* keywords[] = {"name", "parameters", "on_miss", "on_reject", nullptr};
    PyObject *name, *parameters, *on_miss, *on_reject;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "UOOO:Program", const_cast<char**>(keywords),
                                     &name, &parameters, &on_miss, &on_reject)) {
        return nullptr;
    }
    PyObject* interned = intern_all(parameters);
    if (interned == nullptr) return nullptr;
    PyObject* object = type->tp_alloc(type, 0);
    if (object == nullptr) {
        Py_DECREF(interned);
        return nullptr;
    }
    Program* self = program_of(object);
    self->vectorcall = vectorcall;
    self->name = Py_NewRef(name);
    self->parameters = interned;
    self->on_miss = Py_NewRef(on_miss);
    self->on_reject = Py_NewRef(on_reject);
    try {
        self->names = new Names;
        self->entries = new std::vector<Entry*>;
        self->watch = new Watch;
        if (self->names->set(interned)) return object;
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    }
    Py_DECREF(object);
    return nullptr;
}

// `make` has done everything; a subclass may have an `__init__` with other arguments.
int init(PyObject*, PyObject*, PyObject*) { return 0; }

PyObject* add(PyObject* object, PyObject* given) {
    if (!PyObject_TypeCheck(given, entry_type)) {
        PyErr_Format(PyExc_TypeError, "Expected an Entry, got '%s'.", Py_TYPE(given)->tp_name);
        return nullptr;
    }
    Program* self = program_of(object);
    auto* entry = reinterpret_cast<Entry*>(given);
    if (entry->plan->parameters != PyTuple_GET_SIZE(self->parameters)) {
        PyErr_Format(PyExc_ValueError, "Expected an entry for %zd parameters, got one for %d.",
                     PyTuple_GET_SIZE(self->parameters), static_cast<int>(entry->plan->parameters));
        return nullptr;
    }
    // An entry that asks for more is faster where it fits, whenever it was added.
    const auto behind = [](const Entry* one, const Entry* other) {
        return one->plan->demands() > other->plan->demands();
    };
    try {
        auto& entries = *self->entries;
        entries.insert(std::upper_bound(entries.begin(), entries.end(), entry, behind), entry);
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
    Py_INCREF(given);
    Py_RETURN_NONE;
}

void drop_entries(Program* self) {
    std::vector<Entry*> entries;
    entries.swap(*self->entries);
    for (Entry* entry : entries) Py_DECREF(entry);
}

PyObject* forget(PyObject* object, PyObject*) {
    drop_entries(program_of(object));
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

PyObject* get_entries(PyObject* object, void*) {
    const auto& entries = *program_of(object)->entries;
    return tuple_of(reinterpret_cast<PyObject* const*>(entries.data()),
                    static_cast<Py_ssize_t>(entries.size()));
}

// Before Python 3.12 a class does not inherit vectorcall from its base. Its calls would go through
// a tuple and a dictionary, which costs more than all our checks. A class that defines
// `__call__` must not have it, or its own method would be passed over.
PyObject* init_subclass(PyObject* type, PyObject*, PyObject*) {
#if PY_VERSION_HEX < 0x030C0000
    auto* made = reinterpret_cast<PyTypeObject*>(type);
    if (made->tp_call == PyVectorcall_Call) made->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
#else
    static_cast<void>(type);
#endif
    Py_RETURN_NONE;
}

int traverse(PyObject* object, visitproc visit, void* arg) {
    Program* self = program_of(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->on_miss);
    Py_VISIT(self->on_reject);
    if (self->entries != nullptr) {
        for (Entry* entry : *self->entries) Py_VISIT(entry);
    }
    return self->watch == nullptr ? 0 : self->watch->traverse(visit, arg);
}

// The name and parameters are strings and cannot be part of a cycle: a program that was cleared
// can still be called, and answers with an error.
int clear(PyObject* object) {
    Program* self = program_of(object);
    PyObject* none = Py_None;
    Py_XSETREF(self->on_miss, Py_NewRef(none));
    Py_XSETREF(self->on_reject, Py_NewRef(none));
    if (self->watch != nullptr) self->watch->clear();
    if (self->entries != nullptr) drop_entries(self);
    return 0;
}

void deallocate(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    Program* self = program_of(object);
    if (self->weak_references != nullptr) PyObject_ClearWeakRefs(object);
    clear(object);
    Py_CLEAR(self->on_miss);
    Py_CLEAR(self->on_reject);
    Py_CLEAR(self->name);
    Py_CLEAR(self->parameters);
    delete self->names;
    delete self->entries;
    delete self->watch;
    type->tp_free(object);
    Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"add", add, METH_O, "Add a variant."},
    {"forget", forget, METH_NOARGS, "Drop all variants, and what is watched."},
    {"watch", watch, METH_VARARGS,
     "watch(triples, on_change): call `on_change()` before a call if a name of (namespace, name, "
     "object), or a cell of (cell, None, object), holds another object."},
    {"__init_subclass__",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(init_subclass)),
     METH_CLASS | METH_VARARGS | METH_KEYWORDS, "Let subclasses be called as fast."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Program, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Program, weak_references), READONLY, nullptr},
    {"name", T_OBJECT, offsetof(Program, name), READONLY, "Name for messages."},
    {"parameters", T_OBJECT, offsetof(Program, parameters), READONLY, "Names in order."},
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
    PyObject* type = PyType_FromSpec(&spec);
    if (type == nullptr) return -1;
    return PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type));
}

}  // namespace fieldforge
