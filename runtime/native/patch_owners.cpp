// Says which part has which elements of a nest that stores fields.
#include <algorithm>

#include "patches.h"

namespace fieldforge {

Lists shared_out(const Member& member, const std::vector<HostTable>& tables,
                 const Elements& part_of, int64_t count, int64_t parts) {
    std::vector<int32_t> owner(count, -1);
    if (member.owner.table >= 0) {
        const HostTable& table = tables[member.owner.table];
        if (member.owner_leads_back) {
            for (int64_t i = table.rows; i-- > 0;) {
                for (int64_t slot = table.width; slot-- > 0;) {
                    const int32_t entry = table.at(i, slot);
                    if (entry >= 0 && entry < count) owner[entry] = part_of[i];
                }
            }
        } else {
            std::vector<int32_t> found;
            for (int64_t i = 0; i < std::min(count, table.rows); ++i) {
                found.clear();
                for (int64_t slot = 0; slot < table.width; ++slot) {
                    const int32_t entry = table.at(i, slot);
                    if (entry >= 0 && entry < std::ssize(part_of)) found.push_back(part_of[entry]);
                }
                if (found.empty()) continue;
                std::sort(found.begin(), found.end());
                owner[i] = found[found.size() / 2];  // most of three neighbours
            }
        }
    }
    std::vector<int64_t> sizes(parts + 1);
    for (int64_t i = 0; i < count; ++i) {
        if (owner[i] < 0) owner[i] = static_cast<int32_t>(i * parts / count);
        ++sizes[owner[i] + 1];
    }
    Lists made;
    for (int64_t part = 0; part < parts; ++part) {
        sizes[part + 1] += sizes[part];
        made.first.push_back(sizes[part + 1]);
        made.most = std::max(made.most, made.first[part + 1] - made.first[part]);
    }
    made.elements.resize(count);
    for (int64_t i = 0; i < count; ++i) made.elements[sizes[owner[i]]++] = static_cast<int32_t>(i);
    return made;
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
