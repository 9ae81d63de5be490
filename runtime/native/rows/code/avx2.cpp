#include "vectors.h"

namespace fieldforge::rows {
namespace {

constexpr int spare = 15, tail_lanes = 14;

class Avx2 final : public Vectors {
   public:
    Avx2(Assembler& to, int size) : Vectors(to, size, 32, 14, 0, 4) {}

    // Reads ones and zeros from where so many ones are left.
    void begin_tail(Gpr lanes) override {
        to_.constant(~uint64_t{0}, 4);
        to_.address_of_constant(rax, to_.constant(0, 4));
        to_.negate(lanes);
        to_.vex(form(0x10), tail_lanes, 0, Source::memory(rax, lanes, size_, 0));
    }
    void load(int to, const Source& from, bool is_tail) override {
        if (is_tail) return masked(to, tail_lanes, from);
        to_.vex(form(0x10), to, 0, from);
    }
    void store(int from, const Source& to, bool is_tail) override {
        if (!is_tail) return to_.vex(form(0x11), from, 0, to);
        to_.vex(narrow(is_wide_ ? 0x2f : 0x2e), from, tail_lanes, to);  // vmaskmov
    }
    void stream(int from, const Source& to) override { to_.vex(form(0x2b), from, 0, to); }
    void broadcast(int to, Gpr from) override { to_.vex(narrow(is_wide_ ? 0x19 : 0x18), to, 0, Source::memory(from, rsp, 1, 0)); }
    void copy(int to, int from) override { to_.vex(form(0x28), to, 0, Source::vector(from)); }
    void binary(Binary op, int to, int a, const Source& b) override { to_.vex(form(static_cast<uint8_t>(op)), to, a, b); }
    void extreme(Binary op, int to, int a, const Source& b) override {
        binary(op, to, a, b);
        compare(3, spare, a, Source::vector(a));  // unordered
        select(to, spare, Source::vector(a), to);
    }
    void root(int to, const Source& a) override { to_.vex(form(0x51), to, 0, a); }
    void drop_sign(int to, int a) override { bits(0x54, to, a, ~sign()); }
    void change_sign(int to, int a) override { bits(0x57, to, a, sign()); }
    void multiply_add(uint8_t opcode, int to, int other, const Source& last) override { to_.vex(form_38(opcode), to, other, last); }
    void compare(uint8_t predicate, int mask, int a, const Source& b) override {
        to_.vex(form(0xc2), mask, a, b);
        to_.write({predicate});
    }
    void select(int to, int mask, const Source& a, int b) override {
        to_.vex({map_0f3a, p66, false, static_cast<uint8_t>(is_wide_ ? 0x4b : 0x4a), 1}, to, b, a);  // vblendv
        to_.write({static_cast<uint8_t>(mask << 4)});
    }
    void load_where(int to, int mask, const Source& from, bool is_tail) override {
        if (is_tail) to_.vex(form(0x54), spare, mask, Source::vector(tail_lanes));
        masked(to, is_tail ? spare : mask, from);
    }
    // Conditions lie in blocks, which have room behind their lanes.
    void load_mask(int mask, const Source& bytes, bool) override {
        to_.vex({map_0f38, p66, false, static_cast<uint8_t>(is_wide_ ? 0x32 : 0x31), 1}, mask, 0, bytes);  // vpmovzx
        // the last bit becomes the first
        to_.vex({map_0f, p66, false, static_cast<uint8_t>(is_wide_ ? 0x73 : 0x72), 1}, 6, mask, Source::vector(mask));
        to_.write({static_cast<uint8_t>(is_wide_ ? 63 : 31)});
    }
    // Bits become bytes in a register that is free, or that is restored where `rax` has the address.
    void store_mask(int mask, const Source& bytes, bool) override {
        const Gpr bits = bytes.base == rax ? rcx : rax;
        if (bits != rax) to_.push(bits);
        to_.vex(form(0x50), bits, 0, Source::vector(mask));  // vmovmsk
        const Source places = Source::constant(to_.constant(0x0101010101010101, 1), false);
        to_.vex({map_0f38, pf2, true, 0xf5, 0}, bits, bits, places);  // pdep
        to_.store(bits, bytes, lanes() == 8);
        if (bits != rax) to_.pop(bits);
    }
    void mask_of_flag(int mask) override {
        to_.write({0x0f, 0x95, 0xc0, 0x0f, 0xb6, 0xc0, 0xf7, 0xd8});  // setne al; movzx eax, al; neg eax
        to_.vex({map_0f, p66, false, 0x6e, 0}, mask, 0, Source::vector(rax));       // vmovd
        to_.vex({map_0f38, p66, false, 0x58, 1}, mask, 0, Source::vector(mask));  // vpbroadcastd
    }

   private:
    Form narrow(uint8_t opcode) const { return {map_0f38, p66, false, opcode, 1}; }
    void masked(int to, int mask, const Source& from) { to_.vex(narrow(is_wide_ ? 0x2d : 0x2c), to, mask, from); }
    void bits(uint8_t opcode, int to, int a, uint64_t constant) {
        to_.vex(form(opcode), to, a, Source::constant(to_.constant(constant, 4), false));
    }
};

}  // namespace

std::unique_ptr<Vectors> avx2(Assembler& to, int size) { return std::make_unique<Avx2>(to, size); }

}  // namespace fieldforge::rows
