// The calls of a stencil: those with arguments as declared run here, all others in Python.
#include "stencil.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <new>
#include <vector>

#include "binding.h"
#include "held.h"
#include "interpreter_lock.h"
#include "wishes.h"

namespace fieldforge {
namespace {

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

// The argument of a field: a view of an array, or the field itself; null without an error for what
// Python has to look at.
PyObject* take_field(const Stencil* self, const Slot& slot, PyObject* name, PyObject* given,
                     const Origin& origin, Extent& extent, ArrayViews& views) {
    int64_t start[spatial_axes];
    PyObject* found = given;
    if (is_field_view(given)) {
        const auto& view = *reinterpret_cast<FieldView*>(given);
        if (!is_of(slot, view) || !origin.of_field(slot, name, view, start)) return nullptr;
    } else {
        if (!origin.of(slot, name, start)) return nullptr;
        found = view_of_argument(slot, given, start, views, self->fields);
        if (found == nullptr) return nullptr;
    }
    return extent.has_room(slot, *reinterpret_cast<FieldView*>(found), start) ? found : nullptr;
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
        PyObject* name = PyTuple_GET_ITEM(self->arguments, static_cast<Py_ssize_t>(i));
        if (slot.dims != nullptr) {
            value = take_field(self, slot, name, value, origin, extent, views);
            if (value == nullptr) return 0;
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
        // Whatever `validate_args` says, the checks here are made: Python skips them where one fails.
        PyObject* times = values.option(option_exec_info);
        if (times == Py_None) times = nullptr;
        // Python writes the times of a call; those of `run` are two.
        const bool is_plain = times == nullptr || (is_run && PyDict_CheckExact(times));
        const int done = is_plain ? run_natively(self, values, times) : 0;
        if (done > 0 && self->waits != 0) return in_python(object, "_wait", {nullptr, 0, nullptr});
        if (done > 0) Py_RETURN_NONE;
        if (done < 0) return nullptr;
    }
    return in_python(object, method, given);
}

}  // namespace

PyObject* vectorcall_stencil(PyObject* object, PyObject* const* values, size_t flags,
                     PyObject* keywords) noexcept {
    try {
        return make_call(object, {values, PyVectorcall_NARGS(flags), keywords}, false);
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

// Arguments by position would be the options, which Python sorts.
PyObject* run_stencil(PyObject* object, PyObject* const* values, Py_ssize_t count, PyObject* keywords) {
    const Given given{values, count, keywords};
    try {
        if (count > 0) return in_python(object, "_run_in_python", given);
        return make_call(object, given, true);
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

}  // namespace fieldforge
