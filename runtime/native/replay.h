// A recorded sequence: its calls, and the same calls prepared for each choice of slot fields.
#pragma once

#include <Python.h>

#include <memory>
#include <vector>

#include "arena.h"
#include "prepared.h"
#include "program.h"

namespace fieldforge {

// One recorded call. References are owned.
struct Recorded {
    Program* program;     // null: the callable is no native program
    PyObject* call;       // the program, or another callable
    PyObject* arguments;  // tuple; of a program in the order of its parameters
    PyObject* keywords;   // dictionary of keyword arguments of another callable, or null
    PyObject* provider;   // or null

    Bound bound() const {
        return {&PyTuple_GET_ITEM(arguments, 0), PyTuple_GET_SIZE(arguments), provider};
    }
};

// Every call of a sequence ready to run, with certain fields in the slots. Immutable but for the
// arena, which is used with the interpreter's lock held.
class Round {
   public:
    // Prepares all calls; null with the place of the first call that fails, perhaps with a Python
    // error set.
    static std::shared_ptr<const Round> make(const std::vector<Recorded>& calls,
                                             const std::vector<Substitute>& fields, size_t& place);
    ~Round();
    Round() = default;
    Round(const Round&) = delete;
    Round& operator=(const Round&) = delete;

    bool has(const std::vector<Substitute>& fields) const;
    // Whether the programs still have the same variants.
    bool is_current(const std::vector<Recorded>& calls) const;
    // Runs all calls in order and stores the place of the one that fails.
    Refusal run(Arena& arena, size_t& place) const;
    const std::vector<std::shared_ptr<const Prepared>>& calls() const { return calls_; }

   private:
    std::vector<PyObject*> fields_;  // owned
    std::vector<uint64_t> generations_;
    std::vector<std::shared_ptr<const Prepared>> calls_;
    int64_t workspace_ = 0;
    size_t copied_ = 0;
    // One graph of all calls; `is_tried_` says that it was made or cannot be made.
    bool can_be_graph() const;
    bool capture() const;
    mutable std::shared_ptr<void> graph_;
    mutable bool is_tried_ = false;
    // Calls on a GPU have memory of their own, in the order of its stream, those of a first tier for
    // what a workspace lacks.
    bool on_host_ = true;
};

}  // namespace fieldforge
