// Walks nests and tiles as the C++ of `stages/codegen/cpu/text` does: the same iterations, shared
// among threads by the same rules.
#include "walk.h"

#include <algorithm>

#include "call_of_rows.h"

namespace fieldforge::rows {

thread_local Room room_of_part;

namespace {

constexpr int64_t all_places = 1 << 16;

thread_local Room room_of_call;  // addresses of buffers

void find_memory(const Call& call, const void* const* pointers) {
    for (size_t i = 0; i < call.program.buffers.size(); ++i) {
        const Buffer& buffer = call.program.buffers[i];
        Memory& memory = call.memory[i];
        if (buffer.kind == Buffer::Kind::given) {
            memory.base = static_cast<char*>(const_cast<void*>(pointers[buffer.place]));
            for (size_t axis = 0; axis < buffer.strides.size(); ++axis) {
                memory.strides[axis] = buffer.size * buffer.strides[axis].of(call.ints);
            }
            continue;
        }
        int64_t step = buffer.size;
        for (auto axis = buffer.order.rbegin(); axis != buffer.order.rend(); ++axis) {
            memory.strides[*axis] = step;
            const Span& range = buffer.box[*axis];
            step *= range.stop.of(call.ints) - range.start.of(call.ints);
        }
        if (buffer.kind == Buffer::Kind::arena) {
            char* const slot = call.arena + call.slot_offset(buffer.place);
            memory.base = moved(call, buffer, memory, slot, nullptr);
        }
    }
}

// --- one nest -----------------------------------------------------------------------------------

// Calls `body(first, count)` for strips of lanes. The last one begins earlier if that fills vector
// registers, and computes some lanes again.
template <class Body>
void each_strip(const Frame& frame, Ends ends, const Body& body) {
    constexpr int64_t vector = 8;
    const int64_t strip = frame.nest->strip, start = ends.start;
    for (int64_t at = start; at < ends.stop; at += strip) {
        int64_t count = std::min(strip, ends.stop - at);
        const int64_t filled = (count + vector - 1) / vector * vector;
        if (filled != count && frame.may_repeat && ends.stop - start >= filled) {
            at = ends.stop - filled, count = filled;
        }
        body(at, count);
    }
}

void run_inner(const Frame& frame, int64_t at, int64_t count) {
    const Nest& nest = *frame.nest;
    const auto inner = nest.loops.size() - 1;
    int64_t& index = frame.values[inner];
    for (size_t part = 0; part < nest.parts.size(); ++part) {
        const Ends ends = frame.parts[part];
        const Code& code = nest.parts[part].code;
        if (nest.loops[inner].backward) {
            for (index = ends.stop - 1; index >= ends.start; --index) run(frame, code, at, count, count);
        } else {
            for (index = ends.start; index < ends.stop; ++index) run(frame, code, at, count, count);
        }
    }
}

void run_lanes(const Frame& frame, Ends ends) {
    each_strip(frame, ends, [&](int64_t at, int64_t count) {
        run(frame, frame.nest->first, at, count, count);
        run_inner(frame, at, count);
    });
}

void run_part(const Frame& frame, const Part& part, Ends ends) {
    each_strip(frame, ends, [&](int64_t at, int64_t count) { run(frame, part.code, at, count, count); });
}

// Runs what stands inside of the outer loops.
void run_strips(const Frame& frame) {
    const Nest& nest = *frame.nest;
    if (nest.lanes < 0) {
        run(frame, nest.first, 0, 1, 1);
        if (nest.has_inner) run_inner(frame, 0, 1);
    } else if (nest.has_inner) {
        run_lanes(frame, frame.loops[nest.lanes]);
    } else {
        for (size_t i = 0; i < nest.parts.size(); ++i) run_part(frame, nest.parts[i], frame.parts[i]);
    }
}

// How many lanes a value fills inside of so many loops: those of a row, or those of many rows.
int64_t width_of(const Frame& frame, int32_t level) {
    const Nest& nest = *frame.nest;
    const int64_t rows = level < nest.outer && !nest.rows.empty() ? rows_at_once : 1;
    if (nest.lanes < 0) return rows;
    const Ends& lanes = frame.loops[nest.lanes];
    return std::clamp<int64_t>(lanes.stop - lanes.start, rows, std::max(nest.strip, rows));
}

// Runs some indices of a loop around the lanes; of the last one, many at a time.
void run_indices(const Frame& frame, int32_t level, Ends ends) {
    const Nest& nest = *frame.nest;
    const bool is_last = level + 1 == nest.outer && !nest.rows.empty();
    const bool backward = nest.loops[level].backward;
    bool is_first = true;
    const int64_t width = width_of(frame, level + 1), most = is_last ? rows_at_once : ends.stop - ends.start;
    while (ends.start < ends.stop) {
        const int64_t count = std::min(most, ends.stop - ends.start);
        const int64_t first = backward ? ends.stop - count : ends.start;
        (backward ? ends.stop : ends.start) += backward ? -count : count;
        frame.row = 0, frame.last_row = is_last ? count - 1 : 0;
        if (is_last) run(frame, nest.rows, first, count, count);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t row = backward ? count - 1 - i : i;
            if (is_last) frame.row = row;
            frame.values[level] = first + row;
            if (level + 1 == nest.outer) {
                is_first ? point_first(frame) : point_next(frame);
                is_first = false;
            }
            if (!nest.around[level + 1].empty()) run(frame, nest.around[level + 1], 0, 1, width);
            run_from(frame, level + 1);
        }
    }
}

}  // namespace

void run_turn(const Frame& frame, int64_t index, bool is_first) {
    const Nest& nest = *frame.nest;
    const int32_t last = nest.outer - 1;
    for (int32_t level = 0; is_first && level < last; ++level) {
        frame.values[level] = frame.loops[level].start;
        run(frame, nest.around[level + 1], 0, 1, width_of(frame, level + 1));
    }
    frame.values[last] = index;
    is_first ? point_first(frame) : point_next(frame);
    if (!nest.around[last + 1].empty()) run(frame, nest.around[last + 1], 0, 1, width_of(frame, last + 1));
    run_strips(frame);
}

void run_from(const Frame& frame, int32_t level) {
    if (level == frame.nest->outer) return run_strips(frame);
    run_indices(frame, level, frame.loops[level]);
}

namespace {

// --- threads ------------------------------------------------------------------------------------

void run_nest(const Call& call, const Nest& nest) {
    if (call.is_empty(nest.guard)) return;
    int64_t points = 1, count = 1;
    for (const Loop& loop : nest.loops) points *= call.extent(loop.range);
    const auto frame_here = [&] {
        const Frame frame = make_frame(nest, call.program.buffers, call.memory, call.ints,
                                       call.scalars, call.stream_from(), room_of_part.take(nest.bytes()));
        run(frame, nest.around[0], 0, 1, std::max(nest.strip, rows_at_once));
        return frame;
    };
    if (nest.outer == 0 && nest.lanes >= 0) {  // threads share the lanes
        const auto share_lanes = [&](const Ends& all, auto run_these) {
            const int64_t blocks = (at_least_zero(all.stop - all.start) + nest.strip - 1) / nest.strip;
            share(call, blocks, all_places, points, [&](int64_t begin, int64_t end, int64_t) {
                const Ends own{all.start + begin * nest.strip,
                               std::min(all.stop, all.start + end * nest.strip)};
                run_these(frame_here(), own);
            });
        };
        if (nest.has_inner) {
            const Loop& loop = nest.loops[nest.lanes];
            const Ends all{loop.range.start.of(call.ints), loop.range.stop.of(call.ints)};
            share_lanes(all, [](const Frame& frame, const Ends& own) { run_lanes(frame, own); });
            return;
        }
        for (size_t part = 0; part < nest.parts.size(); ++part) {
            const Span& range = nest.parts[part].range;
            const Ends all{range.start.of(call.ints), range.stop.of(call.ints)};
            share_lanes(all, [part, &nest](const Frame& frame, const Ends& own) {
                run_part(frame, nest.parts[part], own);
            });
        }
        return;
    }
    for (int32_t level = 0; level < nest.shared; ++level) count *= call.extent(nest.loops[level].range);
    share(call, count, all_places, nest.shared > 0 ? points : 0, [&](int64_t begin, int64_t end, int64_t) {
        const Frame frame = frame_here();
        if (nest.shared == 0) return run_from(frame, 0);
        const int32_t last = nest.shared - 1;
        for (int64_t turn = begin; turn < end;) {
            int64_t left = turn;
            for (int32_t level = last; level >= 0; --level) {
                const Ends& ends = frame.loops[level];
                const int64_t extent = ends.stop - ends.start;
                frame.values[level] = ends.start + left % extent;
                left /= extent;
            }
            for (int32_t level = 1; level <= last; ++level) {
                run(frame, nest.around[level], 0, 1, width_of(frame, level));
            }
            const int64_t first = frame.values[last];
            const int64_t count = std::min(end - turn, frame.loops[last].stop - first);
            run_indices(frame, last, {first, first + count});
            turn += count;
        }
    });
}

}  // namespace

void run_program(const Program& program, const void* const* pointers, const int64_t* ints,
                 const void* scalars, char* arena, const Context& context) {
    const auto bytes = static_cast<int64_t>(program.buffers.size() * sizeof(Memory));
    Call call{program, ints, scalars, arena, context,
              reinterpret_cast<Memory*>(room_of_call.take(bytes))};
    find_memory(call, pointers);
    const bool is_clamped = program.clamping >= 0 && ints[program.clamping] != 0;
    const int64_t only = program.stepped >= 0 ? ints[program.stepped] : 0;
    for (const Node& node : is_clamped ? program.clamped : program.nodes) {
        if (only != 0 && node.statement != only) continue;
        for (const Nest& nest : node.nest) run_nest(call, nest);
        for (const Tiles& tiles : node.tiles) {
            run_tiles(call, tiles);
        }
    }
}

}  // namespace fieldforge::rows
