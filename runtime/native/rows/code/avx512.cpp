#include "vectors.h"

namespace fieldforge::rows {
namespace {

constexpr int spare = 31, tail_mask = 1, spare_mask = 7;

class Avx512 final : public Vectors {
   public:
    Avx512(Assembler& to, int size) : Vectors(to, size, 64, 31, 5, 10) {}

    void begin_tail(Gpr lanes) override {
        to_.write({0xb8, 0xff, 0xff, 0xff, 0xff});                                             // mov eax, -1
        to_.vex({map_0f38, none, false, 0xf5, 0}, rax, lanes, Source::vector(rax));            // bzhi eax, eax, lanes
        to_.vex({map_0f, pf2, false, 0x92, 0}, tail_mask, 0, Source::vector(rax));             // kmovd k1, eax
    }
    void load(int to, const Source& from, bool is_tail) override { to_.evex(form(0x10), to, 0, from, tail(is_tail, true)); }
    void store(int from, const Source& to, bool is_tail) override { to_.evex(form(0x11), from, 0, to, tail(is_tail, false)); }
    void stream(int from, const Source& to) override { to_.evex(form(0x2b), from, 0, to); }
    void broadcast(int to, Gpr from) override {
        Form how = form_38(is_wide_ ? 0x19 : 0x18);
        how.memory = static_cast<uint8_t>(size_);
        to_.evex(how, to, 0, Source::memory(from, rsp, 1, 0));
    }
    void copy(int to, int from) override { to_.evex(form(0x28), to, 0, Source::vector(from)); }
    void binary(Binary op, int to, int a, const Source& b) override { to_.evex(form(static_cast<uint8_t>(op)), to, a, b); }
    void extreme(Binary op, int to, int a, const Source& b) override {
        binary(op, to, a, b);
        compare(3, spare_mask, a, Source::vector(a));  // unordered
        to_.evex(form(0x28), to, 0, Source::vector(a), {spare_mask, false});
    }
    void root(int to, const Source& a) override { to_.evex(form(0x51), to, 0, a); }
    void drop_sign(int to, int a) override { bits(0xdb, to, a, ~sign()); }
    void change_sign(int to, int a) override { bits(0xef, to, a, sign()); }
    void multiply_add(uint8_t opcode, int to, int other, const Source& last) override { to_.evex(form_38(opcode), to, other, last); }
    void compare(uint8_t predicate, int mask, int a, const Source& b) override {
        to_.evex(form(0xc2), mask, a, b);
        to_.write({predicate});
    }
    void select(int to, int mask, const Source& a, int b) override { to_.evex(form_38(0x65), to, b, a, {mask, false}); }
    void load_where(int to, int mask, const Source& from, bool is_tail) override {
        if (is_tail) to_.vex({map_0f, none, false, 0x41, 1}, spare_mask, mask, Source::vector(tail_mask));  // kandw
        to_.evex(form(0x10), to, 0, from, {is_tail ? spare_mask : mask, true});
    }
    void load_mask(int mask, const Source& bytes, bool is_tail) override {
        Form widens{map_0f38, p66, false, static_cast<uint8_t>(is_wide_ ? 0x32 : 0x31), 2, static_cast<uint8_t>(lanes())};
        if (is_tail) to_.evex({map_0f, pf2, false, 0x6f, 0, 16}, spare, 0, bytes, tail(true, true));
        to_.evex(widens, spare, 0, is_tail ? Source::vector(spare) : bytes);
        to_.evex({map_0f38, p66, is_wide_, 0x27}, mask, spare, Source::vector(spare));  // vptestm
    }
    void store_mask(int mask, const Source& bytes, bool is_tail) override {
        to_.evex({map_0f38, pf3, false, 0x28, 0}, spare, 0, Source::vector(mask));   // vpmovm2b
        to_.evex({map_0f38, p66, false, 0x1c, 0}, spare, 0, Source::vector(spare));  // vpabsb
        if (is_tail || !is_wide_) {
            to_.evex({map_0f, pf2, false, 0x7f, 0, 16}, spare, 0, bytes, tail(is_tail, false));  // vmovdqu8
        } else {
            to_.evex({map_0f, p66, true, 0xd6, 0, 8}, spare, 0, bytes);  // vmovq
        }
    }
    void mask_of_flag(int mask) override {
        to_.write({0x0f, 0x95, 0xc0, 0x0f, 0xb6, 0xc0, 0xf7, 0xd8});  // setne al; movzx eax, al; neg eax
        to_.vex({map_0f, pf2, false, 0x92, 0}, mask, 0, Source::vector(rax));
    }

   private:
    static Masked tail(bool is_tail, bool zeroes) { return is_tail ? Masked{tail_mask, zeroes} : Masked{}; }
    void bits(uint8_t opcode, int to, int a, uint64_t constant) {
        to_.evex({map_0f, p66, is_wide_, opcode}, to, a, Source::constant(to_.constant(constant, 1), true));
    }
};

}  // namespace

std::unique_ptr<Vectors> avx512(Assembler& to, int size) { return std::make_unique<Avx512>(to, size); }

}  // namespace fieldforge::rows
