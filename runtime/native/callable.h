// What types that are called through vectorcall have in common.
#pragma once

#include <Python.h>

#include "interpreter_lock.h"

namespace fieldforge {

// Before Python 3.12 a class does not inherit vectorcall from its base. Its calls would go through
// a tuple and a dictionary, which costs more than all our checks. A class that defines
// `__call__` must not have it, or its own method would be passed over.
inline PyObject* init_subclass(PyObject* type, PyObject*, PyObject*) {
#if PY_VERSION_HEX < 0x030C0000
    auto* made = reinterpret_cast<PyTypeObject*>(type);
    if (made->tp_call == PyVectorcall_Call) made->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
#else
    static_cast<void>(type);
#endif
    Py_RETURN_NONE;
}

inline PyMethodDef fast_subclasses() {
    return {"__init_subclass__",
            reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(init_subclass)),
            METH_CLASS | METH_VARARGS | METH_KEYWORDS, "Let subclasses be called as fast."};
}

// Calls with arguments by name, as anybody would.
inline PyObject* call_by_name(PyObject* callable, PyObject* kwargs) {
    PyObject* nothing = PyTuple_New(0);
    if (nothing == nullptr) return nullptr;
    PyObject* result = sleep_at_exit([&] { return PyObject_Call(callable, nothing, kwargs); });
    Py_DECREF(nothing);
    return result;
}

}  // namespace fieldforge
