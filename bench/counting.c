// Calls a Python object again and again from C while callgrind counts; see bench/count.py.
#include <Python.h>
#include <valgrind/callgrind.h>

// As a call written in Python would be: values, then those of the keywords; null if a call fails.
PyObject* count(PyObject* callable, PyObject* values, PyObject* keywords, long times,
                const char* label) {
    PyObject* const* first = &PyTuple_GET_ITEM(values, 0);
    PyObject* const names = PyTuple_GET_SIZE(keywords) > 0 ? keywords : NULL;
    const size_t positional = PyTuple_GET_SIZE(values) - PyTuple_GET_SIZE(keywords);
    PyObject* result = NULL;
    CALLGRIND_START_INSTRUMENTATION;
    for (long i = 0; i <= times; ++i) {
        if (i == 1) CALLGRIND_ZERO_STATS;  // the first call fills caches
        Py_XDECREF(result);
        result = PyObject_Vectorcall(callable, first, positional, names);
        if (result == NULL) break;
    }
    CALLGRIND_DUMP_STATS_AT(label);
    CALLGRIND_STOP_INSTRUMENTATION;
    return result;
}
