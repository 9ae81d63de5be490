// One call of one entry: check the arguments, fill the words of the ABI, run.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "array.h"
#include "execution.h"
#include "plan.h"
#include "prepared.h"
#include "refusal.h"
#include "table.h"

namespace fieldforge {

// Whether a table is one at all, with the codomain that the plan asks for.
inline bool fits_table(const Argument& wanted, const FieldView& view) {
    return view.table != nullptr &&
           (wanted.codomain == nullptr || view.table->codomain() == wanted.codomain);
}

// An argument where a view stands for an array, or for the array of a number.
struct ArrayArgument {
    int32_t argument;
    PyObject* given;
    PyObject* array;
};

// An argument that stands for another one: what a slot of a recorded sequence holds in a call.
struct Substitute {
    PyObject* recorded;
    PyObject* given;
};

// The arguments, integers and scalars of one call, on the stack of the caller unless there are
// very many. Made and destroyed with the interpreter's lock held.
class Frame {
   public:
    explicit Frame(const CallPlan& plan);
    ~Frame();
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

    // Looks the leaves up in the parameters, and the tables in the offset provider (or null).
    Refusal flatten(PyObject* const* parameters, PyObject* provider);
    // Puts others in the place of some elements of tuples.
    void substitute(const std::vector<Substitute>& substitutes);
    // Whether strides and tables are what the entry was compiled for; wrong types are left to
    // `check`. Arrays in the place of fields become views on the way.
    bool fits();
    // Everything else; after this the words are ready.
    Refusal check();
    // Whether the call has to run `Entry::beyond`; `check` finds out.
    bool is_beyond() const { return is_beyond_; }
    // Leaves the interpreter, takes snapshots and calls.
    Refusal run(const Entry& entry);
    // The call as it stands, to be run later and again; null with a Python error set.
    std::shared_ptr<const Prepared> keep(Entry* entry) const;

   private:
    FieldView& field(int32_t argument) const {
        return *reinterpret_cast<FieldView*>(leaves_[argument]);
    }
    int64_t value(Operand operand) const {
        return static_cast<int64_t>(static_cast<uint64_t>(registers_[operand.reg]) +
                                    static_cast<uint64_t>(operand.offset));
    }

    // call_arguments.cpp: from Python objects to pointers and scalars, if all have the right type.
    Refusal find_tables(PyObject* provider);
    bool has_axis(int32_t argument, int32_t axis) const;
    bool is_of_dimension(int32_t argument, int32_t axis) const;
    bool is_laid_out() const;
    bool take_arrays();
    int32_t device_of_fields() const;
    bool is_elsewhere(PyObject* view, DType dtype) const;
    bool take_field(int32_t argument);
    bool take_arguments();

    // call.cpp: the quick way, which asks only whether all is well.
    Refusal find_place();
    void compute();
    bool all_inside() const;
    bool outputs_are_apart() const;

    // diagnose.cpp: the same questions again, once the answer was no.
    bool has_type(int32_t argument) const;
    Refusal diagnose_arguments() const;
    bool is_empty(const std::vector<Range>& ranges) const;
    const std::vector<Range>& required(const Box& box) const;
    size_t first_short(const Box& box, const std::vector<Range>& ranges) const;
    Refusal diagnose_box(const Box& box, bool written) const;
    bool is_whole(size_t access) const;
    Refusal diagnose_domains();

    // alias.cpp: what to do about arguments that share memory.
    Refusal resolve_overlaps();
    std::vector<std::pair<size_t, size_t>> statements() const;
    bool touches_in(std::pair<size_t, size_t> statement, int32_t argument) const;
    std::vector<std::pair<int64_t, int64_t>> ranges_of(const Box& box) const;
    Refusal resolve_outputs(std::pair<size_t, size_t> statement);
    bool can_discard(std::pair<size_t, size_t> statement, const Box& box) const;
    bool writes_to(std::pair<size_t, size_t> statement, int32_t argument) const;
    bool is_written(const Box& box, int32_t argument) const;
    bool has_snapshot(int32_t argument) const;
    Refusal resolve_input(std::pair<size_t, size_t> statement, int32_t read);
    bool can_snapshot(std::pair<size_t, size_t> statement, int32_t read) const;
    bool can_bring_back() const;
    std::vector<Part> written_parts(std::pair<size_t, size_t> statement, int32_t argument) const;
    Refusal resolve_statements();
    Words words() const;
    void add_snapshot(int32_t read);

    const CallPlan& plan_;
    PyObject** leaves_;      // of each argument
    const Axis** axes_;      // of each field
    const void** pointers_;  // of each field
    uintptr_t* lows_;        // of each field
    uintptr_t* highs_;       // of each field
    int64_t* ints_;
    uint64_t* scalars_;
    int64_t* registers_;
    bool owns_leaves_ = false;
    bool is_taken_ = false;  // every argument is of its type
    bool is_beyond_ = false;
    Place place_;            // of a call on a GPU
    ArrayViews views_;
    std::vector<ArrayArgument> arrays_;
    std::vector<PyObject*> numbers_;  // the arrays of numbers in the place of fields
    std::vector<Copy> copies_;
    size_t copied_ = 0;  // bytes of all snapshots
    int64_t steps_ = 0;  // how many statements run one at a time; 0: they run together
    int64_t step_ = 0;   // the statement of the copies that are planned, from 1 on
    std::unique_ptr<int64_t[]> many_;
    int64_t few_[640];
};

}  // namespace fieldforge
