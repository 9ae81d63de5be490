// A call with checked arguments, ready to run many times.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "execution.h"
#include "held.h"

namespace fieldforge {

// Immutable, so that threads may share it. It holds references to its arguments, so that nothing
// frees or moves their memory. Make and destroy it with the interpreter's lock held.
class Prepared {
   public:
    Prepared(Entry* entry, const Words& words, size_t pointers, size_t ints, size_t scalars,
             size_t copied, int64_t workspace, const Place& place);
    ~Prepared();
    Prepared(const Prepared&) = delete;
    Prepared& operator=(const Prepared&) = delete;

    void hold(PyObject* argument) { held_.push_back(Py_NewRef(argument)); }
    Entry* entry() const { return entry_; }
    int64_t workspace() const { return workspace_; }
    size_t copied() const { return copied_; }
    const std::vector<PyObject*>& arguments() const { return held_; }

    // The bytes of an argument, for the workspace of a later call.
    struct Bytes {
        int32_t argument;
        uintptr_t low;
        uintptr_t high;
    };
    std::vector<Bytes> spans;
    Refusal check_workspace() const;
    // Leaves the interpreter and calls; with `stream`, work goes there.
    Refusal run(void* stream = nullptr) const;
    const Place& place() const { return place_; }
    // Calls; the interpreter's lock need not be held.
    int32_t run_in(const Lease& memory) const;
    int traverse(visitproc visit, void* arg) const;

   private:
    Entry* entry_;
    std::vector<const void*> pointers_;
    std::vector<int64_t> ints_;
    std::vector<uint64_t> scalars_;
    std::vector<Copy> copies_;
    size_t stepped_;  // the integer that selects a statement
    int64_t steps_;
    Words whole_;  // where there are no copies and no steps
    size_t copied_;
    int64_t workspace_;
    Place place_;
    std::vector<PyObject*> held_;
};

}  // namespace fieldforge
