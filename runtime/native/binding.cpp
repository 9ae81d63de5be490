// Bind arguments by position, then by keyword; keywords mostly follow the order of parameters.
#include "binding.h"

#include <algorithm>
#include <new>

#include "held.h"
#include "interpreter_lock.h"

namespace fieldforge {
namespace {

// Arguments that do not fit the parameters: there is no plan yet, so the detail begins with the
// name of the program and its parameters.
PyObject* reject_binding(const Signature& signature, Reason reason, PyObject* detail) {
    if (detail == nullptr) return nullptr;
    const Held nothing(PyTuple_New(0));
    return reject(signature, Py_None, nothing.get(), reason,
                  Py_BuildValue("OON", signature.name, signature.parameters, detail));
}

PyObject* reject_missing(const Signature& signature, PyObject* const* bound, Py_ssize_t count) {
    std::vector<int64_t> missing;
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (bound[i] == nullptr) missing.push_back(i);
    }
    return reject_binding(signature, Reason::missing, tuple_of(missing));
}

// An interned copy of the names.
PyObject* intern_all(PyObject* names) {
    const Held tuple(PySequence_Tuple(names));
    if (!tuple) return nullptr;
    const Py_ssize_t count = PyTuple_GET_SIZE(tuple.get());
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(tuple.get(), i))) {
            PyErr_SetString(PyExc_TypeError, "The names of parameters are strings.");
            return nullptr;
        }
    }
    PyObject* interned = PyTuple_New(count);
    for (Py_ssize_t i = 0; interned != nullptr && i < count; ++i) {
        PyObject* name = Py_NewRef(PyTuple_GET_ITEM(tuple.get(), i));
        PyUnicode_InternInPlace(&name);
        PyTuple_SET_ITEM(interned, i, name);
    }
    return interned;
}

}  // namespace

bool bind(const Signature& signature, const Given& given, Bound& into, bool quietly) {
    PyObject** const bound = into.values;
    const Py_ssize_t count = into.count;
    if (given.positional > count) {
        if (quietly) return false;
        reject_binding(signature, Reason::too_many, PyLong_FromSsize_t(given.positional));
        return false;
    }
    std::copy_n(given.values, given.positional, bound);
    std::fill(bound + given.positional, bound + count, nullptr);
    Py_ssize_t filled = given.positional;
    const Py_ssize_t keywords = given.keywords == nullptr ? 0 : PyTuple_GET_SIZE(given.keywords);
    for (Py_ssize_t i = 0; i < keywords; ++i) {
        PyObject* name = PyTuple_GET_ITEM(given.keywords, i);
        const bool in_order =
            filled < count && PyTuple_GET_ITEM(signature.parameters, filled) == name;
        const int32_t index =
            in_order ? static_cast<int32_t>(filled) : signature.names->find(name);
        if (index < 0) {
            if (index == Keyword::failed || (index == Keyword::unknown && quietly)) return false;
            if (index == Keyword::unknown) {
                reject_binding(signature, Reason::unknown_name, Py_NewRef(name));
                return false;
            }
            if (index == Keyword::offset_provider) {
                into.provider = given.values[given.positional + i];
            }
            continue;
        }
        if (bound[index] != nullptr) {
            if (quietly) return false;
            reject_binding(signature, Reason::repeated, Py_NewRef(name));
            return false;
        }
        bound[index] = given.values[given.positional + i];
        ++filled;
    }
    if (filled != count && !quietly) reject_missing(signature, bound, count);
    return filled == count;
}

PyObject* reject(const Signature& signature, PyObject* plan, PyObject* arguments, Reason reason,
                 PyObject* detail) {
    const Held held(detail);
    if (detail == nullptr || arguments == nullptr) return nullptr;
    const Held result(sleep_at_exit([&] {
        return PyObject_CallFunction(signature.on_reject, "OOiO", plan, arguments,
                                     static_cast<int>(reason), detail);
    }));
    if (result) PyErr_SetString(PyExc_RuntimeError, "'on_reject' must raise.");
    return nullptr;
}

bool set_signature(Signature& signature, PyObject* name, PyObject* parameters,
                   PyObject* on_reject) {
    signature.parameters = intern_all(parameters);
    if (signature.parameters == nullptr) return false;
    signature.name = Py_NewRef(name);
    signature.on_reject = Py_NewRef(on_reject);
    signature.names = new (std::nothrow) Names;
    if (signature.names == nullptr) return PyErr_NoMemory() != nullptr;
    return signature.names->set(signature.parameters);
}

void clear_signature(Signature& signature) {
    Py_CLEAR(signature.name);
    Py_CLEAR(signature.parameters);
    Py_CLEAR(signature.on_reject);
    delete signature.names;
    signature.names = nullptr;
}

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

}  // namespace fieldforge
