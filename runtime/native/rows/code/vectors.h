// The instructions on vectors that chains need, of one class of processors.
#pragma once

#include <memory>

#include "assembler.h"

namespace fieldforge::rows {

enum class Binary : uint8_t { add = 0x58, mul = 0x59, sub = 0x5c, minimum = 0x5d, div = 0x5e, maximum = 0x5f };

// Conditions are masks: of AVX-512 in registers of their own, else vectors of which each lane's first
// bit counts. In the last vector of a row, the tail, only some lanes are read and written.
class Vectors {
   public:
    enum class Class : uint8_t { none, avx2, avx512 };

    static std::unique_ptr<Vectors> of(Class processors, Assembler& to, int size);
    virtual ~Vectors() = default;

    int bytes() const { return bytes_; }
    int lanes() const { return bytes_ / size_; }
    int registers() const { return registers_; }  // that hold values
    int masks() const { return masks_; }          // registers of conditions; 0: those of values hold them
    int first_mask() const { return 2; }
    int most_hoisted() const { return most_hoisted_; }
    bool folds_ones() const { return masks_ > 0; }  // instructions read one number of memory for all lanes

    virtual void begin_tail(Gpr lanes) = 0;  // changes the register
    virtual void load(int to, const Source& from, bool is_tail) = 0;
    virtual void store(int from, const Source& to, bool is_tail) = 0;
    virtual void stream(int from, const Source& to) = 0;  // past the caches
    virtual void broadcast(int to, Gpr from) = 0;
    virtual void copy(int to, int from) = 0;
    virtual void binary(Binary op, int to, int a, const Source& b) = 0;
    // Takes `b` only where `a` is a number; `to` is another register than `a`.
    virtual void extreme(Binary op, int to, int a, const Source& b) = 0;
    virtual void root(int to, const Source& a) = 0;
    virtual void drop_sign(int to, int a) = 0;
    virtual void change_sign(int to, int a) = 0;
    virtual void multiply_add(uint8_t opcode, int to, int other, const Source& last) = 0;
    virtual void compare(uint8_t predicate, int mask, int a, const Source& b) = 0;
    virtual void select(int to, int mask, const Source& a, int b) = 0;
    virtual void load_where(int to, int mask, const Source& from, bool is_tail) = 0;
    virtual void load_mask(int mask, const Source& bytes, bool is_tail) = 0;
    virtual void store_mask(int mask, const Source& bytes, bool is_tail) = 0;
    virtual void mask_of_flag(int mask) = 0;  // of the comparison before, which it keeps, all lanes; changes rax

   protected:
    Vectors(Assembler& to, int size, int bytes, int registers, int masks, int most_hoisted)
        : to_(to), size_(size), is_wide_(size == 8), bytes_(bytes), registers_(registers), masks_(masks), most_hoisted_(most_hoisted) {}

    Form form(uint8_t opcode) const { return {map_0f, is_wide_ ? p66 : none, is_wide_, opcode, length(), static_cast<uint8_t>(bytes_)}; }
    Form form_38(uint8_t opcode) const { return {map_0f38, p66, is_wide_, opcode, length(), static_cast<uint8_t>(bytes_)}; }
    uint8_t length() const { return bytes_ == 64 ? 2 : 1; }
    uint64_t sign() const { return is_wide_ ? uint64_t{1} << 63 : uint64_t{0x80000000'80000000}; }

    Assembler& to_;
    const int size_;
    const bool is_wide_;

   private:
    const int bytes_, registers_, masks_, most_hoisted_;
};

std::unique_ptr<Vectors> avx512(Assembler& to, int size);
std::unique_ptr<Vectors> avx2(Assembler& to, int size);

inline std::unique_ptr<Vectors> Vectors::of(Class processors, Assembler& to, int size) {
    return processors == Class::avx512 ? avx512(to, size) : avx2(to, size);
}

}  // namespace fieldforge::rows
