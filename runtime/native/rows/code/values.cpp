#include "values.h"

#include <algorithm>
#include <map>

namespace fieldforge::rows {
namespace {

using Op = Instruction::Op;

struct Named {
    std::string_view name;
    Op op;
    uint8_t how;
};
// Comparisons with the predicates of the processor: false with NaN, `ne` true, none signals.
constexpr Named named[] = {
    {"add", Op::add, 0},           {"sub", Op::sub, 0},         {"mul", Op::mul, 0},
    {"div", Op::div, 0},           {"minimum", Op::minimum, 0}, {"maximum", Op::maximum, 0},
    {"sqrt", Op::sqrt, 0},         {"abs", Op::abs, 0},         {"neg", Op::neg, 0},
    {"fma", Op::fma, 0},           {"select", Op::select, 0},   {"lt", Op::compare, 0x11},
    {"le", Op::compare, 0x12},     {"gt", Op::compare, 0x1e},   {"ge", Op::compare, 0x1d},
    {"eq", Op::compare, 0x00},     {"ne", Op::compare, 0x04},
};

class Maker {
   public:
    Maker(const Nest& nest, const Uses& uses, const Steps& steps) : nest_(nest), uses_(uses), steps_(steps) {
        made_.size = steps.size;
        for (size_t i = 0; i < steps.code.size(); ++i) {
            if (steps_.kept.count(steps.code[i].out.slot) > 0) last_[steps.code[i].out.slot] = i;
        }
    }

    bool run() {
        for (at_ = 0; at_ < steps_.code.size(); ++at_) {
            if (!add(steps_.code[at_])) return false;
        }
        return true;
    }
    Straight take() { return std::move(made_); }

   private:
    bool add(const Step& step) {
        if (step.kind == Step::Kind::load) {
            Instruction made{Op::when};
            made.in[0] = value_at({step.access}, false), made.in[1] = value_at(step.b, true);
            return set(step, std::move(made), false);
        }
        const Shape shape = shape_of(step);
        if (shape.op == "copy") return copy(step);
        const auto found = std::find_if(std::begin(named), std::end(named), [&](const Named& each) { return each.name == shape.op; });
        if (found == std::end(named)) return false;
        Instruction made{found->op, found->how};
        if (made.op == Op::fma) made.how = step.minus;
        const Place places[] = {step.a, step.b, step.c};
        for (int i = 0; i < 3; ++i) {
            const bool is_mask = made.op == Op::select && i == 0;
            if (is_mask && uses_.is_access(places[i].slot)) return false;  // bytes of a row
            if (places[i].slot >= 0) made.in[i] = value_at(places[i], is_mask);
        }
        return set(step, std::move(made), made.op == Op::compare);
    }

    // Gives the place that a step writes a value.
    bool set(const Step& step, Instruction made, bool is_mask) {
        made.out = new_value({Value::Kind::computed, is_mask});
        const int value = made.out;
        push(std::move(made));
        put(step, value);
        return true;
    }

    bool copy(const Step& step) {
        const int value = value_at(step.a, false);
        const bool is_memory = made_.values[static_cast<size_t>(value)].kind == Value::Kind::memory;
        if (is_memory && !uses_.is_access(step.out.slot)) {  // which may change before the copy is read
            Instruction made{Op::load};
            made.in[0] = value;
            return set(step, std::move(made), false);
        }
        put(step, value);
        return true;
    }

    void put(const Step& step, int value) {
        const int32_t slot = step.out.slot;
        if (!uses_.is_access(slot)) known_[{slot, made_.values[static_cast<size_t>(value)].is_mask}] = value;
        const auto last = last_.find(slot);
        if (!uses_.is_access(slot) && (last == last_.end() || last->second != at_)) return;
        Instruction store{Op::store};
        store.in[0] = value, store.to = uses_.operand(step.out).second, store.is_row = uses_.is_access(slot);
        store.streams = store.is_row && nest_.accesses[static_cast<size_t>(slot)].streams;
        push(std::move(store));
        if (store.is_row) forget_rows();
    }

    // Rows may share memory with one that was written.
    void forget_rows() {
        std::erase_if(known_, [this](const auto& each) {
            const Value& value = made_.values[static_cast<size_t>(each.second)];
            return uses_.is_access(each.first.first) && value.kind == Value::Kind::memory;
        });
    }

    int value_at(const Place& place, bool is_mask) {
        const auto known = known_.find({place.slot, is_mask});
        if (known != known_.end()) return known->second;
        const auto [is_one, operand] = uses_.operand(place);
        const Value made{is_one ? Value::Kind::one : Value::Kind::memory, is_mask, uses_.is_access(place.slot), operand, {}};
        return known_[{place.slot, is_mask}] = new_value(made);
    }

    int new_value(Value made) {
        made_.values.push_back(std::move(made));
        return static_cast<int>(made_.values.size()) - 1;
    }

    void push(Instruction made) {
        const int number = static_cast<int>(made_.instructions.size());
        for (const int value : made.in) {
            if (value < 0) continue;
            auto& uses = made_.values[static_cast<size_t>(value)].uses;
            if (uses.empty() || uses.back() != number) uses.push_back(number);
        }
        made_.instructions.push_back(std::move(made));
    }

    const Nest& nest_;
    const Uses& uses_;
    const Steps& steps_;
    Straight made_;
    std::map<std::pair<int32_t, bool>, int> known_;  // by slot, and whether it is read as a condition
    std::map<int32_t, size_t> last_;                 // the step that writes a block for the last time
    size_t at_ = 0;
};

}  // namespace

bool is_instruction(std::string_view op) {
    return op == "copy" || std::any_of(std::begin(named), std::end(named), [&](const Named& each) { return each.name == op; });
}

std::optional<Straight> straight(const Nest& nest, const Uses& uses, const Steps& steps) {
    Maker maker(nest, uses, steps);
    if (!maker.run()) return std::nullopt;
    return maker.take();
}

}  // namespace fieldforge::rows
