// Walks nests and tiles as the C++ of `stages/codegen/cpu/text` does: the same iterations, shared
// among threads by the same rules.
#include "walk.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace fieldforge::rows {
namespace {

constexpr int64_t usual_parallel_from = 8192;  // points
constexpr int64_t line = 64;
constexpr int64_t fewest = 8;  // rows of a tile
constexpr int64_t all_places = 1 << 16;
constexpr int most_cuts = 4;

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

thread_local Room room_of_part;  // frames
thread_local Room room_of_call;  // addresses of buffers

int64_t at_least_zero(int64_t value) { return std::max<int64_t>(value, 0); }

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
    int64_t slot_offset(int32_t slot) const {
        int64_t offset = 0;
        for (int32_t i = 0; i < slot; ++i) offset += program.slots[i].of(ints);
        return offset;
    }
};

// Moves an array to index 0 of its axes; its box begins at the first indices of a tile.
char* moved(const Call& call, const Buffer& buffer, const Memory& memory, char* to,
            const int64_t* firsts) {
    for (size_t axis = 0; axis < buffer.box.size(); ++axis) {
        if (static_cast<int32_t>(axis) == buffer.ring) continue;
        int64_t first = buffer.box[axis].start.of(call.ints);
        if (firsts != nullptr && buffer.cuts[axis] >= 0) first += firsts[buffer.cuts[axis]];
        to -= first * memory.strides[axis];
    }
    return to;
}

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

// Strips of nearly equal lengths, none longer than a strip may be.
int64_t strip_of(const Nest& nest, int64_t lanes) {
    const int64_t strips = (lanes + nest.strip - 1) / nest.strip;
    return strips <= 1 ? lanes : (lanes + strips - 1) / strips;
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
    const Nest& nest = *frame.nest;
    const int64_t strip = std::max<int64_t>(strip_of(nest, ends.stop - ends.start), 1);
    for (int64_t at = ends.start; at < ends.stop; at += strip) {
        const int64_t count = std::min(strip, ends.stop - at);
        run(frame, nest.first, at, count, count);
        run_inner(frame, at, count);
    }
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
        for (size_t part = 0; part < nest.parts.size(); ++part) {
            const Ends ends = frame.parts[part];
            const Code& code = nest.parts[part].code;
            const int64_t strip = std::max<int64_t>(strip_of(nest, ends.stop - ends.start), 1);
            for (int64_t at = ends.start; at < ends.stop; at += strip) {
                const int64_t count = std::min(strip, ends.stop - at);
                run(frame, code, at, count, count);
            }
        }
    }
}

// How many lanes a value around them fills.
int64_t width_of(const Frame& frame) {
    const Nest& nest = *frame.nest;
    if (nest.lanes < 0) return 1;
    const Ends& lanes = frame.loops[nest.lanes];
    return std::clamp<int64_t>(lanes.stop - lanes.start, 0, nest.strip);
}

void run_from(const Frame& frame, int32_t level) {
    const Nest& nest = *frame.nest;
    if (level == nest.outer) return run_strips(frame);
    const Ends ends = frame.loops[level];
    const int64_t width = width_of(frame);
    int64_t& index = frame.values[level];
    const auto one = [&] {
        run(frame, nest.around[level + 1], 0, 1, width);
        run_from(frame, level + 1);
    };
    if (nest.loops[level].backward) {
        for (index = ends.stop - 1; index >= ends.start; --index) one();
    } else {
        for (index = ends.start; index < ends.stop; ++index) one();
    }
}

// --- threads ------------------------------------------------------------------------------------

template <class Body>
void share(const Call& call, int64_t count, int64_t most, int64_t points, const Body& body) {
    if (count <= 0) return;
    const Context& context = call.context;
    if (points < call.parallel_from() || context.parallel_for == nullptr) return body(0, count, 0);
    const auto call_body = [](void* data, int64_t begin, int64_t end, int64_t place) {
        (*static_cast<const Body*>(data))(begin, end, place);
    };
    context.parallel_for(context.pool, count, most, points, call_body, const_cast<Body*>(&body));
}

void run_nest(const Call& call, const Nest& nest) {
    if (call.is_empty(nest.guard)) return;
    int64_t points = 1, count = 1;
    for (const Loop& loop : nest.loops) points *= call.extent(loop.range);
    const auto frame_here = [&] {
        const Frame frame = make_frame(nest, call.program.buffers, call.memory, call.ints,
                                       call.scalars, room_of_part.take(nest.bytes()));
        run(frame, nest.around[0], 0, 1, nest.strip);
        return frame;
    };
    if (nest.outer == 0 && nest.lanes >= 0) {  // threads share the lanes
        const auto run_part = [&](const Ends& all, auto run_these) {
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
            run_part(all, [](const Frame& frame, const Ends& own) { run_lanes(frame, own); });
            return;
        }
        for (size_t part = 0; part < nest.parts.size(); ++part) {
            const Span& range = nest.parts[part].range;
            const Ends all{range.start.of(call.ints), range.stop.of(call.ints)};
            run_part(all, [part, &nest](const Frame& frame, const Ends& own) {
                for (int64_t at = own.start; at < own.stop; at += nest.strip) {
                    const int64_t lanes = std::min(nest.strip, own.stop - at);
                    run(frame, nest.parts[part].code, at, lanes, lanes);
                }
            });
        }
        return;
    }
    for (int32_t level = 0; level < nest.shared; ++level) count *= call.extent(nest.loops[level].range);
    share(call, count, all_places, nest.shared > 0 ? points : 0, [&](int64_t begin, int64_t end, int64_t) {
        const Frame frame = frame_here();
        if (nest.shared == 0) return run_from(frame, 0);
        for (int64_t turn = begin; turn < end; ++turn) {
            int64_t left = turn;
            for (int32_t level = nest.shared - 1; level >= 0; --level) {
                const Ends& ends = frame.loops[level];
                const int64_t extent = ends.stop - ends.start;
                frame.values[level] = ends.start + left % extent;
                left /= extent;
            }
            for (int32_t level = 1; level <= nest.shared; ++level) {
                run(frame, nest.around[level], 0, 1, width_of(frame));
            }
            run_from(frame, nest.shared);
        }
    });
}

// --- tiles --------------------------------------------------------------------------------------

int64_t even(int64_t count, int64_t most) {
    const int64_t tiles = (count + most - 1) / most;
    return tiles < 1 ? 1 : ((count + tiles - 1) / tiles + 7) / 8 * 8;
}

int64_t rows_of_tile(int64_t count, int64_t most, int64_t parts) {
    const int64_t part = std::max((count + parts - 1) / parts, fewest);
    const int64_t tiles = (part + most - 1) / most;
    return (part + tiles - 1) / tiles;
}

class TileWalk {
   public:
    TileWalk(const Call& call, const Tiles& tiles) : call_(call), tiles_(tiles) {
        for (const Span& each : tiles.box) points_ *= call.extent(each);
        for (size_t i = 0; i < tiles.cuts.size(); ++i) {
            const Cut& cut = tiles.cuts[i];
            starts_[i] = cut.range.start.of(call.ints), stops_[i] = cut.range.stop.of(call.ints);
        }
        const auto rolled = static_cast<size_t>(tiles.rolled);
        int64_t others = 1;
        for (size_t i = 0; i < tiles.cuts.size(); ++i) {
            if (i != rolled) others *= size_cut(i, 1);
        }
        if (tiles.rolled >= 0) size_cut(rolled, others);
    }

    void run_all() {
        int64_t count = 1;
        for (size_t i = 0; i < tiles_.cuts.size(); ++i) count *= counts_[i];
        share(call_, count, tiles_.threads, points_, [this](int64_t begin, int64_t end, int64_t place) {
            run_part(begin, end, place);
        });
    }

   private:
    int64_t size_cut(size_t i, int64_t others) {
        const Cut& cut = tiles_.cuts[i];
        const int64_t count = at_least_zero(stops_[i] - starts_[i]);
        sizes_[i] = cut.size;
        if (cut.even && static_cast<int32_t>(i) == tiles_.rolled) {
            sizes_[i] = rows_of_tile(count, cut.size, parts_of(others));
        } else if (cut.even) {
            sizes_[i] = even(count, cut.size);
        }
        return counts_[i] = (count + sizes_[i] - 1) / sizes_[i];
    }

    int64_t parts_of(int64_t others) const {
        const Context& context = call_.context;
        if (points_ < call_.parallel_from() || context.threads == nullptr) return 1;
        return (context.threads(context.pool) + others - 1) / std::max<int64_t>(others, 1);
    }

    void run_part(int64_t begin, int64_t end, int64_t place) {
        const auto& buffers = call_.program.buffers;
        int64_t bytes = static_cast<int64_t>(buffers.size() * sizeof(Memory)) + line +
                        static_cast<int64_t>(tiles_.members.size() * sizeof(Frame)) + line;
        for (const Member& each : tiles_.members) bytes += each.nest.bytes();
        char* room = room_of_part.take(bytes);
        const auto take = [&room](size_t taken) {
            char* const here = room;
            room += (taken + line - 1) / line * line;
            return here;
        };
        auto* memory = reinterpret_cast<Memory*>(take(buffers.size() * sizeof(Memory)));
        std::copy_n(call_.memory, buffers.size(), memory);
        auto* frames = reinterpret_cast<Frame*>(take(tiles_.members.size() * sizeof(Frame)));
        for (size_t i = 0; i < tiles_.members.size(); ++i) {
            const Nest& nest = tiles_.members[i].nest;
            frames[i] = make_frame(nest, buffers, memory, call_.ints, call_.scalars,
                                   take(static_cast<size_t>(nest.bytes())));
        }
        for (int64_t turn = begin; turn < end; ++turn) {
            int64_t first[most_cuts], last[most_cuts], left = turn;
            for (auto i = static_cast<int64_t>(tiles_.cuts.size()) - 1; i >= 0; --i) {
                first[i] = starts_[i] + left % counts_[i] * sizes_[i];
                last[i] = std::min(first[i] + sizes_[i], stops_[i]);
                left /= counts_[i];
            }
            place_arrays(memory, first, place);
            for (size_t i = 0; i < tiles_.members.size(); ++i) {
                run(frames[i], frames[i].nest->around[0], 0, 1, frames[i].nest->strip);
            }
            run_tile(frames, first, last);
        }
    }

    void place_arrays(Memory* memory, const int64_t* first, int64_t place) const {
        const Program& program = call_.program;
        std::vector<bool> seen(program.slots.size());
        int64_t own = 0, all = 0;
        int32_t lowest = -1;
        for (const Buffer& each : program.buffers) {
            if (each.kind == Buffer::Kind::tile && !seen[each.place]) {
                seen[each.place] = true;
                all += program.slots[each.place].of(call_.ints) / tiles_.threads;
            }
        }
        for (int32_t slot = 0; slot < static_cast<int32_t>(seen.size()); ++slot) {
            if (!seen[slot]) continue;
            if (lowest < 0) lowest = slot;
            char* const start = call_.arena + call_.slot_offset(lowest) + place * all + own;
            for (size_t i = 0; i < program.buffers.size(); ++i) {
                const Buffer& each = program.buffers[i];
                if (each.kind == Buffer::Kind::tile && each.place == slot) {
                    memory[i].base = moved(call_, each, memory[i], start, first);
                }
            }
            own += program.slots[slot].of(call_.ints) / tiles_.threads;
        }
    }

    void run_tile(Frame* frames, const int64_t* first, const int64_t* last) const {
        if (tiles_.rolled < 0) {
            for (size_t i = 0; i < tiles_.members.size(); ++i) run_member(frames[i], i, first, last, 0);
            return;
        }
        int64_t ahead = 0;
        for (const Member& each : tiles_.members) {
            const auto& [before, beyond] = each.margins[tiles_.rolled];
            ahead = std::max(ahead, before + beyond);
        }
        for (int64_t row = first[tiles_.rolled] - ahead; row < last[tiles_.rolled]; ++row) {
            for (size_t i = 0; i < tiles_.members.size(); ++i) run_member(frames[i], i, first, last, row);
        }
    }

    void run_member(Frame& frame, size_t number, const int64_t* first, const int64_t* last,
                    int64_t row) const {
        const Member& member = tiles_.members[number];
        const Nest& nest = member.nest;
        const auto inside = [&](const Span& range, int32_t cut) {
            Ends ends{range.start.of(call_.ints), range.stop.of(call_.ints)};
            if (cut < 0) return ends;
            const auto& [before, beyond] = member.margins[cut];
            Ends own{first[cut] - before, last[cut] + beyond};
            if (cut == tiles_.rolled) own = {std::max(own.start, row + beyond), row + beyond + 1};
            return Ends{std::max(ends.start, own.start), std::min(ends.stop, own.stop)};
        };
        for (size_t i = 0; i < nest.loops.size(); ++i) {
            frame.loops[i] = inside(nest.loops[i].range, member.cuts[i]);
            if (frame.loops[i].start >= frame.loops[i].stop) return;
        }
        for (size_t i = 0; i < nest.parts.size(); ++i) {
            frame.parts[i] = inside(nest.parts[i].range, member.cuts.back());
        }
        run_from(frame, 0);
    }

    const Call& call_;
    const Tiles& tiles_;
    int64_t points_ = 1;
    int64_t starts_[most_cuts] = {}, stops_[most_cuts] = {}, sizes_[most_cuts] = {},
            counts_[most_cuts] = {};
};

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
            if (!call.is_empty(tiles.guard)) TileWalk(call, tiles).run_all();
        }
    }
}

}  // namespace fieldforge::rows
