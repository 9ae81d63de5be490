// `sha256(content)` of the module `_values`: OpenSSL, which `hashlib` loads, takes 2 ms to start.
#pragma once

#include <Python.h>

namespace fieldforge {

PyObject* sha256(PyObject*, PyObject* args);

}  // namespace fieldforge
