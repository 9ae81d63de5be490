// The calls of a stencil: those with arguments as declared run here, all others in Python.
#include "stencil.h"

#include <structmember.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <vector>

#include "binding.h"
#include "callable.h"
#include "held.h"
#include "program.h"
#include "stencil_arguments.h"
#include "wishes.h"

namespace fieldforge {
namespace {

constexpr size_t most_arguments = 160;

// What a call may give beside the arguments, in the order of `options`.
enum Option { option_domain, option_origin, option_exec_info, option_validate_args, option_count };

struct Stencil {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    Program* program;
    PyObject* arguments;   // names, interned
    PyObject* call_names;  // the same, then the options of a call
    PyObject* run_names;   // the same, then those of `run`
    Names* of_call;
    Names* of_run;
    Py_ssize_t positional;             // arguments that may be given by position
    std::vector<PyObject*>* defaults;  // owned; null where there is none
    std::vector<Slot>* slots;
    size_t fields;
    int64_t least_levels;
    int waits;  // whether a call waits for the device
    PyObject* weak_references;
};

Stencil* stencil_of(PyObject* self) { return reinterpret_cast<Stencil*>(self); }

// The arguments of a call in order, and its options.
struct Values {
    std::array<PyObject*, most_arguments + option_count> all;
    size_t count;
    PyObject* option(Option which) const { return all[count + which]; }
};

// False without an error where the arguments do not fit the names.
bool sort(const Stencil* self, const Given& given, const Names& names, Values& into) {
    into.count = self->slots->size();
    if (given.positional > self->positional) return false;
    std::copy_n(given.values, given.positional, into.all.begin());
    std::fill(into.all.begin() + given.positional, into.all.begin() + into.count + option_count, nullptr);
    const Py_ssize_t keywords = given.keywords == nullptr ? 0 : PyTuple_GET_SIZE(given.keywords);
    for (Py_ssize_t i = 0; i < keywords; ++i) {
        const int32_t index = names.find(PyTuple_GET_ITEM(given.keywords, i));
        if (index < 0 || into.all[index] != nullptr) return false;
        into.all[index] = given.values[given.positional + i];
    }
    for (size_t i = 0; i < into.count; ++i) {
        if (into.all[i] == nullptr) into.all[i] = (*self->defaults)[i];
        if (into.all[i] == nullptr) return false;
    }
    return true;
}

// Whether a call can be made here at all: nobody watches, records or checks calls.
bool is_undisturbed(const Stencil* self) {
    return wishes.recording == nullptr && self->program->python_call == nullptr &&
           !is_observed.load(std::memory_order_relaxed);
}

bool have_numbers(const Stencil* self, const Values& values) {
    for (size_t i = 0; i < values.count; ++i) {
        const Slot& slot = (*self->slots)[i];
        if (slot.place < 0 || slot.dims != nullptr) continue;
        if (!is_exactly(values.all[i], slot.dtype)) return false;
    }
    return true;
}

// Writes the time into the dictionary `exec_info`; false with an error set.
bool note(PyObject* times, std::initializer_list<const char*> names) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const Held seconds(PyFloat_FromDouble(std::chrono::duration<double>(now).count()));
    if (!seconds) return false;
    for (const char* name : names) {
        if (PyDict_SetItemString(times, name, seconds.get()) < 0) return false;
    }
    return true;
}

int run_timed(Program* program, const Bound& bound, PyObject* times) {
    if (!note(times, {"run_start_time", "run_cpp_start_time"})) return -1;
    const int done = try_call(program, bound);
    if (done > 0 && !note(times, {"run_cpp_end_time", "run_end_time"})) return -1;
    return done;
}

// Runs the program: 1. 0 where Python has to make the call, -1 with an error set. `times` may be null.
int run_natively(const Stencil* self, const Values& values, PyObject* times) {
    Origin origin;
    Extent extent;
    if (!origin.read(values.option(option_origin)) || !extent.read(values.option(option_domain))) return 0;
    if (!have_numbers(self, values)) return 0;
    ArrayViews views;
    std::array<PyObject*, most_arguments + spatial_axes> bound;
    size_t used = 0;
    for (size_t i = 0; i < values.count; ++i) {
        const Slot& slot = (*self->slots)[i];
        if (slot.place < 0) continue;
        PyObject* value = values.all[i];
        if (slot.dims != nullptr) {
            int64_t start[spatial_axes];
            if (!origin.of(slot, PyTuple_GET_ITEM(self->arguments, static_cast<Py_ssize_t>(i)), start)) {
                return 0;
            }
            value = view_of_argument(slot, value, start, views, self->fields);
            if (value == nullptr) return 0;
            if (!extent.has_room(slot, *reinterpret_cast<FieldView*>(value), start)) return 0;
        }
        bound[slot.place] = value;
        ++used;
    }
    if (!extent.settle(self->least_levels)) return 0;
    const int64_t* sizes = extent.sizes();
    const Held ni(PyLong_FromLongLong(sizes[0])), nj(PyLong_FromLongLong(sizes[1])),
        nk(PyLong_FromLongLong(sizes[2]));
    if (!ni || !nj || !nk) return -1;
    for (const Held* size : {&ni, &nj, &nk}) bound[used++] = size->get();
    const Bound ordered{bound.data(), static_cast<Py_ssize_t>(used)};
    return times == nullptr ? try_call(self->program, ordered) : run_timed(self->program, ordered, times);
}

PyObject* in_python(PyObject* object, const char* method, const Given& given) {
    PyErr_Clear();  // a lookup may have failed; Python looks again
    const Held call(PyObject_GetAttrString(object, method));
    if (!call) return nullptr;
    return sleep_at_exit([&] {
        return PyObject_Vectorcall(call.get(), given.values, static_cast<size_t>(given.positional),
                                   given.keywords);
    });
}

PyObject* make_call(PyObject* object, const Given& given, bool is_run) {
    const Stencil* self = stencil_of(object);
    const Names& names = is_run ? *self->of_run : *self->of_call;
    const char* method = is_run ? "_run_in_python" : "_call_in_python";
    Values values;
    if (is_undisturbed(self) && sort(self, given, names, values)) {
        PyObject* checks = values.option(option_validate_args);
        PyObject* times = values.option(option_exec_info);
        if (times == Py_None) times = nullptr;
        // Python writes the times of a call; those of `run` are two.
        const bool is_plain = (checks == nullptr || checks == Py_True) &&
                              (times == nullptr || (is_run && PyDict_CheckExact(times)));
        const int done = is_plain ? run_natively(self, values, times) : 0;
        if (done > 0 && self->waits != 0) return in_python(object, "_wait", {nullptr, 0, nullptr});
        if (done > 0) Py_RETURN_NONE;
        if (done < 0) return nullptr;
    }
    return in_python(object, method, given);
}

PyObject* vectorcall(PyObject* object, PyObject* const* values, size_t flags,
                     PyObject* keywords) noexcept {
    try {
        return make_call(object, {values, PyVectorcall_NARGS(flags), keywords}, false);
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

// Arguments by position would be the options, which Python sorts.
PyObject* run(PyObject* object, PyObject* const* values, Py_ssize_t count, PyObject* keywords) {
    const Given given{values, count, keywords};
    try {
        if (count > 0) return in_python(object, "_run_in_python", given);
        return make_call(object, given, true);
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

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
    self->vectorcall = vectorcall;
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
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run)),
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
