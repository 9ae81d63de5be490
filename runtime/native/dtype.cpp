// Names, sizes and the letters of the struct module.
#include "dtype.h"

#include <cstring>
#include <iterator>

namespace fieldforge {
namespace {

struct Kind {
    const char* name;
    int shift;
};

constexpr Kind kinds[] = {
    {"none", 0},  {"bool", 0},   {"int8", 0},  {"uint8", 0},  {"int16", 1},   {"uint16", 1},
    {"int32", 2}, {"uint32", 2}, {"int64", 3}, {"uint64", 3}, {"float32", 2}, {"float64", 3},
};

}  // namespace

// The letter of the struct module says what kind of number it is, the item size how wide: `l` and
// `q` are the same type on some machines and not on others.
DType dtype_from_format(const char* format, Py_ssize_t itemsize) {
    if (format == nullptr) return DType::uint8;
    constexpr bool little = PY_LITTLE_ENDIAN;
    if (*format == '@' || *format == '=' || *format == (little ? '<' : '>')) ++format;
    if (*format == '\0' || format[1] != '\0') return DType::none;
    if (*format == '?') return DType::bool_;
    if (*format == 'f') return DType::float32;
    if (*format == 'd') return DType::float64;
    const bool is_signed = std::strchr("bhilq", *format) != nullptr;
    if (!is_signed && std::strchr("BHILQ", *format) == nullptr) return DType::none;
    switch (itemsize) {
        case 1: return is_signed ? DType::int8 : DType::uint8;
        case 2: return is_signed ? DType::int16 : DType::uint16;
        case 4: return is_signed ? DType::int32 : DType::uint32;
        case 8: return is_signed ? DType::int64 : DType::uint64;
        default: return DType::none;
    }
}

const char* dtype_name(DType dtype) { return kinds[static_cast<int>(dtype)].name; }

int dtype_shift(DType dtype) { return kinds[static_cast<int>(dtype)].shift; }

DType dtype_from_name(const char* name) {
    for (int i = 1; i < static_cast<int>(std::size(kinds)); ++i) {
        if (std::strcmp(kinds[i].name, name) == 0) return static_cast<DType>(i);
    }
    return DType::none;
}

}  // namespace fieldforge
