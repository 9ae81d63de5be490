// A call of an encoded program, and what its nests and tiles have in common.
#pragma once

#include <algorithm>
#include <memory>

#include "../context.h"
#include "frame.h"

namespace fieldforge::rows {

constexpr int64_t usual_parallel_from = 8192;  // points
constexpr int64_t usual_stream_from = 12 << 20;  // bytes
constexpr int64_t line = 64;                   // bytes of a cache line

// Memory of a thread that stays for its next loop.
class Room {
   public:
    char* take(int64_t bytes) {
        if (bytes > size_) {
            data_ = std::make_unique<char[]>(bytes + line);
            size_ = bytes;
        }
        const auto start = reinterpret_cast<uintptr_t>(data_.get());
        return data_.get() + (line - start % line) % line;
    }

   private:
    std::unique_ptr<char[]> data_;
    int64_t size_ = 0;
};

extern thread_local Room room_of_part;  // frames

inline int64_t at_least_zero(int64_t value) { return std::max<int64_t>(value, 0); }

struct Call {
    const Program& program;
    const int64_t* ints;
    const void* scalars;
    char* arena;
    const Context& context;
    Memory* memory;  // by buffer; arrays of tiles have strides only

    int64_t extent(const Span& span) const {
        return at_least_zero(span.stop.of(ints) - span.start.of(ints));
    }
    bool is_empty(const std::vector<Span>& box) const {
        return std::any_of(box.begin(), box.end(),
                           [this](const Span& each) { return extent(each) == 0; });
    }
    // From how many points on threads share a loop.
    int64_t parallel_from() const {
        if (program.parallel_from >= 0) return program.parallel_from;
        const Machine* machine = context.machine;
        const bool is_known = machine != nullptr && machine->parallel_from != 0;
        return is_known ? machine->parallel_from : usual_parallel_from;
    }
    // From how many bytes on stores past the caches win.
    int64_t stream_from() const {
        const Machine* machine = context.machine;
        const bool is_known = machine != nullptr && machine->stream_from != 0;
        return is_known ? machine->stream_from : usual_stream_from;
    }
    int64_t slot_offset(int32_t slot) const {
        int64_t offset = 0;
        for (int32_t i = 0; i < slot; ++i) offset += program.slots[i].of(ints);
        return offset;
    }
};

// Moves an array to index 0 of its axes; its box begins at the first indices of a tile.
inline char* moved(const Call& call, const Buffer& buffer, const Memory& memory, char* to,
                   const int64_t* firsts) {
    for (size_t axis = 0; axis < buffer.box.size(); ++axis) {
        if (static_cast<int32_t>(axis) == buffer.ring) continue;
        int64_t first = buffer.box[axis].start.of(call.ints);
        if (firsts != nullptr && buffer.cuts[axis] >= 0) first += firsts[buffer.cuts[axis]];
        to -= first * memory.strides[axis];
    }
    return to;
}

// Waits for stores past the caches, which other threads see in any order before.
inline void settle() {
#ifdef __SSE2__
    __builtin_ia32_sfence();
#endif
}

// Runs `body(begin, end, place)` on parts of a loop, on several threads where it has enough points.
template <class Body>
void share(const Call& call, int64_t count, int64_t most, int64_t points, const Body& body) {
    if (count <= 0) return;
    const Context& context = call.context;
    if (points < call.parallel_from() || context.parallel_for == nullptr) {
        body(0, count, 0);
        return settle();
    }
    const auto call_body = [](void* data, int64_t begin, int64_t end, int64_t place) {
        (*static_cast<const Body*>(data))(begin, end, place);
        settle();
    };
    context.parallel_for(context.pool, count, most, points, call_body, const_cast<Body*>(&body));
}

// Runs the loops of a nest from a level on, in a frame whose outer indices are set.
void run_from(const Frame& frame, int32_t level);

// Runs one index of the last loop around the lanes, where all other loops around them have a single
// index. The next turn of a nest is the next index.
void run_turn(const Frame& frame, int64_t index, bool is_first);

void run_tiles(const Call& call, const Tiles& tiles);

}  // namespace fieldforge::rows
