// The instructions of a chain, written once for some vectors of lanes.
#pragma once

#include <map>

#include "emitter.h"
#include "registers.h"
#include "vectors.h"

namespace fieldforge::rows {

// The arguments of a chain, what stays in registers, and what is free: rax.
constexpr Gpr pointers = rdi, row_lane = rsi, block_lane = rdx, row = rcx, lanes_left = r8;

inline int32_t place_of(int32_t slot) { return slot * 8; }

struct Fixed {
    std::map<int, int> ones;       // vector registers of numbers that all lanes have, by value
    std::map<int32_t, Gpr> bases;  // registers of pointers, by slot
};

class Body {
   public:
    // In the `tail` only some lanes of one vector are read and written.
    Body(Assembler& to, Vectors& vectors, const Straight& code, const Traffic& traffic, const Fixed& fixed, int copies, bool is_tail)
        : to_(to), vectors_(vectors), code_(code), traffic_(traffic), fixed_(fixed), copies_(copies), is_tail_(is_tail),
          groups_(0, vectors.registers() - static_cast<int>(fixed.ones.size()), copies),
          masks_(vectors.first_mask(), vectors.masks(), copies), group_(code.values.size(), -1), spilled_(code.values.size(), -1) {}

    // False if there are too few registers: of values only where they may not go to the stack.
    bool write(bool may_spill);
    int stack() const { return stack_; }  // how many vectors lie there

   private:
    const Value& value(int number) const { return code_.values[static_cast<size_t>(number)]; }
    bool is_last(int number) const;
    int next_use(int number) const;
    bool is_fixed(int number) const { return fixed_.ones.count(number) > 0; }
    bool is_operand(int number) const;

    Groups& groups_of(int number) { return value(number).is_mask && vectors_.masks() > 0 ? masks_ : groups_; }
    int& group(int number) { return group_[static_cast<size_t>(number)]; }
    int group(int number) const { return group_[static_cast<size_t>(number)]; }
    int reg(int number, int copy);
    void take(int number);
    void evict();
    void leave(int number);
    void leave_operands(const Instruction& now);
    void hold(int number);
    void load(int number, int copy);

    Gpr base(int32_t slot);
    Gpr address_of_one(const Operand& operand);
    Source memory(const Value& each, int copy) { return memory(each.from.slot, each.is_row, copy); }
    Source memory(int32_t slot, bool is_row, int copy);
    Source bytes(int32_t slot, int copy);
    Source on_stack(int place, int copy) const;
    void ask(int32_t slot);

    bool is_folded(int number) const;
    void prepare(int number);
    Source source(int number, int copy);

    void write(const Instruction& now);
    template <class Write>
    void with_result(const Instruction& now, int last, const Write& write);
    void binary(const Instruction& now, Binary op, bool may_swap);
    void extreme(const Instruction& now, Binary op);
    void multiply_add(const Instruction& now);
    void accumulate(const Instruction& now, int into, int other, int last, uint8_t opcode);
    void when(const Instruction& now);
    void store(const Instruction& now);
    void stream(const Instruction& now);

    Assembler& to_;
    Vectors& vectors_;
    const Straight& code_;
    const Traffic& traffic_;
    const Fixed& fixed_;
    const int copies_;
    const bool is_tail_;
    Groups groups_, masks_;
    std::vector<int> group_, spilled_;  // by value, or -1
    bool may_spill_ = false, has_failed_ = false;
    size_t at_ = 0;
    int made_ = -1, spills_ = 0, stack_ = 0;
};

}  // namespace fieldforge::rows
