// Arguments that share memory: allow it, take a snapshot, or refuse the call.
#include <algorithm>

#include "call.h"
#include "overlap.h"

namespace fieldforge {
namespace {

size_t round_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

bool touches(const std::vector<Box>& boxes, int32_t argument) {
    return std::any_of(boxes.begin(), boxes.end(),
                       [&](const Box& box) { return box.argument == argument; });
}

}  // namespace

// Shared memory is correct if each point is read before it is written: the only reading statement
// lists the pair, and no earlier statement writes.
bool Frame::is_pointwise(int32_t written, int32_t read) const {
    if (!is_same_view(field(written), field(read))) return false;
    bool was_read = false, was_written = false;
    for (const Access& access : plan_.accesses) {
        if (touches(access.reads, read)) {
            const auto& pairs = access.pointwise;
            const bool listed =
                std::find(pairs.begin(), pairs.end(), std::pair{written, read}) != pairs.end();
            if (!listed || was_read || was_written) return false;
            was_read = true;
        }
        was_written |= touches(access.writes, written);
    }
    return true;
}

// A snapshot before the call has the right values if only one statement reads the argument, and
// no earlier statement writes to the memory.
bool Frame::can_snapshot(int32_t read) const {
    bool was_read = false, was_written = false;  // by the statements before
    bool reads = false, writes = false;          // by this one, whose accesses follow each other
    for (const Access& access : plan_.accesses) {
        if (!access.continues) {
            was_read |= reads;
            was_written |= writes;
            reads = writes = false;
        }
        if (touches(access.reads, read)) {
            if (was_read || was_written) return false;
            reads = true;
        }
        for (const Box& box : access.writes) {
            writes |= share_memory(field(box.argument), field(read));
        }
    }
    return true;
}

// The copy keeps the alignment of the memory within a cache line.
void Frame::add_snapshot(int32_t read) {
    const int32_t slot = plan_.arguments[read].slot;
    for (const Copy& copy : copies_) {
        if (copy.slot == slot) return;
    }
    const size_t size = highs_[slot] - lows_[slot];
    const size_t offset = copied_ + lows_[slot] % 64;
    copies_.push_back({reinterpret_cast<const void*>(lows_[slot]), slot, size, offset});
    copied_ = round_up(offset + size);
}

Refusal Frame::resolve_overlaps() {
    for (int32_t slot : plan_.written) {
        const int32_t written = plan_.fields[slot];
        for (int32_t other : plan_.fields) {
            if (other == written || !share_memory(field(written), field(other))) continue;
            const Argument& argument = plan_.arguments[other];
            if (argument.written) return {Reason::outputs_overlap, {written, other}};
            if (!argument.read || is_pointwise(written, other)) continue;
            if (!can_snapshot(other)) return {Reason::inputs_overlap, {written, other}};
            add_snapshot(other);
        }
    }
    return {};
}

}  // namespace fieldforge
