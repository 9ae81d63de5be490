// What a kernel is launched with: argument types known from a format, and their values.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <vector>

#include "objects.h"

namespace fieldforge::gpu {

struct LaunchArgument {
    char kind;  // as in the format; 's' is a structure of `size` bytes
    uint16_t size;
    uint32_t offset;
};

// What a launch needs besides its values; shared by a launcher and its bound calls.
struct PreparedLaunch {
    nb::object kernel_object;
    const Kernel* kernel;
    Dim3 grid, block;
    unsigned shared;
    bool cooperative;
    std::vector<LaunchArgument> arguments;
    std::vector<uint16_t> sizes;
    std::string kinds;
    uint32_t bytes = 0;
};

struct LaunchValues {
    std::vector<unsigned char> storage;
    std::vector<void*> params;
    explicit LaunchValues(const PreparedLaunch& plan) : storage(plan.bytes + 8), params(plan.arguments.size()) {
        for (size_t i = 0; i < params.size(); ++i) {
            params[i] = storage.data() + plan.arguments[i].offset;
        }
    }
};

// Reads the argument types of a format; false with a Python error set.
bool parse(PreparedLaunch& plan, const char* format);
// Takes the values of a call, and orders their memory on the stream; false with a Python error set.
bool read_values(const PreparedLaunch& plan, PyObject* const* given, Py_ssize_t count,
                 const StreamRef& stream, LaunchValues& values);
// The type of an argument whose kernel was not prepared: integers are of 8 bytes, as in CuPy.
char kind_for(PyObject* given);

}  // namespace fieldforge::gpu
