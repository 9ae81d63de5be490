// `Recorder(slots, on_fallback)`: records the calls of a thread and replays them.
#include "sequence.h"

#include <structmember.h>

#include <memory>
#include <new>
#include <vector>

#include "callable.h"
#include "held.h"
#include "overlap.h"
#include "replay.h"

namespace fieldforge {
namespace {

constexpr size_t most_rounds = 8;  // time levels are two or three

struct Recorder {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject* slots;        // dictionary from the names to the recorded fields
    PyObject* on_fallback;  // on_fallback(fields, why): makes the calls the ordinary way
    std::vector<Recorded>* calls;
    std::vector<std::shared_ptr<const Round>>* rounds;
    size_t next;  // round to be replaced
    Arena* arena;
    bool has_others;  // calls of what is no native program
};

Recorder* recorder_of(PyObject* self) { return reinterpret_cast<Recorder*>(self); }

// --- recording ----------------------------------------------------------------------------------

bool take_down(Recorder* self, Program* program, PyObject* call, PyObject* arguments,
               PyObject* keywords, PyObject* provider) {
    try {
        self->calls->push_back({program, call, arguments, keywords, provider});
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory() != nullptr;
    }
    Py_INCREF(call);
    Py_INCREF(arguments);
    Py_XINCREF(keywords);
    Py_XINCREF(provider);
    self->has_others |= program == nullptr;
    return true;
}

PyObject* note(PyObject* object, PyObject* args) {
    PyObject *call, *arguments, *keywords;
    if (!PyArg_ParseTuple(args, "OO!O!:note", &call, &PyTuple_Type, &arguments, &PyDict_Type,
                          &keywords)) {
        return nullptr;
    }
    if (!take_down(recorder_of(object), nullptr, call, arguments, keywords, nullptr)) return nullptr;
    Py_RETURN_NONE;
}

PyObject* begin(PyObject* object, PyObject*) {
    if (wishes.recording != nullptr) {
        PyErr_SetString(PyExc_RuntimeError, "This thread is recording already.");
        return nullptr;
    }
    wishes.recording = object;
    Py_RETURN_NONE;
}

PyObject* end(PyObject* object, PyObject*) {
    if (wishes.recording == object) wishes.recording = nullptr;
    Py_RETURN_NONE;
}

// Pairs (number of a call, name of a slot) of arguments that are the field of a slot, and of those
// that are another view of its memory.
PyObject* survey(PyObject* object, PyObject*) {
    Recorder* self = recorder_of(object);
    const Held uses(PyList_New(0)), views(PyList_New(0));
    if (!uses || !views) return nullptr;
    for (size_t i = 0; i < self->calls->size(); ++i) {
        const Recorded& call = (*self->calls)[i];
        if (call.program == nullptr) continue;
        const auto prepared = prepare(call.program, call.bound(), {});
        if (prepared == nullptr) {
            PyErr_Clear();  // the first replay will say
            continue;
        }
        for (PyObject* argument : prepared->arguments()) {
            if (!is_field_view(argument)) continue;
            PyObject *name, *field;
            for (Py_ssize_t at = 0; PyDict_Next(self->slots, &at, &name, &field);) {
                const bool is_same = argument == field;
                if (!is_same && !share_memory(*reinterpret_cast<FieldView*>(argument),
                                              *reinterpret_cast<FieldView*>(field))) {
                    continue;
                }
                const Held pair(Py_BuildValue("nO", static_cast<Py_ssize_t>(i), name));
                if (!pair || PyList_Append((is_same ? uses : views).get(), pair.get()) < 0) {
                    return nullptr;
                }
            }
        }
    }
    return PyTuple_Pack(2, uses.get(), views.get());
}

// --- replaying ----------------------------------------------------------------------------------

// The fields of a call in the order of the slots; false with a Python error set.
bool fill_slots(Recorder* self, const Given& given, std::vector<Substitute>& fields) {
    if (given.positional > 0) {
        PyErr_SetString(PyExc_TypeError, "Fields are given to the slots of a sequence by name.");
        return false;
    }
    const Py_ssize_t keywords = given.keywords == nullptr ? 0 : PyTuple_GET_SIZE(given.keywords);
    for (Py_ssize_t i = 0; i < keywords; ++i) {
        PyObject* name = PyTuple_GET_ITEM(given.keywords, i);
        const int known = PyDict_Contains(self->slots, name);
        if (known < 0) return false;
        if (known == 0) {
            PyErr_Format(PyExc_TypeError, "The sequence has no slot '%U', its slots are %R.", name,
                         self->slots);
            return false;
        }
    }
    PyObject *name, *field;
    for (Py_ssize_t at = 0; PyDict_Next(self->slots, &at, &name, &field);) {
        PyObject* value = field;
        for (Py_ssize_t i = 0; i < keywords; ++i) {
            PyObject* keyword = PyTuple_GET_ITEM(given.keywords, i);
            if (keyword == name || PyUnicode_Compare(keyword, name) == 0) value = given.values[i];
        }
        fields.push_back({field, value});
    }
    return true;
}

// Makes the calls one by one through Python; steals `why`, None where nobody need be told.
PyObject* fall_back(Recorder* self, const std::vector<Substitute>& fields, PyObject* why) {
    const Held reason(why), given(PyDict_New());
    if (!reason || !given) return nullptr;
    PyObject *name, *field;
    size_t i = 0;
    for (Py_ssize_t at = 0; PyDict_Next(self->slots, &at, &name, &field); ++i) {
        if (PyDict_SetItem(given.get(), name, fields[i].given) < 0) return nullptr;
    }
    return PyObject_CallFunctionObjArgs(self->on_fallback, given.get(), reason.get(), nullptr);
}

// Why a call could not be prepared; takes the error that is set.
PyObject* reason_at(const Recorder* self, size_t place) {
    PyObject* name = (*self->calls)[place].program->signature.name;
    const auto number = static_cast<Py_ssize_t>(place);
    if (!PyErr_Occurred()) {
        return PyUnicode_FromFormat(
            "call %zd, of '%U', has no variant for these fields or tables", number, name);
    }
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject* why = PyUnicode_FromFormat("call %zd, of '%U': %S", number, name, value);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return why;
}

std::shared_ptr<const Round> find_round(Recorder* self, const std::vector<Substitute>& fields,
                                        size_t& place) {
    for (const auto& round : *self->rounds) {
        if (round->has(fields) && round->is_current(*self->calls)) return round;
    }
    auto made = Round::make(*self->calls, fields, place);
    if (made == nullptr) return nullptr;
    if (self->rounds->size() < most_rounds) {
        self->rounds->push_back(made);
    } else {
        std::shared_ptr<const Round> old = made;
        old.swap((*self->rounds)[self->next++ % most_rounds]);
    }
    return made;
}

PyObject* replay(Recorder* self, const Given& given) {
    std::vector<Substitute> fields;
    if (!fill_slots(self, given, fields)) return nullptr;
    if (wishes.recording != nullptr || is_observed.load(std::memory_order_relaxed)) {
        return fall_back(self, fields, Py_NewRef(Py_None));
    }
    if (self->has_others) {
        return fall_back(self, fields,
                         PyUnicode_FromString("it has calls that run in Python"));
    }
    for (const Recorded& call : *self->calls) {
        if (!call.program->watch->up_to_date()) return nullptr;
    }
    size_t place = 0;
    const auto round = find_round(self, fields, place);
    if (round == nullptr) return fall_back(self, fields, reason_at(self, place));
    const Refusal refusal = round->run(*self->arena, place);
    if (!refusal) Py_RETURN_NONE;
    const Recorded& failed = (*self->calls)[place];
    return refuse(failed.program, round->calls()[place]->entry(), failed.bound(), refusal);
}

PyObject* vectorcall(PyObject* callable, PyObject* const* values, size_t flags,
                     PyObject* keywords) noexcept {
    try {
        return replay(recorder_of(callable), {values, PyVectorcall_NARGS(flags), keywords});
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

// --- the type -----------------------------------------------------------------------------------

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    static const char* keywords[] = {"slots", "on_fallback", nullptr};
    PyObject *slots, *on_fallback;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O:Recorder", const_cast<char**>(keywords),
                                     &PyDict_Type, &slots, &on_fallback)) {
        return nullptr;
    }
    PyObject *name, *field;
    for (Py_ssize_t at = 0; PyDict_Next(slots, &at, &name, &field);) {
        if (!is_field_view(field) || !PyUnicode_Check(name)) {
            PyErr_Format(PyExc_TypeError, "Slot '%S' must be a field, got '%s'.", name,
                         Py_TYPE(field)->tp_name);
            return nullptr;
        }
    }
    const Held object(type->tp_alloc(type, 0));
    if (!object) return nullptr;
    Recorder* self = recorder_of(object.get());
    self->vectorcall = vectorcall;
    self->on_fallback = Py_NewRef(on_fallback);
    self->slots = PyDict_Copy(slots);
    if (self->slots == nullptr) return nullptr;
    try {
        self->calls = new std::vector<Recorded>;
        self->rounds = new std::vector<std::shared_ptr<const Round>>;
        self->arena = new Arena;
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
    return Py_NewRef(object.get());
}

int init(PyObject*, PyObject*, PyObject*) { return 0; }

// What rounds hold is not visited: a call in flight may share it. So a sequence in a cycle with
// its own fields lives on until it is cleared.
int traverse(PyObject* object, visitproc visit, void* arg) {
    Recorder* self = recorder_of(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->slots);
    Py_VISIT(self->on_fallback);
    if (self->calls == nullptr) return 0;
    for (const Recorded& call : *self->calls) {
        Py_VISIT(call.call);
        Py_VISIT(call.arguments);
        Py_VISIT(call.keywords);
        Py_VISIT(call.provider);
    }
    return 0;
}

void deallocate(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    Recorder* self = recorder_of(object);
    delete self->rounds;
    if (self->calls != nullptr) {
        for (const Recorded& call : *self->calls) {
            Py_DECREF(call.call);
            Py_DECREF(call.arguments);
            Py_XDECREF(call.keywords);
            Py_XDECREF(call.provider);
        }
    }
    delete self->calls;
    delete self->arena;
    Py_CLEAR(self->slots);
    Py_CLEAR(self->on_fallback);
    type->tp_free(object);
    Py_DECREF(type);
}

PyObject* optional(PyObject* object) { return object == nullptr ? Py_None : object; }

PyObject* get_calls(PyObject* object, void*) {
    const auto& calls = *recorder_of(object)->calls;
    PyObject* made = PyTuple_New(static_cast<Py_ssize_t>(calls.size()));
    for (size_t i = 0; made != nullptr && i < calls.size(); ++i) {
        const Recorded& call = calls[i];
        PyObject* row = PyTuple_Pack(4, call.call, call.arguments, optional(call.keywords),
                                     optional(call.provider));
        if (row == nullptr) Py_CLEAR(made);
        else PyTuple_SET_ITEM(made, static_cast<Py_ssize_t>(i), row);
    }
    return made;
}

PyObject* get_slots(PyObject* object, void*) { return PyDict_Copy(recorder_of(object)->slots); }

PyMethodDef methods[] = {
    {"begin", begin, METH_NOARGS, "Record the calls of this thread from now on."},
    {"end", end, METH_NOARGS, "Stop recording."},
    {"note", note, METH_VARARGS, "note(call, args, kwargs): take down a call made in Python."},
    {"survey", survey, METH_NOARGS,
     "Pairs (call, slot) of arguments that are a slot's field, and of other views of its memory."},
    fast_subclasses(),
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Recorder, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"calls", get_calls, nullptr, "Rows of callable, arguments, keywords, provider.", nullptr},
    {"slots", get_slots, nullptr, "The fields that were recorded, by name.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("Recorded calls: Recorder(slots, on_fallback).")},
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
    "fieldforge.runtime._core.Recorder",
    sizeof(Recorder),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE |
        Py_TPFLAGS_HAVE_VECTORCALL,
    slots,
};

PyObject* recording(PyObject*, PyObject*) { return Py_NewRef(optional(wishes.recording)); }

PyMethodDef functions[] = {
    {"recording", recording, METH_NOARGS, "The sequence that takes down calls, or None."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool record(PyObject* sequence, Program* program, const Bound& bound) {
    const Held arguments(tuple_of(bound.values, bound.count));
    if (!arguments) return false;
    return take_down(recorder_of(sequence), program, reinterpret_cast<PyObject*>(program),
                     arguments.get(), nullptr, bound.provider);
}

int add_sequence(PyObject* module) {
    PyObject* type = PyType_FromSpec(&spec);
    if (type == nullptr) return -1;
    if (PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type)) < 0) return -1;
    return PyModule_AddFunctions(module, functions);
}

}  // namespace fieldforge
