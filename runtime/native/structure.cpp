// Elements of tuples by index, of dataclasses by the name of the field with that index.
#include "structure.h"

#include <unordered_map>

namespace fieldforge {
namespace {

// The names of the fields of a dataclass, or null with a Python error set.
PyObject* ask_field_names(PyTypeObject* type) {
    PyObject* module = PyImport_ImportModule("dataclasses");
    if (module == nullptr) return nullptr;
    PyObject* fields = PyObject_CallMethod(module, "fields", "O", type);
    Py_DECREF(module);
    if (fields == nullptr) return nullptr;
    const Py_ssize_t count = PyTuple_GET_SIZE(fields);
    PyObject* names = PyTuple_New(count);
    for (Py_ssize_t i = 0; names != nullptr && i < count; ++i) {
        PyObject* name = PyObject_GetAttrString(PyTuple_GET_ITEM(fields, i), "name");
        if (name == nullptr) Py_CLEAR(names);
        else PyTuple_SET_ITEM(names, i, name);
    }
    Py_DECREF(fields);
    return names;
}

// Classes are few and live as long as the module that defines them, so the answers are kept,
// and the classes with them: the address of a class that is gone might be used again.
PyObject* field_names(PyTypeObject* type) {
    static auto& known = *new std::unordered_map<PyTypeObject*, PyObject*>;
    if (const auto found = known.find(type); found != known.end()) return found->second;
    PyObject* names = ask_field_names(type);
    if (names == nullptr) return nullptr;
    Py_INCREF(type);
    // Python code has run since the search: another thread may have been faster.
    const auto [kept, is_new] = known.emplace(type, names);
    if (!is_new) Py_DECREF(names);
    return kept->second;
}

PyObject* element(PyObject* value, const Step& step) {
    if (PyTuple_Check(value)) {
        if (PyTuple_GET_SIZE(value) != step.count) return nullptr;
        return Py_NewRef(PyTuple_GET_ITEM(value, step.index));
    }
    PyObject* names = field_names(Py_TYPE(value));
    if (names == nullptr || PyTuple_GET_SIZE(names) != step.count) return nullptr;
    return PyObject_GetAttr(value, PyTuple_GET_ITEM(names, step.index));
}

}  // namespace

PyObject* walk(PyObject* value, const std::vector<Step>& steps, int64_t& depth) {
    PyObject* current = Py_NewRef(value);
    depth = 0;
    for (const Step& step : steps) {
        PyObject* next = element(current, step);
        Py_DECREF(current);
        if (next == nullptr) {
            PyErr_Clear();
            return nullptr;
        }
        current = next;
        ++depth;
    }
    return current;
}

}  // namespace fieldforge
