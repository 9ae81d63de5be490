// Two hash tables: by the addresses of interned strings, and by their content.
#include "names.h"

namespace fieldforge {

bool Names::set(PyObject* names) {
    const Py_ssize_t count = PyTuple_GET_SIZE(names);
    size_t size = 16;
    while (size < 4 * static_cast<size_t>(count + 2)) size *= 2;
    slots_.assign(size, {});
    hashed_.assign(size, {});
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (!add(PyTuple_GET_ITEM(names, i), static_cast<int32_t>(i))) return false;
    }
    // A reference that is never given back: interned names live as long as the process.
    return add(PyUnicode_InternFromString("offset_provider"), Keyword::offset_provider) &&
           add(PyUnicode_InternFromString("enable_jit"), Keyword::enable_jit);
}

bool Names::add(PyObject* name, int32_t index) {
    if (name == nullptr) return false;
    size_t at = place(name);
    while (slots_[at].name != nullptr) {
        if (slots_[at].name == name) {
            PyErr_Format(PyExc_ValueError, "The name '%U' is taken.", name);
            return false;
        }
        at = (at + 1) & (slots_.size() - 1);
    }
    slots_[at] = {name, index};
    return add_hashed(slots_[at]);
}

bool Names::add_hashed(const Slot& slot) {
    const Py_hash_t hash = PyObject_Hash(slot.name);
    if (hash == -1) return false;
    size_t at = static_cast<size_t>(hash) & (hashed_.size() - 1);
    while (hashed_[at].name != nullptr) at = (at + 1) & (hashed_.size() - 1);
    hashed_[at] = slot;
    return true;
}

// Keywords that are written in a call are interned; names that a dictionary was built with at run
// time need not be, but strings in a dictionary know their hash.
int32_t Names::find_equal(PyObject* name) const {
    const Py_hash_t hash = PyObject_Hash(name);
    if (hash == -1) return Keyword::failed;
    size_t at = static_cast<size_t>(hash) & (hashed_.size() - 1);
    for (; hashed_[at].name != nullptr; at = (at + 1) & (hashed_.size() - 1)) {
        const int order = PyUnicode_Compare(hashed_[at].name, name);
        if (order == 0) return hashed_[at].index;
        if (order == -1 && PyErr_Occurred()) return Keyword::failed;
    }
    return Keyword::unknown;
}

}  // namespace fieldforge
