// What one thread has of a nest: pointers, values and blocks of lanes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "program.h"

namespace fieldforge::rows {

// Where a buffer lies in a call: the address of index 0, and the bytes from index to index.
struct Memory {
    char* base = nullptr;
    int64_t strides[most_axes] = {};
};

// The ranges of the loops of a nest, those of its parts included.
struct Ends {
    int64_t start, stop;
};

// An index times a stride, of which the address of a row is the sum.
struct Term {
    const int64_t* from;
    int64_t offset, mask, stride;
    bool is_row;  // the index of each of several rows
};

// Where the row of an access lies.
struct Pointed {
    const Memory* memory;
    int64_t offset;  // of indices that stay
    const Term* terms;
    int32_t count;
    int32_t ahead;   // rows
    int32_t leader;  // an access before it whose row lies `offset` bytes away, or -1
};

struct Frame {
    const Nest* nest;
    const Memory* memory;  // by buffer
    const std::vector<Buffer>* buffers;
    char** pointers;   // by slot: of accesses to lane 0, of blocks, of values
    int64_t* strides;    // of accesses, from lane to lane in bytes
    int64_t* distances;  // of accesses, from row to row in bytes
    int64_t* values;
    Pointed* points;   // by access
    Ends* loops;
    Ends* parts;
    bool may_repeat = false;  // whether lanes may be computed twice
    Reach reach = Reach::near;
    mutable int64_t row = 0;  // among those that are computed at once
    mutable int64_t last_row = 0;
};

// Lays a frame out in `room` of `nest.bytes()`, and sets what the call knows. Non-temporal stores pay
// `from` so many bytes on.
Frame make_frame(const Nest& nest, const std::vector<Buffer>& buffers, const Memory* memory,
                 const int64_t* ints, const void* scalars, int64_t from, char* room);

// Points to the rows of the first index, or of the next index, of the last loop around the lanes.
void point_first(const Frame& frame);
void point_next(const Frame& frame);

// Runs code on `count` lanes from lane `at` on; copies of one value fill `filled` lanes.
void run(const Frame& frame, const Code& code, int64_t at, int64_t count, int64_t filled);

}  // namespace fieldforge::rows
