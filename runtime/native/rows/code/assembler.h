// Writes machine code of x86-64, one instruction a call: what chains need.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace fieldforge::rows {

// General registers by their numbers in instructions.
enum Gpr : uint8_t { rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15 };

// A vector register, memory at `base + index * scale + offset`, or a constant behind the code.
struct Source {
    enum class Kind : uint8_t { vector, memory, constant } kind = Kind::vector;
    int number = 0;        // of the register or of the constant
    Gpr base = rax, index = rsp;  // `rsp`: no index
    int scale = 1;
    int32_t offset = 0;
    bool is_one = false;   // one number for all lanes

    static Source vector(int number) { return {Kind::vector, number}; }
    static Source constant(int number, bool is_one) { return {Kind::constant, number, rax, rsp, 1, 0, is_one}; }
    static Source memory(Gpr base, Gpr index, int scale, int32_t offset) {
        return {Kind::memory, 0, base, index, scale, offset};
    }
    static Source one(Gpr base) { return {Kind::memory, 0, base, rsp, 1, 0, true}; }
};

// The bytes of an opcode that say which table it is in: 0F, 0F 38 or 0F 3A, and its prefix.
enum Map : uint8_t { map_0f = 1, map_0f38 = 2, map_0f3a = 3 };
enum Prefix : uint8_t { none = 0, p66 = 1, pf3 = 2, pf2 = 3 };

// How an instruction on vectors is encoded.
struct Form {
    Map map;
    Prefix prefix;
    bool is_wide;  // W: of doubles
    uint8_t opcode;
    uint8_t length = 2;  // 0: 16 bytes, 1: 32, 2: 64
    uint8_t memory = 64;  // bytes that it reads or writes
};

struct Masked {
    int mask = 0;        // a mask register; 0: all lanes
    bool zeroes = false;  // the other lanes, which otherwise stay
};

class Assembler {
   public:
    std::vector<uint8_t> bytes;

    // Adds copies of 8 bytes that `Source::constant` names; they are placed by `finish`, in order.
    int constant(uint64_t value, int copies) {
        constants_.push_back({value, copies});
        return static_cast<int>(constants_.size()) - 1;
    }

    // Instructions of AVX-512 (EVEX).
    void evex(const Form& form, int reg, int other, const Source& source, Masked masked = {}) {
        const bool is_vector = source.kind == Source::Kind::vector;
        const int b = is_vector ? source.number : source.kind == Source::Kind::memory ? source.base : 0;
        const int x = is_vector ? source.number >> 1 : source.kind == Source::Kind::memory ? source.index : 0;
        const bool one = source.is_one && !is_vector;
        put(0x62);
        put(bit(!(reg & 8), 7) | bit(!(x & 8), 6) | bit(!(b & 8), 5) | bit(!(reg & 16), 4) | form.map);
        put(bit(form.is_wide, 7) | (~other & 15) << 3 | 4 | form.prefix);
        put(bit(masked.zeroes, 7) | form.length << 5 | bit(one, 4) | bit(!(other & 16), 3) | masked.mask);
        put(form.opcode);
        operand(reg, source, one ? (form.is_wide ? 8 : 4) : form.memory);
    }

    // Instructions of AVX2 (VEX).
    void vex(const Form& form, int reg, int other, const Source& source) {
        const bool is_vector = source.kind == Source::Kind::vector;
        const int b = is_vector ? source.number : source.kind == Source::Kind::memory ? source.base : 0;
        const int x = source.kind == Source::Kind::memory ? source.index : 0;
        put(0xc4);
        put(bit(!(reg & 8), 7) | bit(!(x & 8), 6) | bit(!(b & 8), 5) | form.map);
        put(bit(form.is_wide, 7) | (~other & 15) << 3 | bit(form.length != 0, 2) | form.prefix);
        put(form.opcode);
        operand(reg, source, 1);
    }

    // mov, add, lea of 64 bits with memory.
    void general(uint8_t opcode, int reg, Gpr base, int32_t offset) {
        put(0x48 | bit(reg & 8, 2) | bit(base & 8, 0));
        put(opcode);
        operand(reg, Source::memory(base, rsp, 1, offset), 1);
    }
    void load(Gpr to, Gpr base, int32_t offset) { general(0x8b, to, base, offset); }
    void add_from(Gpr to, Gpr base, int32_t offset) { general(0x03, to, base, offset); }
    void address(Gpr to, Gpr base, Gpr index, int scale, int32_t offset) {
        put(0x48 | bit(to & 8, 2) | bit(index & 8, 1) | bit(base & 8, 0));
        put(0x8d);
        operand(to, Source::memory(base, index, scale, offset), 1);
    }
    void multiply(Gpr to, Gpr from, int32_t by) {
        put(0x48 | bit(to & 8, 2) | bit(from & 8, 0));
        put(0x69);
        put(0xc0 | (to & 7) << 3 | (from & 7));
        put32(by);
    }
    void add(Gpr to, Gpr from) {
        put(0x48 | bit(from & 8, 2) | bit(to & 8, 0));
        put(0x01);
        put(0xc0 | (from & 7) << 3 | (to & 7));
    }
    void add(Gpr to, int32_t number) { immediate(0, to, number); }
    void subtract(Gpr from, int32_t number) { immediate(5, from, number); }
    void compare(Gpr one, int32_t number) { immediate(7, one, number); }
    void store(Gpr from, const Source& to, bool is_wide) {
        const int rex = bit(is_wide, 3) | bit(from & 8, 2) | bit(to.index & 8, 1) | bit(to.base & 8, 0);
        if (rex != 0) put(0x40 | rex);
        put(0x89);
        operand(from, to, 1);
    }
    void address_of_constant(Gpr to, int number) {
        put(0x48 | bit(to & 8, 2)), put(0x8d);
        operand(to, Source::constant(number, false), 1);
    }
    void negate(Gpr each) { put(0x48 | bit(each & 8, 0)), put(0xf7), put(0xd8 | (each & 7)); }
    void compare_byte(Gpr base, uint8_t number) {
        if (base & 8) put(0x41);
        put(0x80);
        operand(7, Source::memory(base, rsp, 1, 0), 1);
        put(number);
    }
    void test_low_bits(uint8_t bits) { put(0xa8), put(bits); }  // of rax
    void push(Gpr each) { stacked(0x50, each); }
    void pop(Gpr each) { stacked(0x58, each); }
    void prefetch(Gpr base, Gpr index, int scale, int32_t offset) {
        const int rex = bit(index & 8, 1) | bit(base & 8, 0);
        if (rex != 0) put(0x40 | rex);
        put(0x0f), put(0x18);
        operand(1, Source::memory(base, index, scale, offset), 1);
    }
    void write(std::initializer_list<uint8_t> given) { bytes.insert(bytes.end(), given); }

    // Jumps; those to what is not written yet are patched by `here`.
    enum Condition : uint8_t { equal = 4, unequal = 5, less = 12, not_less = 13 };
    size_t jump(Condition when) {
        put(0x0f), put(0x80 | when), put32(0);
        return bytes.size();
    }
    size_t jump() {
        put(0xe9), put32(0);
        return bytes.size();
    }
    void jump_back(Condition when, size_t to) {
        const size_t from = jump(when);
        patch(from, to);
    }
    void here(size_t jump) { patch(jump, bytes.size()); }

    // Places the constants behind the code.
    void finish() {
        while (bytes.size() % 8 != 0) put(0xcc);
        std::vector<size_t> places;
        for (const auto& [value, copies] : constants_) {
            places.push_back(bytes.size());
            for (int i = 0; i < 8 * copies; ++i) put(static_cast<uint8_t>(value >> (i % 8 * 8)));
        }
        for (const auto& [at, number] : used_) patch(at, places[static_cast<size_t>(number)]);
    }

   private:
    static int bit(bool value, int place) { return value ? 1 << place : 0; }
    void put(int byte) { bytes.push_back(static_cast<uint8_t>(byte)); }
    void put32(int32_t number) {
        for (int i = 0; i < 4; ++i) put(number >> (8 * i) & 255);
    }
    void patch(size_t end, size_t to) {
        const auto distance = static_cast<int32_t>(static_cast<int64_t>(to) - static_cast<int64_t>(end));
        std::memcpy(bytes.data() + end - 4, &distance, 4);
    }
    void stacked(int opcode, Gpr each) {
        if (each & 8) put(0x41);
        put(opcode | (each & 7));
    }
    void immediate(int operation, Gpr reg, int32_t number) {
        put(0x48 | bit(reg & 8, 0)), put(0x81), put(0xc0 | operation << 3 | (reg & 7)), put32(number);
    }

    // Writes a register and a register or memory; small offsets count in units of `each` bytes.
    void operand(int reg, const Source& source, int each) {
        const int high = (reg & 7) << 3;
        if (source.kind == Source::Kind::vector) {
            put(0xc0 | high | (source.number & 7));
            return;
        }
        if (source.kind == Source::Kind::constant) {
            put(0x05 | high), put32(0);
            used_.push_back({bytes.size(), source.number});
            return;
        }
        const int32_t small = source.offset / each;
        const bool is_small = source.offset % each == 0 && small >= -128 && small < 128;
        const int scale = source.scale == 8 ? 3 : source.scale == 4 ? 2 : source.scale == 2 ? 1 : 0;
        put((is_small ? 0x44 : 0x84) | high);
        put(scale << 6 | (source.index & 7) << 3 | (source.base & 7));
        is_small ? put(small & 255) : put32(source.offset);
    }

    struct Constant {
        uint64_t value;
        int copies;
    };
    std::vector<Constant> constants_;
    std::vector<std::pair<size_t, int>> used_;  // where an offset ends, and which constant it is to reach
};

}  // namespace fieldforge::rows
