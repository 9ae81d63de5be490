// A call: bind the arguments, take the first entry that fits, run it; ask for one if none does.
#include "program.h"

#include <algorithm>
#include <array>
#include <new>

#include "held.h"
#include "interpreter_lock.h"
#include "sequence.h"

namespace fieldforge {
namespace {

enum class Outcome { done, failed, no_fit };

constexpr int most_asks = 16;

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

// The entry for a call that leads out of a field, maybe built now; null with an error set.
PyObject* entry_beyond(const Entry* entry) {
    if (entry->beyond == nullptr) {
        PyErr_SetString(PyExc_RuntimeError,
                        "The call reads beyond a field, and its entry has no other for such calls.");
        return nullptr;
    }
    const Held build(Py_NewRef(entry->beyond));
    PyObject* found = sleep_at_exit([&] { return PyObject_CallNoArgs(build.get()); });
    if (found == nullptr || PyObject_TypeCheck(found, entry_type)) return found;
    Py_DECREF(found);
    PyErr_SetString(PyExc_TypeError, "'Entry.beyond' must return an Entry.");
    return nullptr;
}

Outcome call_entry(Program* self, Entry* entry, const Bound& bound) {
    Refusal refusal;
    bool is_beyond = false;
    {
        Frame frame(*entry->plan);
        refusal = frame.flatten(bound.values, bound.provider);
        if (!refusal) {
            if (!frame.fits()) return Outcome::no_fit;
            refusal = frame.check();
            is_beyond = frame.is_beyond();
        }
        if (!refusal && !is_beyond) refusal = frame.run(*entry);
    }
    if (refusal) {
        refuse(self, entry, bound, refusal);
        return Outcome::failed;
    }
    if (!is_beyond) return Outcome::done;
    const Held other(entry_beyond(entry));
    return other ? call_entry(self, reinterpret_cast<Entry*>(other.get()), bound) : Outcome::failed;
}

// By index: looking into a dataclass or at an odd number may run Python code, and that may add or
// drop an entry.
template <typename Try>
Outcome first_fit(Program* self, const Bound& bound, const Try& attempt) {
    for (size_t i = 0; i < self->variants->size(); ++i) {
        auto& values = (*self->variants)[i].values;
        if (!have_values(values, bound.values, self->generation)) continue;
        Entry* entry = (*self->variants)[i].entry;
        const Held held(Py_NewRef(reinterpret_cast<PyObject*>(entry)));
        const Outcome outcome = attempt(entry);
        if (outcome != Outcome::no_fit) return outcome;
    }
    return Outcome::no_fit;
}

Outcome call_first_fit(Program* self, const Bound& bound) {
    return first_fit(self, bound, [&](Entry* entry) { return call_entry(self, entry, bound); });
}

// No variant fits: Python compiles one and adds it; false with an error set.
bool ask_for_entry(Program* self, PyObject* args, PyObject* kwargs) {
    const Held result(sleep_at_exit(
        [&] { return PyObject_CallFunctionObjArgs(self->on_miss, args, kwargs, nullptr); }));
    return static_cast<bool>(result);
}

bool ask_for_given(Program* self, const Given& given) {
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
    return ask_for_entry(self, args.get(), kwargs.get());
}

bool ask_for_bound(Program* self, const Bound& bound) {
    const Held args(tuple_of(bound.values, bound.count));
    const Held kwargs(PyDict_New());
    if (!args || !kwargs) return false;
    if (bound.provider != nullptr &&
        PyDict_SetItemString(kwargs.get(), "offset_provider", bound.provider) < 0) {
        return false;
    }
    return ask_for_entry(self, args.get(), kwargs.get());
}

template <typename Ask>
PyObject* call_or_ask(Program* self, const Bound& bound, const Ask& ask) {
    Outcome outcome = call_first_fit(self, bound);
    // Another thread may drop what was added before it is used; then it is asked for anew.
    for (int again = 0; outcome == Outcome::no_fit && again < most_asks; ++again) {
        const uint64_t before = self->generation;
        if (!ask()) return nullptr;
        outcome = call_first_fit(self, bound);
        if (self->generation == before) break;
    }
    if (outcome == Outcome::done) {
        if (wishes.recording != nullptr && !record(wishes.recording, self, bound)) return nullptr;
        Py_RETURN_NONE;
    }
    if (outcome == Outcome::no_fit) {
        PyErr_Format(PyExc_RuntimeError, "'on_miss' of '%U' added no entry that fits the call.",
                     self->signature.name);
    }
    return nullptr;
}

PyObject* call_bound(Program* self, const Given& given, const Bound& bound) {
    return call_or_ask(self, bound, [&] { return ask_for_given(self, given); });
}

PyObject* call_given(Program* self, const Given& given, Bound bound) {
    if (!self->watch->up_to_date() || !bind(self->signature, given, bound)) return nullptr;
    return call_bound(self, given, bound);
}

// An operator is called with its output by name; any other call is not for us.
PyObject* call_or_defer(Program* self, const Given& given, Bound bound) {
    if (!self->watch->up_to_date()) return nullptr;
    if (given.positional < bound.count && bind(self->signature, given, bound, true) &&
        bound.values[bound.count - 1] != Py_None) {
        return call_bound(self, given, bound);
    }
    if (PyErr_Occurred()) return nullptr;
    const Held otherwise(Py_NewRef(self->otherwise));
    return sleep_at_exit([&] {
        return PyObject_Vectorcall(otherwise.get(), given.values,
                                   static_cast<size_t>(given.positional), given.keywords);
    });
}

Outcome prepare_entry(Program* self, Entry* entry, const Bound& bound,
                      const std::vector<Substitute>& substitutes,
                      std::shared_ptr<const Prepared>& made) {
    {
        Frame frame(*entry->plan);
        Refusal refusal = frame.flatten(bound.values, bound.provider);
        if (!refusal) {
            frame.substitute(substitutes);
            if (!frame.fits()) return Outcome::no_fit;
            refusal = frame.check();
        }
        if (refusal) {
            refuse(self, entry, bound, refusal);
            return Outcome::failed;
        }
        if (!frame.is_beyond()) {
            made = frame.keep(entry);
            return Outcome::done;
        }
    }
    const Held other(entry_beyond(entry));
    if (!other) return Outcome::failed;
    return prepare_entry(self, reinterpret_cast<Entry*>(other.get()), bound, substitutes, made);
}

template <typename Call>
PyObject* with_room(Program* self, const Given& given, const Call& call) {
    const Py_ssize_t count = PyTuple_GET_SIZE(self->signature.parameters);
    try {
        std::array<PyObject*, 64> few;
        if (count <= static_cast<Py_ssize_t>(few.size())) {
            return call(self, given, Bound{few.data(), count});
        }
        std::vector<PyObject*> many(static_cast<size_t>(count));
        return call(self, given, Bound{many.data(), count});
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

}  // namespace

PyObject* refuse(Program* self, const Entry* entry, const Bound& bound, const Refusal& refusal) {
    if (PyErr_Occurred()) return nullptr;
    const Held arguments(shown(entry, bound));
    return reject(self->signature, entry->source, arguments.get(), refusal.reason,
                  tuple_of(refusal.detail));
}

PyObject* call_ordered(Program* self, const Bound& bound) {
    if (!self->watch->up_to_date()) return nullptr;
    return call_or_ask(self, bound, [&] { return ask_for_bound(self, bound); });
}

int try_call(Program* self, const Bound& bound) {
    if (!self->watch->up_to_date()) return -1;
    const Outcome outcome = first_fit(self, bound, [&](Entry* entry) {
        Frame frame(*entry->plan);
        if (frame.flatten(bound.values, bound.provider)) return Outcome::failed;
        if (!frame.fits()) return Outcome::no_fit;
        if (frame.check() || frame.is_beyond()) return Outcome::failed;
        return frame.run(*entry) ? Outcome::failed : Outcome::done;
    });
    if (outcome == Outcome::done) return 1;
    return PyErr_Occurred() ? -1 : 0;
}

PyObject* call_program(Program* self, const Given& given) noexcept {
    return with_room(self, given, call_given);
}

PyObject* vectorcall_program(PyObject* callable, PyObject* const* values, size_t flags,
                             PyObject* keywords) noexcept {
    Program* self = program_of(callable);
    const Given given{values, PyVectorcall_NARGS(flags), keywords};
    return self->otherwise == nullptr ? call_program(self, given)
                                      : with_room(self, given, call_or_defer);
}

std::shared_ptr<const Prepared> prepare(Program* self, const Bound& bound,
                                        const std::vector<Substitute>& substitutes) {
    // Parameters are exchanged before static values are compared, elements of tuples after.
    std::vector<PyObject*> given(bound.values, bound.values + bound.count);
    for (PyObject*& value : given) {
        const auto found = std::find_if(substitutes.begin(), substitutes.end(),
                                        [&](const Substitute& each) { return each.recorded == value; });
        if (found != substitutes.end()) value = found->given;
    }
    const Bound exchanged{given.data(), bound.count, bound.provider};
    std::shared_ptr<const Prepared> made;
    first_fit(self, exchanged, [&](Entry* entry) {
        return prepare_entry(self, entry, exchanged, substitutes, made);
    });
    return made;
}

}  // namespace fieldforge
