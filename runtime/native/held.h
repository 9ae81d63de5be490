// A reference that is given back at the end of the block.
#pragma once

#include <Python.h>

namespace fieldforge {

class Held {
   public:
    explicit Held(PyObject* object) : object_(object) {}
    ~Held() { Py_XDECREF(object_); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    PyObject* get() const { return object_; }
    PyObject* release() {
        PyObject* object = object_;
        object_ = nullptr;
        return object;
    }
    explicit operator bool() const { return object_ != nullptr; }

   private:
    PyObject* object_;
};

}  // namespace fieldforge
