// Python errors of what C++ throws, for functions that are not called through nanobind.
#pragma once

#include "objects.h"

namespace fieldforge::gpu {

// Runs `body`, and turns what it throws into a Python error; null or false then.
template <typename F>
auto guarded(F body) -> decltype(body()) {
    try {
        return body();
    } catch (const Failure& failure) {
        set_python_error(failure);
    } catch (nb::python_error& error) {
        error.restore();
    } catch (const nb::builtin_exception& error) {
        PyErr_SetString(error.type() == nb::exception_type::type_error ? PyExc_TypeError
                                                                       : PyExc_ValueError,
                        error.what());
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_TypeError, error.what());
    }
    return {};
}

// A method that Python calls without a dispatch by types in between.
template <typename F>
PyMethodDef fast_method(const char* name, F function, int flags, const char* doc) {
    return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), flags, doc};
}

// An attribute that Python reads without a dispatch by types in between.
template <typename F>
constexpr PyGetSetDef fast_property(const char* name, F get, const char* doc) {
    return {name, get, nullptr, doc, nullptr};
}

// The constructor of a class, in place of `__init__`; the number is that of Python 3.14, and nanobind
// takes it in earlier ones.
#if !defined(Py_tp_vectorcall)
#define Py_tp_vectorcall 82
#endif

}  // namespace fieldforge::gpu
