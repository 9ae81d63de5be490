// The inspector: walks from each patch of the last nest to what it needs.
#include "patches.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <utility>

namespace fieldforge {
namespace {

constexpr int64_t header = 3;  // words of each nest
constexpr int64_t fewest_patches = 64;   // on a CPU, unless they get too small
constexpr int64_t fewest_portions = 4;   // of a patch of a small mesh
constexpr int64_t many_portions = 8;     // of a patch that reuses rows, or is not worth it
constexpr int64_t most_near = 1 << 16;   // near indices are uint16
constexpr int64_t most_words = int64_t{1} << 31;

// Where the links lead; -1 if an entry is missing.
int64_t walk(const std::vector<Link>& links, const std::vector<HostTable>& tables, int64_t at) {
    for (const Link& link : links) {
        const HostTable& table = tables[link.table];
        if (at < 0 || at >= table.rows || link.slot >= table.width) return -1;
        at = table.at(at, link.slot);
    }
    return at;
}

class Inspector {
   public:
    Inspector(const PatchOrder& order, const std::vector<HostTable>& tables)
        : order_(order), tables_(tables), lists_(order.members.size()),
          marks_(order.members.size()), spots_(order.members.size()) {}

    PatchLists run() {
        const Member& last = order_.members.back();
        const int64_t size = size_for(rows_of(last, tables_));
        Elements order = grown(last, tables_, size);
        if (order.empty()) return {};
        own(std::move(order), size);
        for (int64_t part = 0; part < parts_; ++part) {
            if (!fill(part)) return {};
        }
        if (!is_worth()) return {};
        int64_t rows = 0, filled = 0;
        for (size_t m = 0; m < count(); ++m) {
            if (!order_.members[m].fills) continue;
            filled += place(m) * order_.members[m].row_bytes;
            rows += lists_[m].most * order_.members[m].row_bytes;
        }
        // Where neighbours have far numbers, most rows are needed until the end of a patch: reuse
        // then saves less than a quarter of the memory.
        const bool is_far = per_patch_ >= many_portions && 4 * rows > 3 * filled;
        return is_far ? PatchLists{} : written();
    }

   private:
    size_t count() const { return order_.members.size(); }
    int64_t patches() const { return (parts_ + per_patch_ - 1) / per_patch_; }
    // The first part of a patch, and where the last one ends.
    int64_t part_from(int64_t patch) const { return std::min(patch * per_patch_, parts_); }

    // Elements of a patch: portions are whole, and small meshes have patches for some threads.
    int64_t size_for(int64_t rows) const {
        const int64_t portion = order_.portion;
        if (portion == 0) return order_.size;
        const int64_t shared = std::max(rows / fewest_patches, fewest_portions * portion);
        return std::max<int64_t>(std::min(order_.size, shared) / portion, 1) * portion;
    }

    void own(Elements order, int64_t size) {
        const int64_t portion = order_.portion == 0 ? size : order_.portion;
        parts_ = (std::ssize(order) + portion - 1) / portion;
        per_patch_ = size / portion;
        for (int64_t start = 0; start < std::ssize(order); start += size) {
            std::sort(order.begin() + start,
                      order.begin() + std::min<int64_t>(start + size, std::ssize(order)));
        }
        std::vector<int32_t> part_of(order.size());
        Lists& last = lists_.back();
        for (int64_t part = 0; part < parts_; ++part) {
            const int64_t start = part * portion;
            const int64_t stop = std::min<int64_t>(start + portion, std::ssize(order));
            for (int64_t i = start; i < stop; ++i) part_of[order[i]] = static_cast<int32_t>(part);
            last.elements.insert(last.elements.end(), order.begin() + start, order.begin() + stop);
            last.close();
        }
        for (size_t m = 0; m + 1 < count(); ++m) {
            const Member& member = order_.members[m];
            if (member.fills) continue;
            lists_[m] = shared_out(member, tables_, part_of, rows_of(member, tables_), parts_);
        }
    }

    // Adds what the nests of one part need and the patch has not filled yet, from the last nest on.
    bool fill(int64_t part) {
        for (size_t m = count(); m-- > 0;) {
            if (order_.members[m].fills) {
                Lists& own = lists_[m];
                const auto start = own.elements.begin() + own.first.back();
                std::sort(start, own.elements.end());
                begin_with_others(m, part);
                own.close();
            }
            for (const NearReading& reading : order_.members[m].readings) {
                if (!need(lists_[m], part, reading)) return false;
            }
        }
        return true;
    }

    // Puts the elements of another nest first in the list of the one that fills an array for them.
    void begin_with_others(size_t m, int64_t part) {
        if (order_.members[m].begins < 0) return;
        const Lists& others = lists_[order_.members[m].begins];
        const auto first = others.elements.begin() + others.first[part];
        const auto last = others.elements.begin() + others.first[part + 1];
        Elements all(first, last);
        Lists& own = lists_[m];
        const auto start = own.elements.begin() + own.first.back();
        std::set_difference(start, own.elements.end(), first, last, std::back_inserter(all));
        own.elements.erase(start, own.elements.end());
        own.elements.insert(own.elements.end(), all.begin(), all.end());
        std::vector<int32_t>& marks = marks_[m];
        for (const int32_t each : all) {
            if (each >= std::ssize(marks)) marks.resize(2 * size_t(each) + 1, -1);
            marks[each] = static_cast<int32_t>(part / per_patch_);
        }
    }

    bool need(const Lists& readers, int64_t part, const NearReading& reading) {
        Lists& own = lists_[reading.filler];
        std::vector<int32_t>& marks = marks_[reading.filler];
        const auto patch = static_cast<int32_t>(part / per_patch_);
        for (int64_t i = readers.first[part]; i < readers.first[part + 1]; ++i) {
            const int64_t found = walk(reading.links, tables_, readers.elements[i]);
            if (found < 0) return false;
            if (found >= std::ssize(marks)) marks.resize(2 * found + 1, -1);
            if (marks[found] == patch) continue;
            marks[found] = patch;
            own.elements.push_back(static_cast<int32_t>(found));
        }
        return true;
    }

    // Whether what is computed again at the rims of patches is little enough.
    bool is_worth() const {
        int64_t all = 0, once = 0;
        for (size_t m = 0; m < count(); ++m) {
            if (!order_.members[m].fills) continue;
            all += std::ssize(lists_[m].elements);
            once += std::count_if(marks_[m].begin(), marks_[m].end(), [](int32_t p) { return p >= 0; });
        }
        return 100 * all <= order_.percent * once;
    }

    // Calls `body(i, part, at)` for each reading in a patch: nest `by` reads, for its element `i`,
    // what is element `at` of the list of the filler.
    template <class Body>
    void each_reading(size_t by, int64_t patch, std::vector<std::vector<int32_t>>& where,
                      const Body& body) const {
        const std::vector<NearReading>& readings = order_.members[by].readings;
        for (const NearReading& each : readings) {
            const Lists& filled = lists_[each.filler];
            where[each.filler].resize(marks_[each.filler].size());
            for (int64_t i = filled.first[part_from(patch)]; i < filled.first[part_from(patch + 1)]; ++i) {
                where[each.filler][filled.elements[i]] = static_cast<int32_t>(i);
            }
        }
        for (int64_t part = part_from(patch); part < part_from(patch + 1); ++part) {
            for (int64_t i = lists_[by].first[part]; i < lists_[by].first[part + 1]; ++i) {
                for (const NearReading& each : readings) {
                    const int64_t found = walk(each.links, tables_, lists_[by].elements[i]);
                    body(each, part, where[each.filler][found]);
                }
            }
        }
    }

    // Gives what a nest fills a place. Returns the most that it fills in a patch.
    int64_t place(size_t m) {
        spots_[m].resize(lists_[m].elements.size());
        return order_.portion == 0 ? place_apart(m) : place_in_rows(m);
    }

    // Each element has a place of its own in the patch.
    int64_t place_apart(size_t m) {
        const Lists& own = lists_[m];
        for (int64_t part = 0; part < parts_; ++part) {
            for (int64_t i = own.first[part]; i < own.first[part + 1]; ++i) {
                spots_[m][i] = static_cast<int32_t>(i - own.first[part]);
            }
        }
        return own.most;
    }

    // The row of an element is free for others after the last portion that reads it.
    int64_t place_in_rows(size_t m) {
        Lists& own = lists_[m];
        const std::vector<int32_t> until = last_readers(m);
        std::vector<std::vector<int32_t>> ending(per_patch_);  // the rows that end with a portion
        int64_t filled = 0;
        own.most = 0;
        for (int64_t patch = 0; patch < patches(); ++patch) {
            filled = std::max(filled, own.first[part_from(patch + 1)] - own.first[part_from(patch)]);
            std::vector<int32_t> vacant;
            int32_t most = 0;
            for (int64_t part = part_from(patch); part < part_from(patch + 1); ++part) {
                for (int64_t i = own.first[part]; i < own.first[part + 1]; ++i) {
                    if (vacant.empty()) vacant.push_back(most++);
                    spots_[m][i] = vacant.back();
                    vacant.pop_back();
                    ending[std::max<int64_t>(until[i], part) - part_from(patch)].push_back(spots_[m][i]);
                }
                std::vector<int32_t>& over = ending[part - part_from(patch)];
                vacant.insert(vacant.end(), over.rbegin(), over.rend());
                over.clear();
            }
            own.most = std::max<int64_t>(own.most, most);
        }
        return filled;
    }

    // The last portion that reads each element of a list; 0 for an element that none reads.
    std::vector<int32_t> last_readers(size_t m) const {
        std::vector<int32_t> until(lists_[m].elements.size());
        std::vector<std::vector<int32_t>> where(count());
        for (int64_t patch = 0; patch < patches(); ++patch) {
            for (size_t by = m + 1; by < count(); ++by) {
                each_reading(by, patch, where, [&](const NearReading& each, int64_t part, int32_t at) {
                    if (each.filler == static_cast<int32_t>(m)) {
                        until[at] = std::max(until[at], static_cast<int32_t>(part));
                    }
                });
            }
        }
        return until;
    }

    // Where the parts of the lists begin, in words.
    struct Layout {
        int64_t firsts, words;
        std::vector<int64_t> elements, near;  // of each nest
    };

    Layout layout() const {
        const auto nests = static_cast<int64_t>(count());
        Layout made{header * nests + (order_.portion == 0 ? 0 : 2), 0, {}, {}};
        made.words = made.firsts + (parts_ + 1) * nests;
        for (const Lists& each : lists_) {
            made.elements.push_back(made.words);
            made.words += std::ssize(each.elements);
        }
        for (size_t m = 0; m < count(); ++m) {
            made.near.push_back(made.words);
            made.words += (std::ssize(lists_[m].elements) * columns(m) + 1) / 2;
        }
        return made;
    }

    // The lists as generated code reads them; none where they need too much memory.
    PatchLists written() const {
        PatchLists made;
        for (size_t m = 0; m < count(); ++m) {
            if (order_.members[m].fills) made.shared += lists_[m].most * order_.members[m].row_bytes;
        }
        const bool is_small = std::all_of(lists_.begin(), lists_.end(),
                                          [](const Lists& each) { return each.most < most_near; });
        const Layout at = layout();
        if (made.shared > order_.most || !is_small || at.words >= most_words) return {};
        made.patches = patches();
        made.size = per_patch_ * (order_.portion == 0 ? order_.size : order_.portion);
        made.words.resize(at.words);
        if (order_.portion != 0) {
            made.words[at.firsts - 2] = static_cast<uint32_t>(per_patch_);
            made.words[at.firsts - 1] = static_cast<uint32_t>(parts_);
        }
        for (size_t m = 0; m < count(); ++m) write_nest(m, at, made.words.data());
        return made;
    }

    void write_nest(size_t m, const Layout& at, uint32_t* to) const {
        const auto nests = static_cast<int64_t>(count());
        to[header * m] = static_cast<uint32_t>(at.near[m]);
        to[header * m + 1] = static_cast<uint32_t>(at.elements[m]);
        to[header * m + 2] = static_cast<uint32_t>(lists_[m].most);
        for (int64_t part = 0; part <= parts_; ++part) {
            to[at.firsts + part * nests + static_cast<int64_t>(m)] =
                static_cast<uint32_t>(at.elements[m] + lists_[m].first[part]);
        }
        std::copy(lists_[m].elements.begin(), lists_[m].elements.end(), to + at.elements[m]);
        const std::vector<uint16_t> places = near_of(m);
        std::memcpy(to + at.near[m], places.data(), places.size() * sizeof(uint16_t));
    }

    // What each element has in the near indices: its readings, and on a CPU its own place.
    int64_t columns(size_t m) const {
        const Member& member = order_.members[m];
        return std::ssize(member.readings) + (order_.portion != 0 && member.fills ? 1 : 0);
    }

    std::vector<uint16_t> near_of(size_t m) const {
        std::vector<uint16_t> made(lists_[m].elements.size() * columns(m));
        std::vector<std::vector<int32_t>> where(count());
        const auto width = static_cast<int64_t>(order_.members[m].readings.size());
        int64_t at = 0;
        for (int64_t patch = 0; width > 0 && patch < patches(); ++patch) {
            each_reading(m, patch, where, [&](const NearReading& each, int64_t, int32_t found) {
                made[at / width * columns(m) + at % width] =
                    static_cast<uint16_t>(spots_[each.filler][found]);
                ++at;
            });
        }
        for (int64_t i = 0; columns(m) > width && i < std::ssize(lists_[m].elements); ++i) {
            made[i * columns(m) + width] = static_cast<uint16_t>(spots_[m][i]);
        }
        return made;
    }

    const PatchOrder& order_;
    const std::vector<HostTable>& tables_;
    int64_t parts_ = 0, per_patch_ = 1;  // a part: a portion, or a patch where there are none
    std::vector<Lists> lists_;           // by part
    std::vector<std::vector<int32_t>> marks_;  // the last patch that needs an element
    std::vector<std::vector<int32_t>> spots_;  // where an element of a list lies
};

}  // namespace

PatchLists inspect(const PatchOrder& order, const std::vector<HostTable>& tables) {
    if (order.members.empty() || order.size <= 0) return {};
    return Inspector(order, tables).run();
}

}  // namespace fieldforge
