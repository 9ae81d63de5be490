// The element types of fields and scalars.
#pragma once

#include <Python.h>

#include <cstdint>

namespace fieldforge {

// The order is that of `runtime.language.types.SCALARS`; `none` marks a view that was never set up.
enum class DType : uint8_t {
    none,
    bool_,
    int8,
    uint8,
    int16,
    uint16,
    int32,
    uint32,
    int64,
    uint64,
    float32,
    float64,
};

const char* dtype_name(DType dtype);
DType dtype_from_name(const char* name);  // `none` if there is no such dtype
DType dtype_from_format(const char* format, Py_ssize_t itemsize);  // of the struct module
int dtype_shift(DType dtype);             // log2 of the item size

}  // namespace fieldforge
