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
constexpr int64_t most_near = 1 << 16;
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

// The elements of each patch, one patch after the other.
struct Lists {
    Elements elements;
    std::vector<int64_t> first{0};
    int64_t most = 0;

    void close() {
        most = std::max<int64_t>(most, std::ssize(elements) - first.back());
        first.push_back(std::ssize(elements));
    }
};

// Gives each element of a nest that stores fields to the patch of a neighbour in the last nest.
Lists shared_out(const Member& member, const std::vector<HostTable>& tables,
                 const std::vector<int32_t>& patch_of, int64_t count, int64_t patches) {
    std::vector<int32_t> owner(count, -1);
    if (member.owner.table >= 0) {
        const HostTable& table = tables[member.owner.table];
        if (member.owner_leads_back) {
            for (int64_t i = table.rows; i-- > 0;) {
                for (int64_t slot = table.width; slot-- > 0;) {
                    const int32_t entry = table.at(i, slot);
                    if (entry >= 0 && entry < count) owner[entry] = patch_of[i];
                }
            }
        } else {
            std::vector<int32_t> found;
            for (int64_t i = 0; i < std::min(count, table.rows); ++i) {
                found.clear();
                for (int64_t slot = 0; slot < table.width; ++slot) {
                    const int32_t entry = table.at(i, slot);
                    if (entry >= 0 && entry < std::ssize(patch_of)) found.push_back(patch_of[entry]);
                }
                if (found.empty()) continue;
                std::sort(found.begin(), found.end());
                owner[i] = found[found.size() / 2];  // most of three neighbours
            }
        }
    }
    std::vector<int64_t> sizes(patches + 1);
    for (int64_t i = 0; i < count; ++i) {
        if (owner[i] < 0) owner[i] = static_cast<int32_t>(i * patches / count);
        ++sizes[owner[i] + 1];
    }
    Lists made;
    for (int64_t patch = 0; patch < patches; ++patch) {
        sizes[patch + 1] += sizes[patch];
        made.first.push_back(sizes[patch + 1]);
        made.most = std::max(made.most, made.first[patch + 1] - made.first[patch]);
    }
    made.elements.resize(count);
    for (int64_t i = 0; i < count; ++i) made.elements[sizes[owner[i]]++] = static_cast<int32_t>(i);
    return made;
}

// How many elements a nest that stores fields has: rows of a table from which it reads.
int64_t rows_of(const Member& member, const std::vector<HostTable>& tables) {
    for (const NearReading& reading : member.readings) {
        if (!reading.links.empty()) return tables[reading.links[0].table].rows;
    }
    if (member.owner.table < 0) return 0;
    const HostTable& table = tables[member.owner.table];
    return member.owner_leads_back ? beyond(table) : table.rows;
}

class Inspector {
   public:
    Inspector(const PatchOrder& order, const std::vector<HostTable>& tables)
        : order_(order), tables_(tables), lists_(order.members.size()),
          marks_(order.members.size()) {}

    PatchLists run() {
        Elements order = grown(order_.members.back(), tables_, order_.size);
        if (order.empty()) return {};
        patches_ = (std::ssize(order) + order_.size - 1) / order_.size;
        own(std::move(order));
        for (int64_t patch = 0; patch < patches_; ++patch) {
            if (!fill(patch)) return {};
        }
        return is_worth() ? written() : PatchLists{};
    }

   private:
    size_t count() const { return order_.members.size(); }

    void own(Elements order) {
        std::vector<int32_t> patch_of(order.size());
        Lists& last = lists_.back();
        for (int64_t patch = 0; patch < patches_; ++patch) {
            const int64_t start = patch * order_.size;
            const int64_t stop = std::min<int64_t>(start + order_.size, std::ssize(order));
            for (int64_t i = start; i < stop; ++i) patch_of[order[i]] = static_cast<int32_t>(patch);
            std::sort(order.begin() + start, order.begin() + stop);
            last.elements.insert(last.elements.end(), order.begin() + start, order.begin() + stop);
            last.close();
        }
        for (size_t m = 0; m + 1 < count(); ++m) {
            const Member& member = order_.members[m];
            if (member.fills) continue;
            lists_[m] = shared_out(member, tables_, patch_of, rows_of(member, tables_), patches_);
        }
    }

    // Adds what the nests of one patch need, from the last on.
    bool fill(int64_t patch) {
        for (size_t m = count(); m-- > 0;) {
            if (order_.members[m].fills) {
                Lists& own = lists_[m];
                const auto start = own.elements.begin() + own.first.back();
                std::sort(start, own.elements.end());
                begin_with_others(m, patch);
                own.close();
            }
            for (const NearReading& reading : order_.members[m].readings) {
                if (!need(lists_[m], patch, reading)) return false;
            }
        }
        return true;
    }

    // Puts the elements of another nest first in the list of the one that fills an array for them.
    void begin_with_others(size_t m, int64_t patch) {
        if (order_.members[m].begins < 0) return;
        const Lists& others = lists_[order_.members[m].begins];
        const auto first = others.elements.begin() + others.first[patch];
        const auto last = others.elements.begin() + others.first[patch + 1];
        Elements all(first, last);
        Lists& own = lists_[m];
        const auto start = own.elements.begin() + own.first.back();
        std::set_difference(start, own.elements.end(), first, last, std::back_inserter(all));
        own.elements.erase(start, own.elements.end());
        own.elements.insert(own.elements.end(), all.begin(), all.end());
        std::vector<int32_t>& marks = marks_[m];
        for (const int32_t each : all) {
            if (each >= std::ssize(marks)) marks.resize(2 * size_t(each) + 1, -1);
            marks[each] = static_cast<int32_t>(patch);
        }
    }

    bool need(const Lists& readers, int64_t patch, const NearReading& reading) {
        Lists& own = lists_[reading.filler];
        std::vector<int32_t>& marks = marks_[reading.filler];
        for (int64_t i = readers.first[patch]; i < readers.first[patch + 1]; ++i) {
            const int64_t found = walk(reading.links, tables_, readers.elements[i]);
            if (found < 0) return false;
            if (found >= std::ssize(marks)) marks.resize(2 * found + 1, -1);
            if (marks[found] == patch) continue;
            marks[found] = static_cast<int32_t>(patch);
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

    PatchLists written() const {
        PatchLists made;
        const auto firsts = static_cast<int64_t>(header * count());
        int64_t words = firsts + (patches_ + 1) * static_cast<int64_t>(count());
        std::vector<int64_t> bases;
        for (const Lists& each : lists_) {
            bases.push_back(words);
            words += std::ssize(each.elements);
        }
        std::vector<int64_t> near;
        for (size_t m = 0; m < count(); ++m) {
            near.push_back(words);
            words += (std::ssize(lists_[m].elements) * std::ssize(order_.members[m].readings) + 1) / 2;
            if (order_.members[m].fills) made.shared += lists_[m].most * order_.members[m].row_bytes;
        }
        const bool is_small = std::all_of(lists_.begin(), lists_.end(),
                                          [](const Lists& each) { return each.most < most_near; });
        if (made.shared > order_.most || !is_small || words >= most_words) return {};
        made.patches = patches_;
        made.words.resize(words);
        for (size_t m = 0; m < count(); ++m) {
            uint32_t* to = made.words.data();
            to[header * m] = static_cast<uint32_t>(near[m]);
            to[header * m + 1] = static_cast<uint32_t>(bases[m]);
            to[header * m + 2] = static_cast<uint32_t>(lists_[m].most);
            for (int64_t patch = 0; patch <= patches_; ++patch) {
                to[firsts + patch * static_cast<int64_t>(count()) + static_cast<int64_t>(m)] =
                    static_cast<uint32_t>(bases[m] + lists_[m].first[patch]);
            }
            std::copy(lists_[m].elements.begin(), lists_[m].elements.end(), to + bases[m]);
            const std::vector<uint16_t> places = near_of(m);
            std::memcpy(to + near[m], places.data(), places.size() * sizeof(uint16_t));
        }
        return made;
    }

    std::vector<uint16_t> near_of(size_t m) const {
        const std::vector<NearReading>& readings = order_.members[m].readings;
        std::vector<uint16_t> made;
        if (readings.empty()) return made;
        std::vector<std::vector<int32_t>> places(count());
        for (const NearReading& each : readings) {
            places[each.filler].resize(marks_[each.filler].size());
        }
        for (int64_t patch = 0; patch < patches_; ++patch) {
            for (const NearReading& each : readings) {
                const Lists& filled = lists_[each.filler];
                for (int64_t i = filled.first[patch]; i < filled.first[patch + 1]; ++i) {
                    places[each.filler][filled.elements[i]] =
                        static_cast<int32_t>(i - filled.first[patch]);
                }
            }
            for (int64_t i = lists_[m].first[patch]; i < lists_[m].first[patch + 1]; ++i) {
                for (const NearReading& each : readings) {
                    const int64_t found = walk(each.links, tables_, lists_[m].elements[i]);
                    made.push_back(static_cast<uint16_t>(places[each.filler][found]));
                }
            }
        }
        return made;
    }

    const PatchOrder& order_;
    const std::vector<HostTable>& tables_;
    int64_t patches_ = 0;
    std::vector<Lists> lists_;
    std::vector<std::vector<int32_t>> marks_;  // the last patch that needs an element
};

}  // namespace

PatchLists inspect(const PatchOrder& order, const std::vector<HostTable>& tables) {
    if (order.members.empty() || order.size <= 0) return {};
    return Inspector(order, tables).run();
}

}  // namespace fieldforge
