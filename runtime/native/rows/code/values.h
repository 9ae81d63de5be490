// The steps of a chain as instructions on values, each of which is set once.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "../uses.h"

namespace fieldforge::rows {

struct Value {
    enum class Kind : uint8_t { computed, memory, one } kind = Kind::computed;
    bool is_mask = false;     // conditions: bytes in memory, bits in registers
    bool is_row = false;      // in memory: of a row, else of a block
    Operand from;             // in memory, or one number
    std::vector<int> uses;    // the instructions that read it
};

struct Instruction {
    enum class Op : uint8_t { add, sub, mul, div, minimum, maximum, sqrt, abs, neg, fma, compare, select, when, load, store } op;
    uint8_t how = 0;     // `fma`: which signs change; `compare`: the predicate
    int out = -1;        // values
    int in[3] = {-1, -1, -1};
    Operand to;          // where `store` writes
    bool is_row = false;  // it writes a row, else a block
    bool streams = false;
};

struct Straight {
    std::vector<Value> values;
    std::vector<Instruction> instructions;
    int size = 8;
};

// Whether there is an instruction for an operation of floats.
bool is_instruction(std::string_view op);

// Nothing if some step has no instruction.
std::optional<Straight> straight(const Nest& nest, const Uses& uses, const Steps& steps);

}  // namespace fieldforge::rows
