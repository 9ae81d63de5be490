// A replay: find the round for the fields that are given, make one if need be, run it.
#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "held.h"
#include "interpreter_lock.h"
#include "recorder.h"

namespace fieldforge {
namespace {

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
    return sleep_at_exit([&] {
        return PyObject_CallFunctionObjArgs(self->on_fallback, given.get(), reason.get(), nullptr);
    });
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
    if (self->rounds->size() < static_cast<size_t>(std::max<Py_ssize_t>(1, self->most_ready))) {
        self->rounds->push_back(made);
    } else {
        std::shared_ptr<const Round> old = made;
        old.swap((*self->rounds)[self->next++ % self->rounds->size()]);
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

}  // namespace

PyObject* vectorcall_recorder(PyObject* callable, PyObject* const* values, size_t flags,
                              PyObject* keywords) noexcept {
    try {
        return replay(recorder_of(callable), {values, PyVectorcall_NARGS(flags), keywords});
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

}  // namespace fieldforge
