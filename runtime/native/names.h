// The parameters of a program by name: identity of the interned string first, then equality.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

namespace fieldforge {

// What a keyword is if it is not a parameter.
enum Keyword : int32_t { offset_provider = -1, enable_jit = -2, unknown = -3, failed = -4 };

class Names {
   public:
    // `names` is a tuple of str that outlives this object; false with a Python error set if not.
    bool set(PyObject* names);
    // Position of the parameter, or a `Keyword`; `failed` with a Python error set.
    int32_t find(PyObject* name) const {
        for (size_t at = place(name); slots_[at].name != nullptr;) {
            if (slots_[at].name == name) return slots_[at].index;
            at = (at + 1) & (slots_.size() - 1);
        }
        return find_equal(name);
    }

   private:
    struct Slot {
        PyObject* name = nullptr;
        int32_t index = 0;
    };

    bool add(PyObject* name, int32_t index);
    bool add_hashed(const Slot& slot);
    int32_t find_equal(PyObject* name) const;
    size_t place(PyObject* name) const {
        // Objects are 16 bytes apart at least.
        return (reinterpret_cast<uintptr_t>(name) >> 4) & (slots_.size() - 1);
    }

    std::vector<Slot> slots_;   // open addressing by address, at most a quarter full
    std::vector<Slot> hashed_;  // the same by hash
};

}  // namespace fieldforge
