// Arguments that share memory: allow it, take a snapshot, or refuse the call. Statements run in
// order, so only what one statement reads and writes counts.
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

bool is_listed(const Access& access, int32_t written, int32_t read) {
    const auto& pairs = access.pointwise;
    return std::find(pairs.begin(), pairs.end(), std::pair{written, read}) != pairs.end();
}

}  // namespace

// Consecutive accesses of one statement, by the first and one past the last.
std::vector<std::pair<size_t, size_t>> Frame::statements() const {
    std::vector<std::pair<size_t, size_t>> found;
    for (size_t i = 0; i < plan_.accesses.size(); ++i) {
        if (plan_.accesses[i].continues && !found.empty()) found.back().second = i + 1;
        else found.emplace_back(i, i + 1);
    }
    return found;
}

bool Frame::touches_in(std::pair<size_t, size_t> statement, int32_t argument) const {
    return std::any_of(plan_.accesses.begin() + statement.first,
                       plan_.accesses.begin() + statement.second, [&](const Access& access) {
                           return touches(access.writes, argument) ||
                                  touches(access.reads, argument);
                       });
}

std::vector<std::pair<int64_t, int64_t>> Frame::ranges_of(const Box& box) const {
    std::vector<std::pair<int64_t, int64_t>> found;
    for (const Range& range : box.ranges) found.emplace_back(value(range.start), value(range.stop));
    return found;
}

// One field twice among the outputs of a statement: the last one is written, the others write to
// memory that nobody reads. Any other overlap of outputs of one statement is an error. The last of
// its accesses has all that a statement writes, in order.
Refusal Frame::resolve_outputs(std::pair<size_t, size_t> statement) {
    std::vector<const Box*> boxes;
    for (const Box& box : plan_.accesses[statement.second - 1].writes) {
        if (!is_empty(box.ranges)) boxes.push_back(&box);
    }
    for (size_t j = 0; j < boxes.size(); ++j) {
        const Part later = part_of(field(boxes[j]->argument), ranges_of(*boxes[j]));
        for (size_t i = 0; i < j; ++i) {
            const int32_t one = boxes[i]->argument, other = boxes[j]->argument;
            const auto ranges = ranges_of(*boxes[i]);
            const bool equal = ranges == ranges_of(*boxes[j]);
            if (one == other && equal) continue;
            if (!share_memory(part_of(field(one), ranges), later)) continue;
            const Refusal refusal{Reason::outputs_overlap, {one, other}};
            if (one == other || !equal || !is_same_view(field(one), field(other))) return refusal;
            if (!can_discard(statement, *boxes[i])) return refusal;
            add_snapshot(one);
        }
    }
    return {};
}

// The snapshot takes all that the statement writes to the argument, so that must be the one box. It
// also has what the statement reads of it: without steps, what was there before the call.
bool Frame::can_discard(std::pair<size_t, size_t> statement, const Box& box) const {
    const int32_t argument = box.argument;
    for (const Box& other : plan_.accesses[statement.second - 1].writes) {
        const bool is_kept = other.argument == argument && ranges_of(other) != ranges_of(box);
        if (is_kept && !is_empty(other.ranges)) return false;
    }
    if (steps_ > 0) return true;
    for (const auto& each : statements()) {
        if (each == statement) continue;
        if (touches_in(each, argument)) return false;
        if (each < statement && writes_to(each, argument)) return false;
    }
    return true;
}

// Whether a statement writes to memory of an argument, by whatever name; only what it does write
// counts, which may be nothing.
bool Frame::writes_to(std::pair<size_t, size_t> statement, int32_t argument) const {
    return std::any_of(plan_.accesses.begin() + statement.first,
                       plan_.accesses.begin() + statement.second, [&](const Access& access) {
                           return std::any_of(
                               access.writes.begin(), access.writes.end(),
                               [&](const Box& box) { return is_written(box, argument); });
                       });
}

bool Frame::is_written(const Box& box, int32_t argument) const {
    const FieldView& view = field(argument);
    const FieldView& target = field(box.argument);
    if (is_empty(box.ranges) || !share_memory(target, view)) return false;
    return share_memory(part_of(target, ranges_of(box)), whole(view));
}

// Whether the argument has a snapshot already, of this step.
bool Frame::has_snapshot(int32_t argument) const {
    const int32_t slot = plan_.arguments[argument].slot;
    return std::any_of(copies_.begin(), copies_.end(), [&](const Copy& copy) {
        return copy.slot == slot && copy.step == step_;
    });
}

// Within a statement shared memory is correct if each point is read before it is written. Else the
// argument is read from a snapshot, which is taken before the call or before the statement. Where the
// statement writes that argument, too, the other output is written to a copy and brought back.
Refusal Frame::resolve_input(std::pair<size_t, size_t> statement, int32_t read) {
    if (has_snapshot(read)) return {};
    for (size_t i = statement.first; i < statement.second; ++i) {
        const Access& access = plan_.accesses[i];
        if (!touches(access.reads, read)) continue;
        for (size_t j = statement.first; j < statement.second; ++j) {
            for (const Box& box : plan_.accesses[j].writes) {
                const int32_t written = box.argument;
                if (written == read || !is_written(box, read)) continue;
                if (has_snapshot(written)) continue;  // what it writes reaches no memory of others
                const bool alike = is_same_view(field(written), field(read));
                if (alike && is_listed(access, written, read)) continue;
                if (can_snapshot(statement, read)) {
                    add_snapshot(read);
                    return {};
                }
                if (!can_bring_back()) return {Reason::inputs_overlap, {written, read}};
                add_snapshot(written);
                copies_.back().written = written_parts(statement, written);
            }
        }
    }
    return {};
}

// A snapshot from before a statement has the right values if the statement does not write the
// argument; one from before the call if nothing writes the argument and no statement before one
// that reads it writes to the memory.
bool Frame::can_snapshot(std::pair<size_t, size_t> statement, int32_t read) const {
    if (steps_ > 0) return written_parts(statement, read).empty();
    bool was_written = false;
    for (const auto& [first, last] : statements()) {
        bool writes = false;
        for (size_t i = first; i < last; ++i) {
            const Access& access = plan_.accesses[i];
            if (was_written && touches(access.reads, read)) return false;
            for (const Box& box : access.writes) {
                if (box.argument == read && !is_empty(box.ranges)) return false;
                writes |= is_written(box, read);
            }
        }
        was_written |= writes;
    }
    return true;
}

// A copy of an output is brought back before another statement may read it.
bool Frame::can_bring_back() const { return steps_ > 0 || statements().size() == 1; }

std::vector<Part> Frame::written_parts(std::pair<size_t, size_t> statement, int32_t argument) const {
    std::vector<Part> found;
    for (const Box& box : plan_.accesses[statement.second - 1].writes) {
        if (box.argument != argument || is_empty(box.ranges)) continue;
        found.push_back(part_of(field(argument), ranges_of(box)));
    }
    return found;
}

// The copy keeps the alignment of the memory within a cache line.
void Frame::add_snapshot(int32_t read) {
    if (has_snapshot(read)) return;
    const int32_t slot = plan_.arguments[read].slot;
    const size_t size = highs_[slot] - lows_[slot];
    const size_t offset = copied_ + lows_[slot] % 64;
    copies_.push_back({reinterpret_cast<const void*>(lows_[slot]), slot, size, offset, step_});
    copied_ = round_up(offset + size);
}

Refusal Frame::resolve_statements() {
    for (const auto& statement : statements()) {
        if (steps_ > 0) ++step_;
        if (Refusal refusal = resolve_outputs(statement)) return refusal;
        for (int32_t read : plan_.fields) {
            if (Refusal refusal = resolve_input(statement, read)) return refusal;
        }
    }
    return {};
}

// Where snapshots from before the call do not do, the statements run one at a time.
Refusal Frame::resolve_overlaps() {
    Refusal refusal = resolve_statements();
    if (!refusal || plan_.stepped < 0) return refusal;
    copies_.clear();
    copied_ = 0;
    steps_ = static_cast<int64_t>(statements().size());
    return resolve_statements();
}

}  // namespace fieldforge
