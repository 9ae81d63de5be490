// The instructions that touch memory by its indices; kernels do the rest.
#include "frame.h"

#include <algorithm>
#include <cstring>

namespace fieldforge::rows {
namespace {

constexpr int64_t line = 64;
constexpr int64_t second_cache = 1 << 20;  // bytes: below, nothing is prefetched

int64_t rounded(int64_t bytes) { return (bytes + line - 1) / line * line; }

// Calls `body` with an unsigned integer of the size.
template <class Body>
void sized(int size, const Body& body) {
    switch (size) {
        case 1: return body(uint8_t{});
        case 2: return body(uint16_t{});
        case 4: return body(uint32_t{});
        default: return body(uint64_t{});
    }
}

void point(const Frame& frame, int32_t number) {
    const Pointed& pointed = frame.points[number];
    if (pointed.leader >= 0) {
        frame.pointers[number] = frame.pointers[pointed.leader] + pointed.offset;
        return;
    }
    char* found = pointed.memory->base + pointed.offset;
    if (pointed.count == 1 && pointed.terms->is_row) {  // most often a table leads to a row
        const int64_t row = std::min(frame.row + pointed.ahead, frame.last_row);
        frame.pointers[number] = found + pointed.terms->from[row] * pointed.terms->stride;
        return;
    }
    for (int32_t i = 0; i < pointed.count; ++i) {
        const Term& term = pointed.terms[i];
        const int64_t row = term.is_row ? std::min(frame.row + pointed.ahead, frame.last_row) : 0;
        found += ((term.from[row] + term.offset) & term.mask) * term.stride;
    }
    frame.pointers[number] = found;
}

// Finds out once for a frame how the row of an access follows from indices; returns the end of its terms.
Term* prepare_point(const Frame& frame, int32_t number, Term* terms) {
    const Nest& nest = *frame.nest;
    const Access& access = nest.accesses[number];
    const Buffer& buffer = (*frame.buffers)[access.buffer];
    const Memory& memory = frame.memory[access.buffer];
    Pointed& made = frame.points[number];
    made = {&memory, 0, terms, 0, access.ahead, -1};
    frame.strides[number] = access.lane < 0 ? 0 : memory.strides[access.lane];
    for (size_t axis = 0; axis < access.axes.size(); ++axis) {
        const Axis& each = access.axes[axis];
        const int64_t stride = memory.strides[axis];
        const bool is_ring = static_cast<int32_t>(axis) == buffer.ring;
        if (each.kind == Axis::Kind::row) {
            const auto block = nest.accesses.size() + each.number;
            const auto* from = reinterpret_cast<const int64_t*>(frame.pointers[block]);
            made.offset += each.offset * stride;
            *terms++ = {from, 0, -1, stride, true};
        } else if (each.kind == Axis::Kind::value) {
            const bool is_next = each.number == nest.outer - 1;
            const int64_t ahead = !is_next ? 0 : nest.loops[each.number].backward ? -access.ahead : access.ahead;
            const int64_t offset = each.offset + ahead;
            if (is_ring) {
                const int64_t mask = buffer.box[axis].stop.constant - 1;
                *terms++ = {frame.values + each.number, offset, mask, stride, false};
            } else {
                made.offset += offset * stride;
                *terms++ = {frame.values + each.number, 0, -1, stride, false};
            }
        } else {
            made.offset += each.offset * stride;
        }
    }
    made.count = static_cast<int32_t>(terms - made.terms);
    if (access.leader >= 0) {
        made.offset -= frame.points[access.leader].offset;
        made.leader = access.leader;
        return const_cast<Term*>(made.terms);
    }
    return terms;
}

// The bytes from row to row of an access, in the order of the last loop around the lanes.
int64_t distance_of(const Frame& frame, int32_t number) {
    const Nest& nest = *frame.nest;
    const Access& access = nest.accesses[number];
    int64_t distance = 0;
    for (size_t axis = 0; axis < access.axes.size(); ++axis) {
        const Axis& each = access.axes[axis];
        const bool is_last = each.kind == Axis::Kind::value && each.number == nest.outer - 1;
        if (is_last) distance += frame.memory[access.buffer].strides[axis];
    }
    return nest.loops[nest.outer - 1].backward ? -distance : distance;
}

// Calls `body(lane, address)` for the lanes of an access.
template <class T, class Body>
void each_lane(const Frame& frame, int32_t number, int64_t at, int64_t count, const Body& body) {
    const Access& access = frame.nest->accesses[number];
    const int64_t stride = frame.strides[number];
    char* const first = frame.pointers[number] + at * stride;
    if (access.told.empty()) {
        for (int64_t i = 0; i < count; ++i) body(i, reinterpret_cast<T*>(first + i * stride));
        return;
    }
    const Memory& memory = frame.memory[access.buffer];
    const auto blocks = static_cast<int32_t>(frame.nest->accesses.size());
    const auto index_of = [&](int32_t axis) {
        return reinterpret_cast<const int64_t*>(
            frame.pointers[blocks + access.axes[axis].number]);
    };
    if (access.told.size() == 1) {
        const int64_t* index = index_of(access.told[0]);
        const int64_t step = memory.strides[access.told[0]];
        if (step == sizeof(T) && stride == 0) {
            for (int64_t i = 0; i < count; ++i) body(i, reinterpret_cast<T*>(first) + index[i]);
            return;
        }
        for (int64_t i = 0; i < count; ++i) {
            body(i, reinterpret_cast<T*>(first + i * stride + index[i] * step));
        }
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        char* address = first + i * stride;
        for (int32_t axis : access.told) address += index_of(axis)[i] * memory.strides[axis];
        body(i, reinterpret_cast<T*>(address));
    }
}

template <class T>
void load(const Frame& frame, const Step& step, int64_t at, int64_t count) {
    auto* out = reinterpret_cast<T*>(frame.pointers[step.out.slot]);
    const Access& access = frame.nest->accesses[step.access];
    if (step.b.slot >= 0) {
        auto* when = reinterpret_cast<const uint8_t*>(frame.pointers[step.b.slot]);
        each_lane<T>(frame, step.access, at, count,
                     [=](int64_t i, const T* from) { out[i] = when[i] ? *from : T{0}; });
    } else if (access.told.empty() && frame.strides[step.access] == sizeof(T)) {
        std::memcpy(out, frame.pointers[step.access] + at * sizeof(T), count * sizeof(T));
    } else {
        each_lane<T>(frame, step.access, at, count,
                     [=](int64_t i, const T* from) { out[i] = *from; });
    }
    if (step.is_truth) {
        for (int64_t i = 0; i < count; ++i) out[i] = out[i] != 0;
    }
}

template <class T>
void store(const Frame& frame, const Step& step, int64_t at, int64_t count) {
    auto* from = reinterpret_cast<const T*>(frame.pointers[step.a.slot]);
    const Access& access = frame.nest->accesses[step.access];
    if (step.b.slot >= 0) {
        auto* when = reinterpret_cast<const uint8_t*>(frame.pointers[step.b.slot]);
        each_lane<T>(frame, step.access, at, count, [=](int64_t i, T* to) {
            if (when[i]) *to = from[i];
        });
    } else if (access.told.empty() && frame.strides[step.access] == sizeof(T)) {
        std::memcpy(frame.pointers[step.access] + at * sizeof(T), from, count * sizeof(T));
    } else {
        each_lane<T>(frame, step.access, at, count, [=](int64_t i, T* to) { *to = from[i]; });
    }
}

// The points of the whole nest.
int64_t points_of(const Frame& frame) {
    int64_t points = 1;
    for (size_t i = 0; i < frame.nest->loops.size(); ++i) {
        points *= std::max<int64_t>(frame.loops[i].stop - frame.loops[i].start, 0);
    }
    return points;
}

void set_known(const Frame& frame, const int64_t* ints, const void* scalars) {
    for (const Known& known : frame.nest->known) {
        int64_t& value = frame.values[known.value];
        const char* scalar = static_cast<const char*>(scalars) + 8 * known.bits;
        switch (known.kind) {
            case Known::Kind::constant: value = known.bits; break;
            case Known::Kind::scalar: std::memcpy(&value, scalar, known.size); break;
            case Known::Kind::truth: value = *scalar != 0; break;
            case Known::Kind::number: value = known.number.of(ints); break;
        }
    }
}

// Runs the machine code of a chain; the first lanes alone if its row begins beside a line.
void run_written(const Frame& frame, const Chain& chain, Written run, int64_t at, int64_t count) {
    int64_t done = 0;
    if (chain.row >= 0) {
        const auto beside = static_cast<int64_t>(reinterpret_cast<uintptr_t>(frame.pointers[chain.row] + at * chain.size) % line);
        if (beside != 0 && beside % chain.size == 0 && count * chain.size >= 8 * line) {
            done = (line - beside) / chain.size;
            run(frame.pointers, at, 0, frame.row, done);
        }
    }
    run(frame.pointers, at + done, done, frame.row, count - done);
}

void run_chain(const Frame& frame, const Chain& chain, int64_t at, int64_t count) {
    const Written written = chain.run[static_cast<int>(frame.reach)];
    if (written != nullptr) return run_written(frame, chain, written, at, count);
    const Link* forms[form_count];
    for (int i = 0; i < form_count; ++i) forms[i] = chain.form(frame.reach, i);
    const bool repeats = frame.may_repeat && chain.may_repeat;
    const char* const row = chain.row < 0 ? nullptr : frame.pointers[chain.row] + at * chain.size;
    frame.nest->table->run(forms, {frame.pointers, {at, 0}, frame.row}, chain.size, count, repeats, row);
}

void point_turning(const Frame& frame) {
    const Nest& nest = *frame.nest;
    for (int32_t i : nest.turning) {
        if (frame.reach != Reach::near || nest.accesses[i].ahead == 0) point(frame, i);
    }
}

}  // namespace

int64_t Nest::bytes() const {
    const auto loop_count = static_cast<int64_t>(loops.size() + parts.size());
    return rounded(slots() * sizeof(char*)) + 2 * rounded(accesses.size() * sizeof(int64_t)) +
           rounded(accesses.size() * sizeof(Pointed)) +
           rounded(accesses.size() * most_axes * sizeof(Term)) + rounded(values * sizeof(int64_t)) +
           rounded(loop_count * sizeof(Ends)) +
           blocks * rounded(std::max(strip, rows_at_once) * 8);
}

Frame make_frame(const Nest& nest, const std::vector<Buffer>& buffers, const Memory* memory,
                 const int64_t* ints, const void* scalars, int64_t from, char* room) {
    const auto take = [&room](int64_t bytes) {
        char* const taken = room;
        room += rounded(bytes);
        return taken;
    };
    Frame frame{};
    frame.nest = &nest, frame.memory = memory, frame.buffers = &buffers;
    const auto accesses = static_cast<int64_t>(nest.accesses.size());
    frame.pointers = reinterpret_cast<char**>(take(nest.slots() * sizeof(char*)));
    frame.strides = reinterpret_cast<int64_t*>(take(accesses * sizeof(int64_t)));
    frame.distances = reinterpret_cast<int64_t*>(take(accesses * sizeof(int64_t)));
    frame.values = reinterpret_cast<int64_t*>(take(nest.values * sizeof(int64_t)));
    frame.loops = reinterpret_cast<Ends*>(take((nest.loops.size() + nest.parts.size()) * sizeof(Ends)));
    frame.parts = frame.loops + nest.loops.size();
    frame.points = reinterpret_cast<Pointed*>(take(accesses * sizeof(Pointed)));
    auto* terms = reinterpret_cast<Term*>(take(accesses * most_axes * sizeof(Term)));
    for (int64_t i = 0; i < nest.blocks; ++i) frame.pointers[accesses + i] = take(std::max(nest.strip, rows_at_once) * 8);
    char** const values = frame.pointers + accesses + nest.blocks;
    for (int64_t i = 0; i < nest.values; ++i) {
        frame.values[i] = 0;
        values[i] = reinterpret_cast<char*>(frame.values + i);
    }
    const auto ends = [ints](const Span& span) {
        return Ends{span.start.of(ints), span.stop.of(ints)};
    };
    for (size_t i = 0; i < nest.loops.size(); ++i) frame.loops[i] = ends(nest.loops[i].range);
    for (size_t i = 0; i < nest.parts.size(); ++i) frame.parts[i] = ends(nest.parts[i].range);
    set_known(frame, ints, scalars);
    for (int32_t i = 0; i < static_cast<int32_t>(accesses); ++i) terms = prepare_point(frame, i, terms);
    for (int32_t i : nest.moving) frame.distances[i] = distance_of(frame, i);
    const int64_t bytes = points_of(frame) * nest.point_bytes;
    frame.reach = bytes >= from ? Reach::farthest : bytes > second_cache ? Reach::far : Reach::near;
    frame.may_repeat =
        nest.may_repeat && std::none_of(nest.apart.begin(), nest.apart.end(), [=](const auto& pair) {
            return memory[pair.first].base == memory[pair.second].base;
        });
    return frame;
}

void point_first(const Frame& frame) {
    for (int32_t i : frame.nest->moving) point(frame, i);
    point_turning(frame);
}

void point_next(const Frame& frame) {
    for (int32_t i : frame.nest->moving) frame.pointers[i] += frame.distances[i];
    point_turning(frame);
}

void run(const Frame& frame, const Code& code, int64_t at, int64_t count, int64_t filled) {
    char** const pointers = frame.pointers;
    const auto address = [=](const Place& place) {
        return place.slot < 0 ? nullptr : pointers[place.slot] + at * place.scale;
    };
    for (const Step& step : code) {
        switch (step.kind) {
            case Step::Kind::kernel:
                step.run(address(step.out), address(step.a), address(step.b), address(step.c), count);
                break;
            case Step::Kind::chain: run_chain(frame, frame.nest->chains[step.access], at, count); break;
            case Step::Kind::point:
                if (step.is_asked && frame.reach == Reach::near) break;
                for (int32_t i = 0; i < step.count; ++i) point(frame, step.access + i);
                break;
            case Step::Kind::load:
                sized(step.size, [&](auto item) { load<decltype(item)>(frame, step, at, count); });
                break;
            case Step::Kind::store:
                sized(step.size, [&](auto item) { store<decltype(item)>(frame, step, at, count); });
                break;
            case Step::Kind::fill:
                sized(step.size, [&](auto item) {
                    using T = decltype(item);
                    const T value = *reinterpret_cast<const T*>(pointers[step.a.slot] + frame.row * step.a.step);
                    std::fill_n(reinterpret_cast<T*>(pointers[step.out.slot]), filled, value);
                });
                break;
            case Step::Kind::index: {
                auto* out = reinterpret_cast<int64_t*>(pointers[step.out.slot]);
                for (int64_t i = 0; i < count; ++i) out[i] = at + i;
                break;
            }
        }
    }
}

}  // namespace fieldforge::rows
