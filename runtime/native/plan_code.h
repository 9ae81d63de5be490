// The integer programs of a plan, and how its Python data is read.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <array>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "plan.h"

namespace fieldforge {

[[noreturn]] inline void refuse_plan(const std::string& what) {
    throw std::invalid_argument("The argument plan is not well-formed: " + what + ".");
}

template <typename Value>
Value get(nanobind::handle object, const char* name) {
    return nanobind::cast<Value>(object.attr(name));
}

// Writes the register program of all codes of a plan. Sums with constants become no
// instructions, and equal values share a register.
class PlanCode {
   public:
    explicit PlanCode(CallPlan& plan) : plan_(plan) {}
    Operand compile(nanobind::handle code);

   private:
    using Key = std::array<int64_t, 6>;

    void push(nanobind::handle word, std::vector<Operand>& stack);
    Operand earlier(int64_t index) const;
    const Argument& argument_of(nanobind::handle word, bool is_field) const;
    Operand load_scalar(nanobind::handle word);
    Operand load_word(size_t offset, nanobind::handle word);
    Operand compute(Op op, Operand left, Operand right);
    void ask_table(const std::string& op, nanobind::handle word, std::vector<Operand>& stack);
    void ask_patches(nanobind::handle word, std::vector<Operand>& stack);
    int32_t place_slots(nanobind::handle word);
    std::pair<int32_t, bool> place(const Key& key);

    CallPlan& plan_;
    std::map<Key, int32_t> seen_;
};

}  // namespace fieldforge
