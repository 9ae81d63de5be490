#include "emitter.h"

#include <algorithm>
#include <cstring>

#include "body.h"

namespace fieldforge::rows {
namespace {

// The keys that are counted most often, at most so many.
template <class Key>
std::vector<Key> most_frequent(const std::map<Key, int>& counts, size_t most) {
    std::vector<std::pair<int, Key>> order;
    for (const auto& [key, count] : counts) order.emplace_back(-count, key);
    std::sort(order.begin(), order.end());
    std::vector<Key> found;
    for (size_t i = 0; i < std::min(most, order.size()); ++i) found.push_back(order[i].second);
    return found;
}

class Function {
   public:
    Function(Vectors::Class processors, const Straight& code, const Traffic& traffic)
        : code_(code), traffic_(traffic), vectors_(Vectors::of(processors, to_, code.size)) {
        fix_ones();
        fix_bases();
    }

    std::vector<uint8_t> write() {
        const size_t room = enter();
        for (const int copies : {4, 2, 1}) add_loop(copies);
        if (!has_loop_) return {};
        to_.compare(lanes_left, 0);
        const size_t done = to_.jump(Assembler::equal);
        vectors_->begin_tail(lanes_left);
        if (!body(1, true)) return {};
        to_.here(done);
        const int32_t bytes = stack_ * vectors_->bytes();
        std::memcpy(to_.bytes.data() + room - sizeof bytes, &bytes, sizeof bytes);
        leave(bytes);
        to_.finish();
        return std::move(to_.bytes);
    }

   private:
    static constexpr Gpr bases[] = {r9, r10, r11, rbx, rbp, r12, r13, r14, r15};
    static constexpr size_t saved_from = 3;  // bases from here on belong to the caller
    static constexpr size_t most_written = 400;  // instructions of an unrolled loop

    void fix_ones() {
        std::map<int, int> uses;
        for (size_t i = 0; i < code_.values.size(); ++i) {
            const Value& each = code_.values[i];
            if (each.kind == Value::Kind::one && !each.is_mask) uses[static_cast<int>(i)] = static_cast<int>(each.uses.size());
        }
        int next = vectors_->registers();
        for (const int each : most_frequent(uses, static_cast<size_t>(vectors_->most_hoisted()))) fixed_.ones[each] = --next;
    }

    void fix_bases() {
        std::map<int32_t, int> uses;
        for (const Value& each : code_.values) {
            if (each.kind == Value::Kind::memory) uses[each.from.slot] += static_cast<int>(each.uses.size());
        }
        for (const Instruction& each : code_.instructions) {
            if (each.op == Instruction::Op::store) ++uses[each.to.slot];
        }
        for (const int32_t slot : traffic_.asked) ++uses[slot];
        size_t next = 0;
        for (const int32_t each : most_frequent(uses, std::size(bases))) fixed_.bases[each] = bases[next++];
    }

    // Returns where the number of bytes of the stack ends.
    size_t enter() {
        to_.write({0xf3, 0x0f, 0x1e, 0xfa});  // endbr64
        for (size_t i = saved_from; i < fixed_.bases.size(); ++i) to_.push(bases[i]);
        to_.subtract(rsp, 0);
        const size_t room = to_.bytes.size();
        for (const auto& [value, reg] : fixed_.ones) {
            const Operand& from = code_.values[static_cast<size_t>(value)].from;
            to_.load(rax, pointers, place_of(from.slot));
            if (from.extra != 0) {
                to_.multiply(r9, row, from.extra);
                to_.add(rax, r9);
            }
            vectors_->broadcast(reg, rax);
        }
        for (const auto& [slot, base] : fixed_.bases) to_.load(base, pointers, place_of(slot));
        return room;
    }

    void leave(int32_t bytes) {
        to_.add(rsp, bytes);
        for (size_t i = fixed_.bases.size(); i > saved_from; --i) to_.pop(bases[i - 1]);
        to_.write({0xc5, 0xf8, 0x77, 0xc3});  // vzeroupper; ret
    }

    bool body(int copies, bool is_tail) {
        Body made(to_, *vectors_, code_, traffic_, fixed_, copies, is_tail);
        if (!made.write(copies == 1)) return false;
        stack_ = std::max(stack_, made.stack());
        return true;
    }

    // Adds a loop over so many vectors at a time, if registers hold them; of several one is enough.
    void add_loop(int copies) {
        const bool is_too_long = code_.instructions.size() * static_cast<size_t>(copies) > most_written;
        if (copies > 1 && (has_loop_ || is_too_long)) return;
        const Assembler before = to_;
        const int lanes = copies * vectors_->lanes();
        to_.compare(lanes_left, lanes);
        const size_t rest = to_.jump(Assembler::less), begin = to_.bytes.size();
        has_loop_ = body(copies, false);
        if (!has_loop_) {
            to_ = before;
            return;
        }
        to_.add(row_lane, lanes);
        to_.add(block_lane, lanes);
        to_.subtract(lanes_left, lanes);
        to_.compare(lanes_left, lanes);
        to_.jump_back(Assembler::not_less, begin);
        to_.here(rest);
    }

    const Straight& code_;
    const Traffic& traffic_;
    Assembler to_;
    const std::unique_ptr<Vectors> vectors_;
    Fixed fixed_;
    int stack_ = 0;  // vectors
    bool has_loop_ = false;
};

}  // namespace

std::vector<uint8_t> machine_code(Vectors::Class processors, const Straight& straight, const Traffic& traffic) {
    return Function(processors, straight, traffic).write();
}

}  // namespace fieldforge::rows
