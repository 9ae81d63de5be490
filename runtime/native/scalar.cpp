// Which Python and NumPy numbers are which dtype, and how to get at their value.
#include "scalar.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include "held.h"

namespace fieldforge {
namespace {

struct NumpyType {
    const char* name;
    PyTypeObject* type;
    DType dtype;
};

// `longlong` and its like are types of their own beside the sized names.
NumpyType numpy_types[] = {
    {"float64", nullptr, DType::none},   {"float32", nullptr, DType::none},
    {"int32", nullptr, DType::none},     {"int64", nullptr, DType::none},
    {"bool_", nullptr, DType::none},     {"int8", nullptr, DType::none},
    {"uint8", nullptr, DType::none},     {"int16", nullptr, DType::none},
    {"uint16", nullptr, DType::none},    {"uint32", nullptr, DType::none},
    {"uint64", nullptr, DType::none},    {"intc", nullptr, DType::none},
    {"uintc", nullptr, DType::none},     {"longlong", nullptr, DType::none},
    {"ulonglong", nullptr, DType::none},
};

PyTypeObject* enum_meta = nullptr;

template <typename Number>
Taken store(long long value, void* slot) {
    const auto number = static_cast<Number>(value);
    if (static_cast<long long>(number) != value) return Taken::out_of_range;
    std::memcpy(slot, &number, sizeof number);
    return Taken::good;
}

Taken take_uint64(PyObject* value, void* slot) {
    const unsigned long long number = PyLong_AsUnsignedLongLong(value);
    if (number == static_cast<unsigned long long>(-1) && PyErr_Occurred()) {
        PyErr_Clear();
        return Taken::out_of_range;
    }
    std::memcpy(slot, &number, sizeof number);
    return Taken::good;
}

// A float of Python as a `float32` of the same value; NaN is one.
Taken narrow(double number, void* slot) {
    const auto near = static_cast<float>(number);
    if (static_cast<double>(near) != number && !std::isnan(number)) return Taken::wrong_type;
    std::memcpy(slot, &near, sizeof near);
    return Taken::good;
}

// An int of Python as a float of the same value. Python compares the two without rounding.
Taken convert_int(PyObject* value, DType dtype, void* slot) {
    const Held wide(PyNumber_Float(value));
    const int equal = wide ? PyObject_RichCompareBool(value, wide.get(), Py_EQ) : -1;
    if (equal < 0) PyErr_Clear();  // the int lies beyond the largest float
    if (equal != 1) return Taken::wrong_type;
    const double number = PyFloat_AS_DOUBLE(wide.get());
    if (dtype == DType::float32) return narrow(number, slot);
    std::memcpy(slot, &number, sizeof number);
    return Taken::good;
}

// Not inlined, and neither is `convert_float`: both would cost calls that convert nothing.
[[gnu::noinline, gnu::cold]] Taken take_wide(PyObject* value, DType dtype, void* slot) {
    return dtype == DType::uint64 ? take_uint64(value, slot) : convert_int(value, dtype, slot);
}

Taken take_int(PyObject* value, DType dtype, void* slot) {
    if (dtype >= DType::uint64) return take_wide(value, dtype, slot);
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    switch (dtype) {
        case DType::int8: return overflow ? Taken::out_of_range : store<int8_t>(number, slot);
        case DType::uint8: return overflow ? Taken::out_of_range : store<uint8_t>(number, slot);
        case DType::int16: return overflow ? Taken::out_of_range : store<int16_t>(number, slot);
        case DType::uint16: return overflow ? Taken::out_of_range : store<uint16_t>(number, slot);
        case DType::int32: return overflow ? Taken::out_of_range : store<int32_t>(number, slot);
        case DType::uint32: return overflow ? Taken::out_of_range : store<uint32_t>(number, slot);
        case DType::int64: return overflow ? Taken::out_of_range : store<int64_t>(number, slot);
        default: return Taken::wrong_type;
    }
}

// A float of Python as a number of another type.
[[gnu::noinline, gnu::cold]] Taken convert_float(double number, DType dtype, void* slot) {
    if (dtype == DType::float32) return narrow(number, slot);
    if (!std::isfinite(number) || number != std::trunc(number)) return Taken::wrong_type;
    const Held whole(PyLong_FromDouble(number));
    if (!whole) PyErr_Clear();
    return whole ? take_scalar(whole.get(), dtype, slot) : Taken::wrong_type;
}

Taken take_float(PyObject* value, DType dtype, void* slot) {
    const double number = PyFloat_AS_DOUBLE(value);
    if (dtype != DType::float64) return convert_float(number, dtype, slot);
    std::memcpy(slot, &number, sizeof number);
    return Taken::good;
}

// Scalars of NumPy are objects whose header is followed by the value; `prepare_scalars` has
// verified that with a value of each type.
const void* value_of(PyObject* scalar) { return reinterpret_cast<char*>(scalar) + sizeof(PyObject); }

// Exact types first: what passes here by inheritance are enum members, which are rare.
DType numpy_dtype(PyObject* value) {
    for (const NumpyType& known : numpy_types) {
        if (Py_TYPE(value) == known.type) return known.dtype;
    }
    for (const NumpyType& known : numpy_types) {
        if (PyType_IsSubtype(Py_TYPE(value), known.type)) return known.dtype;
    }
    return DType::none;
}

// A member of a plain `Enum` stands for its value.
Taken take_member(PyObject* member, DType dtype, void* slot) {
    if (!PyObject_TypeCheck(reinterpret_cast<PyObject*>(Py_TYPE(member)), enum_meta)) {
        return Taken::wrong_type;
    }
    static PyObject* const name = PyUnicode_InternFromString("_value_");
    PyObject* value = PyObject_GetAttr(member, name);
    if (value == nullptr) {
        PyErr_Clear();
        return Taken::wrong_type;
    }
    const bool nested = PyObject_TypeCheck(reinterpret_cast<PyObject*>(Py_TYPE(value)), enum_meta);
    const Taken taken = nested ? Taken::wrong_type : take_scalar(value, dtype, slot);
    Py_DECREF(value);
    return taken;
}

// Makes the number one of this type and looks whether the value lies where we read it.
bool learn(NumpyType& entry, PyObject* numpy) {
    PyObject* type = PyObject_GetAttrString(numpy, entry.name);
    if (type == nullptr) return false;
    entry.type = reinterpret_cast<PyTypeObject*>(type);  // kept for the life of the process
    PyObject* one = PyObject_CallFunction(type, "i", 1);
    PyObject* dtype = one == nullptr ? nullptr : PyObject_GetAttrString(one, "dtype");
    PyObject* name = dtype == nullptr ? nullptr : PyObject_GetAttrString(dtype, "name");
    const char* text = name == nullptr ? nullptr : PyUnicode_AsUTF8(name);
    bool good = text != nullptr;
    if (good) {
        entry.dtype = dtype_from_name(text);
        const double one_double = 1.0;
        const float one_float = 1.0F;
        const uint64_t one_int = 1;
        const void* expected = entry.dtype == DType::float64   ? static_cast<const void*>(&one_double)
                               : entry.dtype == DType::float32 ? &one_float
                                                               : static_cast<const void*>(&one_int);
        good = entry.dtype != DType::none &&
               (PY_LITTLE_ENDIAN == 0 ||
                std::memcmp(value_of(one), expected, size_t{1} << dtype_shift(entry.dtype)) == 0);
        if (!good) PyErr_Format(PyExc_ImportError, "numpy.%s is not laid out as expected.", entry.name);
    }
    Py_XDECREF(name);
    Py_XDECREF(dtype);
    Py_XDECREF(one);
    return good;
}

}  // namespace

Taken take_scalar(PyObject* value, DType dtype, void* slot) {
    if (PyFloat_CheckExact(value)) return take_float(value, dtype, slot);
    if (PyBool_Check(value)) {
        if (dtype != DType::bool_) return Taken::wrong_type;
        *static_cast<uint8_t*>(slot) = value == Py_True;
        return Taken::good;
    }
    if (PyLong_Check(value)) return take_int(value, dtype, slot);
    const DType given = numpy_dtype(value);
    if (given != DType::none) {
        if (given != dtype) return Taken::wrong_type;
        std::memcpy(slot, value_of(value), size_t{1} << dtype_shift(dtype));
        return Taken::good;
    }
    if (PyFloat_Check(value)) return take_float(value, dtype, slot);
    return take_member(value, dtype, slot);
}

bool is_numpy_number(PyObject* value) { return numpy_dtype(value) != DType::none; }

bool is_same_number(PyObject* one, PyObject* other) {
    if (Py_TYPE(one) != Py_TYPE(other)) return false;
    const DType dtype = PyFloat_CheckExact(one) ? DType::float64 : numpy_dtype(one);
    uint64_t bits[2] = {};
    return dtype != DType::none && take_scalar(one, dtype, &bits[0]) == Taken::good &&
           take_scalar(other, dtype, &bits[1]) == Taken::good && bits[0] == bits[1];
}

int64_t slot_as_int(DType dtype, const void* slot) {
    switch (dtype) {
        case DType::bool_:
        case DType::uint8: return *static_cast<const uint8_t*>(slot);
        case DType::int8: return *static_cast<const int8_t*>(slot);
        case DType::int16: return *static_cast<const int16_t*>(slot);
        case DType::uint16: return *static_cast<const uint16_t*>(slot);
        case DType::int32: return *static_cast<const int32_t*>(slot);
        case DType::uint32: return *static_cast<const uint32_t*>(slot);
        case DType::uint64: {
            const auto largest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
            return static_cast<int64_t>(std::min(*static_cast<const uint64_t*>(slot), largest));
        }
        default: return *static_cast<const int64_t*>(slot);
    }
}

int prepare_scalars() {
    PyObject* numpy = PyImport_ImportModule("numpy");
    if (numpy == nullptr) return -1;
    bool good = true;
    for (NumpyType& entry : numpy_types) good = good && learn(entry, numpy);
    Py_DECREF(numpy);
    PyObject* enumeration = PyImport_ImportModule("enum");
    if (enumeration == nullptr) return -1;
    enum_meta = reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(enumeration, "EnumMeta"));
    Py_DECREF(enumeration);
    return good && enum_meta != nullptr ? 0 : -1;
}

}  // namespace fieldforge
