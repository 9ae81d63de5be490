#include "body.h"

#include <algorithm>
#include <array>

namespace fieldforge::rows {

using Op = Instruction::Op;

bool Body::write(bool may_spill) {
    may_spill_ = may_spill;
    const size_t count = code_.instructions.size(), rows = traffic_.asked.size();
    size_t asked = 0;
    for (at_ = 0; at_ < count && !has_failed_; ++at_) {
        for (; asked < rows && asked * count <= at_ * rows; ++asked) ask(traffic_.asked[asked]);
        write(code_.instructions[at_]);
    }
    return !has_failed_;
}

// --- values -------------------------------------------------------------------------------------

bool Body::is_last(int number) const {
    const auto& uses = value(number).uses;
    return uses.empty() || uses.back() <= static_cast<int>(at_);
}

int Body::next_use(int number) const {
    const auto& uses = value(number).uses;
    const auto found = std::lower_bound(uses.begin(), uses.end(), static_cast<int>(at_));
    return found == uses.end() ? static_cast<int>(code_.instructions.size()) : *found;
}

bool Body::is_operand(int number) const {
    const auto& in = code_.instructions[at_].in;
    return std::find(std::begin(in), std::end(in), number) != std::end(in);
}

// --- registers ----------------------------------------------------------------------------------

int Body::reg(int number, int copy) {
    const auto fixed = fixed_.ones.find(number);
    return fixed != fixed_.ones.end() ? fixed->second : groups_of(number).register_of(group(number), copy);
}

void Body::take(int number) {
    if (has_failed_) return;
    Groups& groups = groups_of(number);
    int found = groups.take(number);
    if (found < 0 && may_spill_ && &groups == &groups_) {
        evict();
        found = groups.take(number);
    }
    has_failed_ = found < 0;
    group(number) = found;
}

// Frees the registers of the value whose next use comes last; if memory does not have it, the stack gets it.
void Body::evict() {
    int found = -1;
    for (const int each : groups_.values()) {
        if (each < 0 || each == made_ || is_operand(each)) continue;
        if (found < 0 || next_use(each) > next_use(found)) found = each;
    }
    if (found < 0) return;
    int& place = spilled_[static_cast<size_t>(found)];
    if (value(found).kind == Value::Kind::computed && place < 0) {
        place = spills_++;
        stack_ = spills_ * copies_;
        for (int i = 0; i < copies_; ++i) vectors_.store(reg(found, i), on_stack(place, i), false);
    }
    leave(found);
}

void Body::leave(int number) {
    if (number < 0 || group(number) < 0) return;
    groups_of(number).give_back(group(number));
    group(number) = -1;
}

void Body::leave_operands(const Instruction& now) {
    for (const int each : now.in) {
        if (each >= 0 && is_last(each)) leave(each);
    }
}

// Brings a value to registers.
void Body::hold(int number) {
    if (is_fixed(number) || group(number) >= 0) return;
    take(number);
    if (has_failed_) return;
    const Value& each = value(number);
    if (each.is_mask && each.kind == Value::Kind::one) {
        to_.compare_byte(address_of_one(each.from), 0);
        for (int i = 0; i < copies_; ++i) vectors_.mask_of_flag(reg(number, i));
        return;
    }
    for (int i = 0; i < copies_; ++i) load(number, i);
}

void Body::load(int number, int copy) {
    const Value& each = value(number);
    const int place = spilled_[static_cast<size_t>(number)], to = reg(number, copy);
    if (place >= 0) {
        vectors_.load(to, on_stack(place, copy), false);
    } else if (each.kind == Value::Kind::one) {
        vectors_.broadcast(to, address_of_one(each.from));
    } else if (each.is_mask) {
        vectors_.load_mask(to, bytes(each.from.slot, copy), is_tail_);
    } else {
        vectors_.load(to, memory(each, copy), is_tail_);
    }
}

// --- memory -------------------------------------------------------------------------------------

Gpr Body::base(int32_t slot) {
    const auto found = fixed_.bases.find(slot);
    if (found != fixed_.bases.end()) return found->second;
    to_.load(rax, pointers, place_of(slot));
    return rax;
}

Gpr Body::address_of_one(const Operand& operand) {
    if (operand.extra == 0) return base(operand.slot);
    to_.multiply(rax, row, operand.extra);
    to_.add_from(rax, pointers, place_of(operand.slot));
    return rax;
}

Source Body::memory(int32_t slot, bool is_row, int copy) {
    return Source::memory(base(slot), is_row ? row_lane : block_lane, code_.size, copy * vectors_.bytes());
}

Source Body::bytes(int32_t slot, int copy) { return Source::memory(base(slot), block_lane, 1, copy * vectors_.lanes()); }

Source Body::on_stack(int place, int copy) const {
    return Source::memory(rsp, rsp, 1, (place * copies_ + copy) * vectors_.bytes());
}

void Body::ask(int32_t slot) {
    constexpr int line = 64;
    const Gpr from = base(slot);
    for (int i = 0; i < copies_ * vectors_.bytes(); i += line) to_.prefetch(from, row_lane, code_.size, i);
}

// Whether the only instruction that reads a value reads it from memory.
bool Body::is_folded(int number) const {
    const Value& each = value(number);
    if (is_tail_ || each.is_mask || is_fixed(number) || group(number) >= 0 || each.uses.size() != 1) return false;
    return each.kind == Value::Kind::memory || (each.kind == Value::Kind::one && vectors_.folds_ones());
}

void Body::prepare(int number) {
    if (!is_folded(number)) hold(number);
}

Source Body::source(int number, int copy) {
    if (!is_folded(number)) return Source::vector(reg(number, copy));
    const Value& each = value(number);
    return each.kind == Value::Kind::one ? Source::one(address_of_one(each.from)) : memory(each, copy);
}

// --- instructions -------------------------------------------------------------------------------

void Body::write(const Instruction& now) {
    made_ = now.out;
    const int a = now.in[0];
    switch (now.op) {
        case Op::add: return binary(now, Binary::add, true);
        case Op::sub: return binary(now, Binary::sub, false);
        case Op::mul: return binary(now, Binary::mul, true);
        case Op::div: return binary(now, Binary::div, false);
        case Op::minimum: return extreme(now, Binary::minimum);
        case Op::maximum: return extreme(now, Binary::maximum);
        case Op::sqrt: prepare(a); return with_result(now, a, [&](int to, const int*, const Source& from) { vectors_.root(to, from); });
        case Op::load: prepare(a); return with_result(now, a, [&](int to, const int*, const Source& from) { vectors_.load(to, from, false); });
        case Op::abs: hold(a); return with_result(now, a, [&](int to, const int* in, const Source&) { vectors_.drop_sign(to, in[0]); });
        case Op::neg: hold(a); return with_result(now, a, [&](int to, const int* in, const Source&) { vectors_.change_sign(to, in[0]); });
        case Op::fma: return multiply_add(now);
        case Op::compare:
            hold(a), prepare(now.in[1]);
            return with_result(now, now.in[1], [&](int to, const int* in, const Source& from) { vectors_.compare(now.how, to, in[0], from); });
        case Op::select:
            hold(a), hold(now.in[2]), prepare(now.in[1]);
            return with_result(now, now.in[1], [&](int to, const int* in, const Source& from) { vectors_.select(to, in[0], from, in[2]); });
        case Op::when: return when(now);
        case Op::store: return store(now);
    }
}

// Calls `write(result, registers of operands, last operand)` for each copy. The result may take the
// registers of an operand that is read for the last time.
template <class Write>
void Body::with_result(const Instruction& now, int last, const Write& write) {
    if (has_failed_) return;
    std::vector<std::array<int, 3>> in(static_cast<size_t>(copies_));
    std::vector<Source> from(static_cast<size_t>(copies_));
    const bool is_memory = is_folded(last);
    for (int i = 0; i < copies_; ++i) {
        for (size_t k = 0; k < 3; ++k) {
            if (now.in[k] >= 0 && !is_folded(now.in[k])) in[static_cast<size_t>(i)][k] = reg(now.in[k], i);
        }
        if (!is_memory) from[static_cast<size_t>(i)] = source(last, i);
    }
    leave_operands(now);
    take(now.out);
    for (int i = 0; i < copies_ && !has_failed_; ++i) {
        const auto at = static_cast<size_t>(i);
        write(reg(now.out, i), in[at].data(), is_memory ? source(last, i) : from[at]);
    }
    if (is_last(now.out)) leave(now.out);
}

void Body::binary(const Instruction& now, Binary op, bool may_swap) {
    const bool swaps = may_swap && is_folded(now.in[0]);
    const int first = swaps ? 1 : 0, last = now.in[1 - first];
    hold(now.in[first]);
    prepare(last);
    with_result(now, last, [&](int to, const int* in, const Source& from) { vectors_.binary(op, to, in[first], from); });
}

void Body::extreme(const Instruction& now, Binary op) {
    hold(now.in[0]);
    prepare(now.in[1]);
    take(now.out);
    for (int i = 0; i < copies_ && !has_failed_; ++i) vectors_.extreme(op, reg(now.out, i), reg(now.in[0], i), source(now.in[1], i));
    leave_operands(now);
    if (is_last(now.out)) leave(now.out);
}

// The sum goes to the registers of an operand that is not read again, or to new ones.
void Body::multiply_add(const Instruction& now) {
    constexpr uint8_t adds_to[] = {0xb8, 0xbc, 0xba, 0xbe}, multiplies[] = {0xa8, 0xac, 0xaa, 0xae};
    int a = now.in[0], b = now.in[1];
    const int c = now.in[2];
    const auto is_free = [&](int each) {
        const bool is_twice = (each == a) + (each == b) + (each == c) > 1;
        return !is_twice && !is_fixed(each) && group(each) >= 0 && is_last(each);
    };
    if (!is_free(c) && is_free(b)) std::swap(a, b);
    if (!is_free(c) && is_free(a)) {
        hold(b);
        prepare(c);
        return accumulate(now, a, b, c, multiplies[now.how]);
    }
    if (is_folded(a)) std::swap(a, b);
    hold(a);
    hold(c);
    prepare(b);
    accumulate(now, c, a, b, adds_to[now.how]);
}

// Writes an instruction whose result takes the place of its operand `into`.
void Body::accumulate(const Instruction& now, int into, int other, int last, uint8_t opcode) {
    if (has_failed_) return;
    const bool stays = is_fixed(into) || !is_last(into) || into == other || into == last;
    if (stays) {
        take(now.out);
        for (int i = 0; i < copies_ && !has_failed_; ++i) vectors_.copy(reg(now.out, i), reg(into, i));
    } else {
        groups_.assign(group(into), now.out);
        group(now.out) = group(into);
        group(into) = -1;
    }
    for (int i = 0; i < copies_ && !has_failed_; ++i) vectors_.multiply_add(opcode, reg(now.out, i), reg(other, i), source(last, i));
    leave_operands(now);
    if (is_last(now.out)) leave(now.out);
}

void Body::when(const Instruction& now) {
    hold(now.in[1]);
    take(now.out);
    for (int i = 0; i < copies_ && !has_failed_; ++i) {
        vectors_.load_where(reg(now.out, i), reg(now.in[1], i), memory(value(now.in[0]), i), is_tail_);
    }
    leave_operands(now);
    if (is_last(now.out)) leave(now.out);
}

void Body::store(const Instruction& now) {
    const int from = now.in[0];
    hold(from);
    if (has_failed_) return;
    if (now.streams && traffic_.streams && !is_tail_) {
        stream(now);
    } else if (value(from).is_mask) {
        for (int i = 0; i < copies_; ++i) vectors_.store_mask(reg(from, i), bytes(now.to.slot, i), is_tail_);
    } else {
        for (int i = 0; i < copies_; ++i) vectors_.store(reg(from, i), memory(now.to.slot, now.is_row, i), is_tail_);
    }
    leave_operands(now);
}

// Stores past the caches where the row lies on their lines.
void Body::stream(const Instruction& now) {
    const auto place = [&](int i) { return Source::memory(rax, rsp, 1, i * vectors_.bytes()); };
    const int from = now.in[0];
    to_.address(rax, base(now.to.slot), row_lane, code_.size, 0);
    to_.test_low_bits(static_cast<uint8_t>(vectors_.bytes() - 1));
    const size_t beside = to_.jump(Assembler::unequal);
    for (int i = 0; i < copies_; ++i) vectors_.stream(reg(from, i), place(i));
    const size_t done = to_.jump();
    to_.here(beside);
    for (int i = 0; i < copies_; ++i) vectors_.store(reg(from, i), place(i), false);
    to_.here(done);
}

}  // namespace fieldforge::rows
