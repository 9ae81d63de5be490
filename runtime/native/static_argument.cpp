// Zeros have signs, and NaN is itself: what is compiled in tells them apart.
#include "static_argument.h"

#include <cmath>
#include <cstring>

#include "held.h"

namespace fieldforge {
namespace {

bool equal_floats(PyObject* one, PyObject* other) {
    const double a = PyFloat_AS_DOUBLE(one), b = PyFloat_AS_DOUBLE(other);
    return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

// 1 if the values are equal, 0 if not, -1 where Python has to say.
int compare(PyObject* value, PyObject* given) {
    if (PyFloat_CheckExact(given)) return PyFloat_CheckExact(value) ? equal_floats(value, given) : -1;
    if (PyBool_Check(given)) return PyBool_Check(value) ? value == given : -1;
    if (!PyLong_CheckExact(given) || !PyLong_CheckExact(value)) return -1;
    return PyObject_RichCompareBool(value, given, Py_EQ);
}

}  // namespace

bool has_value(StaticArgument& wanted, PyObject* given, const uint64_t& generation) {
    const uint64_t before = generation;
    int found = compare(wanted.value, given);
    if (found < 0) {
        PyErr_Clear();
        const Held same(Py_NewRef(wanted.same));
        const Held answer(PyObject_CallOneArg(same.get(), given));
        if (!answer) PyErr_Clear();
        found = answer && PyObject_IsTrue(answer.get()) == 1;
        // a collection might hold another number next time
        if (found == 0 || generation != before || !PyNumber_Check(given)) return found == 1;
    }
    if (found == 1) {
        const Held last(wanted.seen);  // given back at the end, which may run any code
        wanted.seen = Py_NewRef(given);
    }
    return found == 1;
}

bool read_static(PyObject* rows, Py_ssize_t parameters, std::vector<StaticArgument>& into) {
    const Held tuple(PySequence_Tuple(rows));
    if (!tuple) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.get()); ++i) {
        int parameter;
        PyObject *value, *same;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(tuple.get(), i), "iOO", &parameter, &value, &same)) {
            return false;
        }
        if (parameter < 0 || parameter >= parameters) {
            PyErr_Format(PyExc_ValueError, "There is no parameter %d.", parameter);
            return false;
        }
        into.push_back({parameter, Py_NewRef(value), Py_NewRef(same), Py_NewRef(value)});
    }
    return true;
}

void drop_static(std::vector<StaticArgument>& arguments) {
    std::vector<StaticArgument> dropped;
    dropped.swap(arguments);
    for (const StaticArgument& each : dropped) {
        Py_DECREF(each.value);
        Py_DECREF(each.same);
        Py_DECREF(each.seen);
    }
}

}  // namespace fieldforge
