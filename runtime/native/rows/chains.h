// Chains: steps that hand numbers on in registers.
//
// A chain works on a block of lanes at a time: as many as eight vector registers hold. The block is
// the arguments of each link, which computes, and calls the next link last: so compilers jump there,
// and numbers stay in registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fieldforge::rows {

struct Link;

// Where the operands of a chain lie: the pointers of a frame, and the indices into them.
struct Lanes {
    char* const* pointers;
    int64_t at[2];  // the first lane of accesses, and of blocks, which begin with the strip
    int64_t row;    // of single numbers that are computed for several rows at once
};

// In a row of memory, in a block, or one number for all lanes.
struct Operand {
    int32_t slot = 0;
    int32_t extra = 0;  // 1 for a block; of one number the bytes from row to row
};

constexpr int most_operands = 4;

struct Link {
    void (*run)();  // of a type that the class of processors decides
    Operand operands[most_operands];
};

constexpr int form_count = 4;  // numbers of lanes: the whole registers, a part of them, an eighth, one

struct NamedLink {
    const char* op;  // as in the list of `chains.cpp`
    uint8_t size;    // 4 or 8 bytes of a float
    uint8_t ones;    // bit by bit which operands are one number for all lanes
    void (*run[form_count])();
};

struct ChainTable {
    const NamedLink* links;
    size_t count;
    // Runs a chain of numbers of `size` bytes on `count` lanes from those of `lanes` on; `forms` are its
    // links for each number of lanes. If it may, it `repeats` some lanes rather than end with single
    // ones, and rather than begin beside the lines of a row whose first lane lies at `row`.
    void (*run)(const Link* const* forms, const Lanes& lanes, int size, int64_t count, bool repeats,
                const char* row);

    const NamedLink* find(std::string_view op, int size, int ones) const;  // null if there is none
};

}  // namespace fieldforge::rows
