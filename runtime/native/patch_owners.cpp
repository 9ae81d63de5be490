// Says which part has which elements of a nest that stores fields.
#include <algorithm>

#include "patches.h"

namespace fieldforge {
namespace {

// A table from the last nest names the elements: the first element of the last nest that names one
// gives it its part.
void own_by_table_of_last(const HostTable& table, const Elements& part_of, Elements& owner) {
    for (int64_t i = table.rows; i-- > 0;) {
        for (int64_t slot = table.width; slot-- > 0;) {
            const int32_t entry = table.at(i, slot);
            if (entry >= 0 && entry < std::ssize(owner)) owner[entry] = part_of[i];
        }
    }
}

// A table from the elements names those of the last nest: an element goes to the part in the middle
// of their parts, which of three neighbours is the part of two if any two agree.
void own_by_neighbours(const HostTable& table, const Elements& part_of, Elements& owner) {
    std::vector<int32_t> found;
    for (int64_t i = 0; i < std::min<int64_t>(std::ssize(owner), table.rows); ++i) {
        found.clear();
        for (int64_t slot = 0; slot < table.width; ++slot) {
            const int32_t entry = table.at(i, slot);
            if (entry >= 0 && entry < std::ssize(part_of)) found.push_back(part_of[entry]);
        }
        if (found.empty()) continue;
        std::sort(found.begin(), found.end());
        owner[i] = found[found.size() / 2];
    }
}

// Sorts elements by their owners, in the order of their numbers within each part.
Lists grouped(const Elements& owner, int64_t parts) {
    const auto count = static_cast<int64_t>(owner.size());
    std::vector<int64_t> ends(parts + 1);
    for (const int32_t part : owner) ++ends[part + 1];
    Lists made;
    for (int64_t part = 0; part < parts; ++part) {
        ends[part + 1] += ends[part];
        made.first.push_back(ends[part + 1]);
        made.most = std::max(made.most, made.first[part + 1] - made.first[part]);
    }
    made.elements.resize(count);
    for (int64_t i = 0; i < count; ++i) made.elements[ends[owner[i]]++] = static_cast<int32_t>(i);
    return made;
}

}  // namespace

Lists shared_out(const Member& member, const std::vector<HostTable>& tables,
                 const Elements& part_of, int64_t count, int64_t parts) {
    Elements owner(count, -1);
    if (member.owner.table >= 0) {
        const HostTable& table = tables[member.owner.table];
        if (member.owner_leads_back) own_by_table_of_last(table, part_of, owner);
        else own_by_neighbours(table, part_of, owner);
    }
    for (int64_t i = 0; i < count; ++i) {
        if (owner[i] < 0) owner[i] = static_cast<int32_t>(i * parts / count);
    }
    return grouped(owner, parts);
}

int64_t rows_of(const Member& member, const std::vector<HostTable>& tables) {
    for (const NearReading& reading : member.readings) {
        if (!reading.links.empty()) return tables[reading.links[0].table].rows;
    }
    if (member.owner.table < 0) return 0;
    const HostTable& table = tables[member.owner.table];
    return member.owner_leads_back ? beyond(table) : table.rows;
}

}  // namespace fieldforge
