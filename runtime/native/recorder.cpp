// `Recorder(slots, on_fallback)`: takes down the calls of a thread; the Python type.
#include "recorder.h"

#include <structmember.h>

#include <algorithm>
#include <new>

#include "callable.h"
#include "held.h"
#include "overlap.h"
#include "scalar.h"
#include "sequence.h"

namespace fieldforge {
namespace {

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

bool add_pair(PyObject* list, size_t call, PyObject* slot) {
    const Held pair(Py_BuildValue("nO", static_cast<Py_ssize_t>(call), slot));
    return pair && PyList_Append(list, pair.get()) == 0;
}

// Adds the slots whose number is an argument; a static one is in no plan.
bool find_numbers(const Recorder* self, size_t place, PyObject* uses) {
    const Bound bound = (*self->calls)[place].bound();
    PyObject *name, *given;
    for (Py_ssize_t at = 0; PyDict_Next(self->slots, &at, &name, &given);) {
        if (is_field_view(given)) continue;
        const bool is_used =
            std::find(bound.values, bound.values + bound.count, given) != bound.values + bound.count;
        if (is_used && !add_pair(uses, place, name)) return false;
    }
    return true;
}

// Pairs (number of a call, name of a slot) of arguments that are the field or number of a slot, and
// of those that are another view of its memory.
PyObject* survey(PyObject* object, PyObject*) {
    Recorder* self = recorder_of(object);
    const Held uses(PyList_New(0)), views(PyList_New(0));
    if (!uses || !views) return nullptr;
    for (size_t i = 0; i < self->calls->size(); ++i) {
        const Recorded& call = (*self->calls)[i];
        if (call.program == nullptr) continue;
        if (!find_numbers(self, i, uses.get())) return nullptr;
        const auto prepared = prepare(call.program, call.bound(), {});
        if (prepared == nullptr) {
            PyErr_Clear();  // the first replay will say
            continue;
        }
        for (PyObject* argument : prepared->arguments()) {
            if (!is_field_view(argument)) continue;
            PyObject *name, *field;
            for (Py_ssize_t at = 0; PyDict_Next(self->slots, &at, &name, &field);) {
                if (!is_field_view(field)) continue;
                const bool is_same = argument == field;
                if (!is_same && !share_memory(*reinterpret_cast<FieldView*>(argument),
                                              *reinterpret_cast<FieldView*>(field))) {
                    continue;
                }
                if (!add_pair((is_same ? uses : views).get(), i, name)) return nullptr;
            }
        }
    }
    return PyTuple_Pack(2, uses.get(), views.get());
}

PyObject* make(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
    static const char* keywords[] = {"slots", "on_fallback", nullptr};
    PyObject *slots, *on_fallback;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O:Recorder", const_cast<char**>(keywords),
                                     &PyDict_Type, &slots, &on_fallback)) {
        return nullptr;
    }
    PyObject *name, *field;
    for (Py_ssize_t at = 0; PyDict_Next(slots, &at, &name, &field);) {
        if (!(is_field_view(field) || is_numpy_number(field)) || !PyUnicode_Check(name)) {
            PyErr_Format(PyExc_TypeError, "Slot '%S' must be a field or a number of NumPy, got '%s'.",
                         name, Py_TYPE(field)->tp_name);
            return nullptr;
        }
    }
    const Held object(type->tp_alloc(type, 0));
    if (!object) return nullptr;
    Recorder* self = recorder_of(object.get());
    self->vectorcall = vectorcall_recorder;
    self->on_fallback = Py_NewRef(on_fallback);
    self->most_ready = 8;
    self->slots = PyDict_Copy(slots);
    if (self->slots == nullptr) return nullptr;
    try {
        self->calls = new std::vector<Recorded>;
        self->rounds = new std::vector<std::shared_ptr<const Round>>;
        self->arena = new Arena(host_device);
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
    {"most_ready", T_PYSSIZET, offsetof(Recorder, most_ready), 0,
     "How many choices of fields for the slots stay ready, with the fields."},
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
