// A `runtime.calls.plan.Plan` as C++ structs: made once by `Entry`, read at every call.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "field_view.h"

namespace fieldforge {

// The value of a bound or size is that of a register plus a constant. Most bounds of a stencil
// are "the domain, give or take a halo", so many operands share few registers.
struct Operand {
    int32_t reg = 0;  // register 0 is always 0
    int64_t offset = 0;
};

// A number that is taken from a field: one of the words of an axis, shifted to count elements
// if it is a stride.
struct Load {
    int32_t reg;
    int32_t field;  // position in `CallPlan::fields`
    uint16_t word;  // 8-byte words from the first axis
    uint8_t shift;
};

// An integer scalar argument.
struct ScalarLoad {
    int32_t reg;
    int32_t slot;
    DType dtype;
};

enum class Op : uint8_t { add, sub, mul, min, max, floordiv, mod, lowest, beyond, patches };

struct Instruction {
    int32_t reg;
    Op op;
    Operand left;
    Operand right;
    int32_t table = -1;  // argument whose rows left .. right are asked, for the last three
    int32_t slots = 0;   // position in `CallPlan::slots`
};

// One step into a nested tuple or collection that must have `count` elements.
struct Step {
    int32_t index;
    int32_t count;
};

struct Argument {
    int32_t parameter;
    std::vector<Step> steps;  // empty: the parameter itself is the leaf
    bool is_field;            // has a pointer: a field or a table
    bool is_table;            // is found in the offset provider under `name`
    PyObject* name;           // borrowed from the Python plan
    int64_t width;            // of a table
    bool skip;                // a table may have missing entries
    PyObject* codomain;       // of a table, borrowed; null for any
    bool read;
    bool written;
    DType dtype;
    int32_t unit;
    int32_t slot;                  // index among the pointers, or among the scalars
    std::vector<PyObject*> dims;  // borrowed from the Python plan
    PyObject* dims_tuple;         // the same
    Form form;                    // of a field that fits, and the bits of it that count
    Form mask;
};

struct Range {
    Operand start;
    Operand stop;
};

struct Box {
    int32_t argument;
    std::vector<Range> ranges;
    std::vector<Range> hard;  // what must lie inside the argument, if that is not the whole box
};

// A range that must lie inside an axis, for the quick check.
struct Inside {
    int32_t field;  // position in `CallPlan::fields`
    int32_t axis;
    Range range;
};

struct Access {
    std::vector<Box> writes;
    std::vector<Box> reads;
    std::vector<std::pair<int32_t, int32_t>> pointwise;
    bool continues;  // the statement of the access before
};

// Two ranges that must be equal if the plan is to fit.
struct Alike {
    int32_t first;
    int32_t first_axis;
    int32_t second;
    int32_t second_axis;
};

// A range that is compiled in.
struct Known {
    int32_t argument;
    int32_t axis;
    int64_t start;
    int64_t stop;
};

struct CallPlan {
    int32_t parameters = 0;
    int32_t device = device_cpu;
    bool flat = true;  // no argument lies inside a tuple
    std::vector<Argument> arguments;
    std::vector<int32_t> fields;   // argument behind each pointer: fields, then tables
    std::vector<int32_t> tables;   // arguments
    std::vector<int32_t> scalars;  // argument behind each scalar slot
    std::vector<int32_t> written;  // positions in `fields`
    std::vector<int32_t> units;    // arguments with a required unit stride
    int32_t registers = 1;
    std::vector<Load> loads;  // first the loads, in any order, then the code
    std::vector<ScalarLoad> scalar_loads;
    std::vector<Instruction> code;
    std::vector<std::vector<int32_t>> slots{{}};  // of tables; the first are all slots
    std::vector<Operand> ints;
    std::vector<Access> accesses;
    bool repeats = false;  // some access writes several boxes of one argument
    std::vector<Inside> inside;  // every range of every box, once
    std::vector<Alike> alike;
    std::vector<Known> known;
    Operand workspace;
    int32_t stepped = -1;  // integer that selects one statement, from 1 on; 0: all
    int32_t clamped = -1;  // integer that is 1 if a box with a hard part leads out of its argument
    bool is_inside = false;  // such a call runs `Entry::beyond` instead

    // How much the plan demands of layout, ranges and tables: of two plans that fit, the more
    // demanding one is faster.
    size_t demands() const {
        size_t whole = 0;
        for (int32_t i : tables) whole += !arguments[i].skip;
        return units.size() + whole + alike.size() + known.size();
    }
};

// Translates the Python plan and verifies it on the way; throws nanobind::python_error or
// std::invalid_argument.
CallPlan read_plan(PyObject* plan);

}  // namespace fieldforge
