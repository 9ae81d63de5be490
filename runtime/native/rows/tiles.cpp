// Walks tiles: nests in order on each, with arrays that stay in the caches of a thread.
#include <algorithm>
#include <vector>

#include "call_of_rows.h"

namespace fieldforge::rows {
namespace {

constexpr int64_t fewest = 8;  // rows of a tile

int64_t even(int64_t count, int64_t most) {
    const int64_t tiles = (count + most - 1) / most;
    return tiles < 1 ? 1 : ((count + tiles - 1) / tiles + 7) / 8 * 8;
}

int64_t rows_of_tile(int64_t count, int64_t most, int64_t parts) {
    const int64_t part = std::max((count + parts - 1) / parts, fewest);
    const int64_t tiles = (part + most - 1) / most;
    return (part + tiles - 1) / tiles;
}

// The rows of a nest in a tile that rolls.
struct Turns {
    Ends rows;
    bool is_alone;   // each turn is one index of the loop around the lanes, no other loop has several
    bool has_begun;
};

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
        bytes += static_cast<int64_t>(tiles_.members.size() * sizeof(Turns)) + line;
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
        auto* turns = reinterpret_cast<Turns*>(take(tiles_.members.size() * sizeof(Turns)));
        for (size_t i = 0; i < tiles_.members.size(); ++i) {
            const Nest& nest = tiles_.members[i].nest;
            frames[i] = make_frame(nest, buffers, memory, call_.ints, call_.scalars,
                                   call_.stream_from(), take(static_cast<size_t>(nest.bytes())));
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
                run(frames[i], frames[i].nest->around[0], 0, 1, std::max(frames[i].nest->strip, rows_at_once));
            }
            run_tile(frames, turns, first, last);
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

    void run_tile(Frame* frames, Turns* turns, const int64_t* first, const int64_t* last) const {
        const size_t count = tiles_.members.size();
        for (size_t i = 0; i < count; ++i) enter(frames[i], tiles_.members[i], first, last);
        if (tiles_.rolled < 0) {
            for (size_t i = 0; i < count; ++i) run_from(frames[i], 0);
            return;
        }
        int64_t ahead = 0;
        for (const Member& each : tiles_.members) {
            const auto& [before, beyond] = each.margins[tiles_.rolled];
            ahead = std::max(ahead, before + beyond);
        }
        for (size_t i = 0; i < count; ++i) turns[i] = turns_of(frames[i], tiles_.members[i]);
        for (int64_t row = first[tiles_.rolled] - ahead; row < last[tiles_.rolled]; ++row) {
            for (size_t i = 0; i < count; ++i) run_row(frames[i], tiles_.members[i], turns[i], row);
        }
    }

    // Sets the loops of a nest to what lies inside of a tile.
    void enter(const Frame& frame, const Member& member, const int64_t* first, const int64_t* last) const {
        const Nest& nest = member.nest;
        const auto inside = [&](const Span& range, int32_t cut) {
            const Ends ends{range.start.of(call_.ints), range.stop.of(call_.ints)};
            if (cut < 0) return ends;
            const auto& [before, beyond] = member.margins[cut];
            return Ends{std::max(ends.start, first[cut] - before), std::min(ends.stop, last[cut] + beyond)};
        };
        for (size_t i = 0; i < nest.loops.size(); ++i) {
            frame.loops[i] = inside(nest.loops[i].range, member.cuts[i]);
        }
        for (size_t i = 0; i < nest.parts.size(); ++i) {
            frame.parts[i] = inside(nest.parts[i].range, member.cuts.back());
        }
    }

    Turns turns_of(const Frame& frame, const Member& member) const {
        const Nest& nest = member.nest;
        const auto loop = std::find(member.cuts.begin(), member.cuts.end(), tiles_.rolled) - member.cuts.begin();
        bool is_alone = loop == nest.outer - 1 && nest.rows.empty() && !nest.loops[loop].backward;
        for (int32_t i = 0; i + 1 < nest.outer; ++i) {
            is_alone &= frame.loops[i].stop - frame.loops[i].start == 1;
        }
        const bool is_rolled = loop < static_cast<int64_t>(nest.loops.size());
        return {is_rolled ? frame.loops[loop] : Ends{0, 0}, is_alone, false};
    }

    // Runs the one row of a nest whose turn it is.
    void run_row(const Frame& frame, const Member& member, Turns& turns, int64_t row) const {
        const int64_t own = row + member.margins[tiles_.rolled].second;
        if (turns.is_alone) {
            if (own < turns.rows.start || own >= turns.rows.stop) return;
            run_turn(frame, own, !turns.has_begun);
            turns.has_begun = true;
            return;
        }
        const auto loop = std::find(member.cuts.begin(), member.cuts.end(), tiles_.rolled);
        if (loop == member.cuts.end()) return run_from(frame, 0);
        const Ends whole = frame.loops[loop - member.cuts.begin()];
        if (own < whole.start || own >= whole.stop) return;
        frame.loops[loop - member.cuts.begin()] = {own, own + 1};
        if (loop + 1 != member.cuts.end()) {
            run_from(frame, 0);
        } else {  // the innermost loop: at most one of its parts has the row
            const std::vector<Ends> parts(frame.parts, frame.parts + member.nest.parts.size());
            for (size_t i = 0; i < parts.size(); ++i) {
                frame.parts[i] = {std::max(parts[i].start, own), std::min(parts[i].stop, own + 1)};
            }
            run_from(frame, 0);
            std::copy(parts.begin(), parts.end(), frame.parts);
        }
        frame.loops[loop - member.cuts.begin()] = whole;
    }

    const Call& call_;
    const Tiles& tiles_;
    int64_t points_ = 1;
    int64_t starts_[most_cuts] = {}, stops_[most_cuts] = {}, sizes_[most_cuts] = {},
            counts_[most_cuts] = {};
};

}  // namespace

void run_tiles(const Call& call, const Tiles& tiles) {
    if (!call.is_empty(tiles.guard)) TileWalk(call, tiles).run_all();
}

}  // namespace fieldforge::rows
