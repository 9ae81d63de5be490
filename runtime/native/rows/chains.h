// Chains: steps that hand numbers on in registers.
//
// A chain works on a block of lanes at a time: as many as eight vector registers hold of the widest
// dtype. The block is the arguments of each link, which computes, and calls the next link last: so
// compilers jump there, and numbers stay in registers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fieldforge::rows {

struct Link;

// Where the operands of a chain lie: the pointers of a frame, and the indices into them.
struct Lanes {
    char* const* pointers;
    int64_t lane;    // of accesses: the index of the first lane of the block
    int64_t inside;  // of blocks: the same from the first lane of the strip
    int64_t row;     // of single numbers that are computed for several rows at once
};

// How a link finds an operand: in a row of memory, in a block, or as one number for all lanes.
enum class Source : uint8_t { row, block, one };

struct Operand {
    int32_t slot = 0;
    int32_t step = 0;  // bytes from row to row of one number
};

struct Link {
    void (*run)();  // of a type that the class of processors decides
    Operand x, y;
};

constexpr int form_count = 4;  // numbers of lanes: the whole block, a quarter, an eighth, one

// What a link does with the numbers in registers; `at` is the operand in whose place they stand.
struct LinkName {
    const char* op;     // `load`, `store` and `end`, else the name of a kernel without its dtype
    uint8_t size;       // 4 or 8 bytes of a float
    uint8_t at;
    Source x, y;
};

struct NamedLink {
    LinkName name;
    void (*run[form_count])();
};

struct ChainTable {
    const NamedLink* links;
    size_t count;
    int64_t lanes[form_count];
    // Runs a chain on `count` lanes from those of `lanes` on, which it changes; `forms` are its links
    // for each number of lanes.
    void (*run)(const Link* const* forms, Lanes* lanes, int64_t count);

    const NamedLink* find(const LinkName& wanted) const;  // null if there is none
};

}  // namespace fieldforge::rows
