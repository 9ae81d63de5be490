// Reading the arguments of a launch: memory of any kind, numbers and structures.
#include "launch_values.h"

#include <nanobind/stl/string.h>

#include <cstring>

#include "../field_view.h"

namespace fieldforge::gpu {
namespace {

bool add_argument(PreparedLaunch& plan, char kind, unsigned size) {
    const unsigned align = kind == 's' ? 8 : size;
    plan.bytes = (plan.bytes + align - 1) / align * align;
    plan.arguments.push_back({kind, static_cast<uint16_t>(size), plan.bytes});
    plan.sizes.push_back(static_cast<uint16_t>(size));
    plan.kinds.push_back(kind);
    plan.bytes += size;
    return true;
}

unsigned size_of(char kind) {
    switch (kind) {
        case 'P': case 'R': case 'q': case 'Q': case 'd': return 8;
        case 'i': case 'I': case 'f': return 4;
        case 'h': case 'H': case 'e': return 2;
        case 'b': case 'B': case '?': return 1;
        default: return 0;
    }
}

}  // namespace

bool parse(PreparedLaunch& plan, const char* format) {
    for (const char* at = format; *at != 0; ++at) {
        unsigned count = 0;
        while (*at >= '0' && *at <= '9' && count < 4096) count = count * 10 + (*at++ - '0');
        if (*at == 's' && count > 0 && count <= 4096) {
            add_argument(plan, 's', count);
        } else if (count == 0 && size_of(*at) != 0) {
            add_argument(plan, *at, size_of(*at));
        } else {
            PyErr_Format(PyExc_ValueError,
                         "The format '%s' has no type at position %zd: expected P or R (pointer that "
                         "is written or only read), ? b B h H i I q Q e f d, or a size and s.",
                         format, static_cast<Py_ssize_t>(at - format));
            return false;
        }
    }
    return true;
}

namespace {

void wrong_device(const PreparedLaunch& plan, size_t index, const char* where) {
    PyErr_Format(PyExc_ValueError, "Argument %zu of kernel '%s' lies on %s, the kernel on device %s.",
                 index, plan.kernel->name.c_str(), where, plan.kernel->device->label().c_str());
}

bool use_buffer(const PreparedLaunch& plan, size_t index, Buffer& buffer, const StreamRef& stream) {
    if (buffer.device != nullptr && buffer.device->platform != plan.kernel->device->platform) {
        return wrong_device(plan, index, buffer.device->label().c_str()), false;
    }
    if (buffer.kind == MemoryKind::host) return wrong_device(plan, index, "the host"), false;
    if (buffer.address == 0 && buffer.size != 0) {
        PyErr_Format(PyExc_ValueError, "Argument %zu of kernel '%s' is a buffer that was freed.", index,
                     plan.kernel->name.c_str());
        return false;
    }
    buffer.use(stream);
    return true;
}

// The address of anything that is memory; false with a Python error set.
bool read_address(const PreparedLaunch& plan, size_t index, PyObject* given, const StreamRef& stream,
                  Address& to) {
    if (PyLong_CheckExact(given)) {
        to = PyLong_AsUnsignedLongLong(given);
        return !(to == static_cast<Address>(-1) && PyErr_Occurred());
    }
    if (const Array* array = as_array(given); array != nullptr) {
        if (array->device == nullptr && array->device_type == device_host) {
            return wrong_device(plan, index, "the host"), false;
        }
        if (array->readonly && plan.arguments[index].kind == 'P') {
            PyErr_Format(PyExc_ValueError,
                         "Argument %zu of kernel '%s' is read-only: its type is 'R', not 'P'.", index,
                         plan.kernel->name.c_str());
            return false;
        }
        to = array->address;
        return array->buffer == nullptr || use_buffer(plan, index, *array->buffer, stream);
    }
    if (Buffer* buffer = as_buffer(given); buffer != nullptr) {
        to = buffer->address;
        return use_buffer(plan, index, *buffer, stream);
    }
    if (given == Py_None) return to = 0, true;
    if (is_field_view(given)) {
        const auto* view = reinterpret_cast<const FieldView*>(given);
        if (view->device_type == device_host) return wrong_device(plan, index, "the host"), false;
        to = view->data;
        if (view->owner == nullptr || view->owner == given) return true;
        if (const Array* array = as_array(view->owner); array != nullptr && array->buffer != nullptr) {
            return use_buffer(plan, index, *array->buffer, stream);
        }
        return true;
    }
    const nb::object array = nb::steal(PyObject_CallOneArg(hook_foreign, given));
    if (!array.is_valid()) return false;
    return read_address(plan, index, array.ptr(), stream, to);
}

template <typename T>
bool read_integer(PyObject* given, unsigned char* to) {
    T value;
    if constexpr (std::is_signed_v<T>) {
        const long long wide = PyLong_AsLongLong(given);
        if (wide == -1 && PyErr_Occurred()) return false;
        value = static_cast<T>(wide);
        if (value != wide) goto refused;
    } else {
        const nb::object index = nb::steal(PyNumber_Index(given));
        if (!index.is_valid()) return false;
        const unsigned long long wide = PyLong_AsUnsignedLongLong(index.ptr());
        if (wide == static_cast<unsigned long long>(-1) && PyErr_Occurred()) return false;
        value = static_cast<T>(wide);
        if (value != wide) goto refused;
    }
    std::memcpy(to, &value, sizeof value);
    return true;
refused:
    PyErr_Format(PyExc_OverflowError, "The value %R does not fit %zu bytes.", given, sizeof value);
    return false;
}

bool read_floating(PyObject* given, char kind, unsigned char* to) {
    const double wide = PyFloat_AsDouble(given);
    if (wide == -1.0 && PyErr_Occurred()) return false;
    if (kind == 'd') return std::memcpy(to, &wide, sizeof wide), true;
    if (kind == 'e') return PyFloat_Pack2(wide, reinterpret_cast<char*>(to), 1) == 0;
    const auto narrow = static_cast<float>(wide);
    return std::memcpy(to, &narrow, sizeof narrow), true;
}

bool read_structure(PyObject* given, const LaunchArgument& argument, unsigned char* to) {
    Py_buffer view;
    if (PyObject_GetBuffer(given, &view, PyBUF_SIMPLE) < 0) return false;
    const bool fits = view.len == argument.size;
    if (fits) std::memcpy(to, view.buf, argument.size);
    else PyErr_Format(PyExc_ValueError, "Expected a structure of %d bytes, got %zd.", argument.size, view.len);
    PyBuffer_Release(&view);
    return fits;
}

// Whether an array lies where the kernel runs, in memory that nothing else works on: the usual case.
bool is_ready(const PreparedLaunch& plan, const Array& array, char kind, const StreamRef& stream) {
    if (array.readonly && kind == 'P') return false;
    const Buffer* buffer = array.buffer;
    if (buffer == nullptr) return array.device == plan.kernel->device;
    return buffer->device == plan.kernel->device && buffer->kind != MemoryKind::host &&
           buffer->address != 0 && (buffer->stream == stream || buffer->stream == nullptr);
}

bool read_value(const PreparedLaunch& plan, size_t index, PyObject* given, const StreamRef& stream,
                unsigned char* to) {
    const LaunchArgument& argument = plan.arguments[index];
    switch (argument.kind) {
        case 'P': case 'R': {
            Address address = 0;
            if (Py_TYPE(given) == class_of<Array>) [[likely]] {
                const Array& array = *nb::inst_ptr<Array>(given);
                if (is_ready(plan, array, argument.kind, stream)) [[likely]] {
                    return std::memcpy(to, &array.address, sizeof array.address), true;
                }
            }
            if (!read_address(plan, index, given, stream, address)) return false;
            return std::memcpy(to, &address, sizeof address), true;
        }
        case 'i': return read_integer<int32_t>(given, to);
        case 'q': return read_integer<int64_t>(given, to);
        case 'I': return read_integer<uint32_t>(given, to);
        case 'Q': return read_integer<uint64_t>(given, to);
        case 'h': return read_integer<int16_t>(given, to);
        case 'H': return read_integer<uint16_t>(given, to);
        case 'b': return read_integer<int8_t>(given, to);
        case 'B': return read_integer<uint8_t>(given, to);
        case 's': return read_structure(given, argument, to);
        case '?': {
            const int truth = PyObject_IsTrue(given);
            return truth < 0 ? false : (*to = static_cast<unsigned char>(truth), true);
        }
        default: return read_floating(given, argument.kind, to);
    }
}

}  // namespace

bool read_values(const PreparedLaunch& plan, PyObject* const* given, Py_ssize_t count, const StreamRef& stream,
                 LaunchValues& values) {
    if (count != static_cast<Py_ssize_t>(plan.arguments.size())) {
        PyErr_Format(PyExc_TypeError, "Kernel '%s' takes %zu arguments, got %zd.",
                     plan.kernel->name.c_str(), plan.arguments.size(), count);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (!read_value(plan, i, given[i], stream,
                        values.storage.data() + plan.arguments[i].offset)) [[unlikely]] {
            return false;
        }
    }
    return true;
}

char kind_for(PyObject* given) {
    if (PyBool_Check(given)) return '?';
    if (PyLong_Check(given)) return 'q';
    if (PyFloat_CheckExact(given)) return 'd';
    const nb::handle value(given);
    if (!nb::hasattr(value, "dtype") || !PyObject_CheckBuffer(given) ||
        nb::cast<size_t>(nb::object(nb::getattr(value, "ndim", nb::int_(1)))) != 0) {
        return 'P';
    }
    const auto code = nb::cast<std::string>(nb::object(value.attr("dtype").attr("char")));
    return code == "l" ? 'q' : code == "L" ? 'Q' : code[0];
}

}  // namespace fieldforge::gpu
