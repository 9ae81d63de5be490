// The names that a program uses, so that a call notices when one was rebound.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

namespace fieldforge {

// Names in dictionaries of modules, and cells of nonlocal names, with the objects that were read.
class Watch {
   public:
    Watch() = default;
    ~Watch() { clear(); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    // Takes triples (dictionary, name, object) and (cell, None, object); the object that a missing
    // name has is None. Replaces what was watched; false with a Python error set.
    bool set(PyObject* triples, PyObject* on_change);
    void clear();
    // Calls Python if a name may have changed; false with its error set.
    bool up_to_date() { return on_change_ == nullptr || unchanged() || notify(); }
    int traverse(visitproc visit, void* arg) const;

   private:
    struct Name {
        PyObject* place;  // a dictionary or a cell
        PyObject* name;
        PyObject* value;
    };
    struct Seen {
        PyObject* dictionary;  // borrowed from a name
        uint64_t version;
    };

    bool unchanged();
    bool notify() const;

    std::vector<Name> names_;
    std::vector<Name> cells_;
    std::vector<Seen> seen_;  // the dictionaries as they were when all names were right
    PyObject* on_change_ = nullptr;
};

}  // namespace fieldforge
