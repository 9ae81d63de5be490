// An encoded program (`stages/encode/program.py`) as C++ structs: read once, then run by every call.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chains.h"
#include "code/pages.h"
#include "kernels.h"

namespace fieldforge::rows {

constexpr int most_axes = 8;
constexpr int most_cuts = 4;
constexpr int64_t rows_at_once = 64;

// An integer of the call plus a constant; the constant alone if `place` is negative.
struct Count {
    int32_t place = -1;
    int64_t constant = 0;

    int64_t of(const int64_t* ints) const { return constant + (place < 0 ? 0 : ints[place]); }
};

struct Span {
    Count start, stop;
};

// Memory that nests read and write.
struct Buffer {
    enum class Kind : uint8_t { given, arena, tile } kind;
    int32_t place;                // of a pointer of the call, or of a slot of the arena
    int64_t size;                 // of an element, in bytes
    std::vector<Count> strides;   // of what is given, in elements
    std::vector<Span> box;        // of an array
    std::vector<int32_t> order;   // its axes, outer to inner
    std::vector<int32_t> cuts;    // by axis: the cut whose tiles it begins with, or -1
    int32_t ring = -1;            // the axis of which it keeps the last indices
};

// How an access finds the index of an axis.
struct Axis {
    enum class Kind : uint8_t { fixed, value, lane, block, row } kind;
    int32_t number;  // of the value or of the block
    int64_t offset;
};

struct Access {
    int32_t buffer;
    std::vector<Axis> axes;
    int32_t lane = -1;           // the axis along which lanes lie
    std::vector<int32_t> told;   // axes whose indices are those of a block
    int32_t ahead = 0;           // it is that of so many rows later
    bool is_row = false;         // lanes lie one after the other in memory
    bool streams = false;        // non-temporal stores may write it
    int32_t leader = -1;         // an access before it that always lies as far away
};

struct Place {
    int32_t slot = -1;   // in the table of pointers
    int32_t scale = 0;   // bytes from lane to lane
    int32_t step = 0;    // bytes from row to row, of a number that several rows have
};

struct Step {
    enum class Kind : uint8_t { kernel, point, load, store, fill, index, chain } kind;
    uint8_t size = 0;      // of an element, in bytes
    bool is_truth = false;  // loads bytes as bools
    bool is_asked = false;  // points to a row to prefetch
    uint8_t minus = 0;      // `fma`: bit by bit whether product and summand change signs
    int32_t access = -1;    // or the number of the chain
    int32_t count = 1;      // of accesses in turn that it points to rows
    const char* name = "";  // of the kernel
    Kernel run = nullptr;
    Place out, a, b, c;    // `b` is the condition of a load or store
};

using Code = std::vector<Step>;

// A value that is known from the call on.
struct Known {
    enum class Kind : uint8_t { constant, scalar, truth, number } kind;
    int32_t value;
    int64_t bits = 0;  // of a constant; the place of a scalar
    uint8_t size = 8;
    Count number;
};

struct Loop {
    Span range;
    bool backward, is_shared;
};

// How far the memory of a nest reaches: rows are prefetched from the second on, and non-temporal
// stores write them in the third.
enum class Reach : uint8_t { near, far, farthest };
constexpr int reach_count = 3;

// A chain as machine code: of the pointers of a frame, the first lanes of rows and of blocks, the row
// among those that are computed at once, and the number of lanes.
using Written = void (*)(char* const* pointers, int64_t row_lane, int64_t block_lane, int64_t row, int64_t count);

// Steps in registers: machine code, or the same links for each number of lanes.
struct Chain {
    size_t written[reach_count] = {};  // where it begins in the code of the program
    Written run[reach_count] = {};     // null if there is none
    std::vector<Link> links;
    int32_t starts[reach_count][form_count];  // among the links
    int32_t row = -1;               // the access on whose lines blocks of lanes begin
    int size = 8;                   // bytes of its numbers
    bool may_repeat = true;         // whether lanes may be computed twice: it reads no block that it changes

    const Link* form(Reach reach, int number) const { return links.data() + starts[static_cast<int>(reach)][number]; }
};

struct Part {
    Span range;
    Code code;
};

struct Nest {
    std::vector<Span> guard;
    std::vector<Loop> loops;
    int32_t lanes;   // the loop whose indices are lanes, -1 for a single lane
    int32_t outer;   // how many loops stand around the lanes
    int32_t shared;  // how many of them threads share
    bool has_inner;  // whether a loop runs for each strip of lanes
    std::vector<Access> accesses;
    int32_t blocks, values;
    int64_t strip;  // the most lanes at a time
    std::vector<Known> known;
    std::vector<std::pair<Operand, uint8_t>> asked;  // rows to prefetch, and bytes of an element
    int64_t point_bytes = 0;     // of the buffers that have the lanes, at one point
    std::vector<Code> around;  // by the number of loops around
    // Accesses whose rows follow from the indices of loops, in the order in which they are pointed to
    // rows. Of the last loop around the lanes each index moves `moving` by equal distances.
    std::vector<int32_t> moving, turning;
    Code rows;                 // of several indices of the last loop around the lanes
    Code first;                // before the loop inside of lanes
    std::vector<Part> parts;   // of the innermost loop
    std::vector<Chain> chains;
    // Whether points may be computed twice: it loads nothing that it stores. Calls may let an input
    // be an output: then not, if one of these pairs of buffers lies at one address.
    bool may_repeat = true;
    std::vector<std::pair<int32_t, int32_t>> apart;
    const ChainTable* table;

    int32_t slots() const { return static_cast<int32_t>(accesses.size()) + blocks + values; }
    int64_t bytes() const;  // of a frame
};

struct Cut {
    Span range;
    int64_t size;
    bool even;
};

struct Member {
    Nest nest;
    std::vector<int32_t> cuts;  // by loop: the cut of its dimension, or -1
    std::vector<std::pair<int64_t, int64_t>> margins;  // by cut
};

struct Tiles {
    std::vector<Span> guard;
    std::vector<Cut> cuts;
    std::vector<Span> box;  // whose points decide about threads
    std::vector<Member> members;
    int32_t rolled;  // the cut along which nests take turns, or -1
    int64_t threads;
};

// What runs in order: one nest, or tiles of some.
struct Node {
    int64_t statement;  // 0 if statements cannot run alone
    std::vector<Nest> nest;
    std::vector<Tiles> tiles;
};

struct Program {
    std::vector<Buffer> buffers;
    std::vector<Count> slots;
    std::vector<Node> nodes;
    std::vector<Node> clamped;  // in place of these where `clamping` is 1
    int32_t clamping = -1, stepped = -1;
    int64_t parallel_from = -1;  // points; -1: the machine of the call decides
    std::shared_ptr<const Pages> code;  // of chains
};

// Reads an `Encoded`; the table gives its kernels. Throws std::invalid_argument or
// nanobind::python_error.
Program read_program(PyObject* encoded, const KernelTable& table);

}  // namespace fieldforge::rows
