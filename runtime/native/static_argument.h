// Compare an argument with the value that was compiled in.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

namespace fieldforge {

// References are owned. `seen` is the last object that had the value: mostly it comes again, and as
// it is held, its address means nothing else.
struct StaticArgument {
    int32_t parameter;
    PyObject* value;
    PyObject* same;  // same(given) -> bool, for what is neither a float nor an int nor a bool
    PyObject* seen;
};

// Compares by value, for an object that was not seen last; an error of Python code counts as "no"
// and is cleared. `generation` counts changes of whatever holds `wanted`.
bool has_value(StaticArgument& wanted, PyObject* given, const uint64_t& generation);

// Compares identity first, then the value. Python code of `same` may change the owner of
// `wanted`; then the answer is no.
inline bool have_values(std::vector<StaticArgument>& wanted, PyObject* const* arguments,
                        const uint64_t& generation) {
    const uint64_t before = generation;
    for (StaticArgument& each : wanted) {
        PyObject* given = arguments[each.parameter];
        if (given == each.seen) continue;
        if (!has_value(each, given, generation)) return false;
        if (generation != before) return false;
    }
    return true;
}

// From rows (parameter, value, same); false with a Python error set.
bool read_static(PyObject* rows, Py_ssize_t parameters, std::vector<StaticArgument>& into);
void drop_static(std::vector<StaticArgument>& arguments);

}  // namespace fieldforge
