// Grows patches of a mesh from the tables by which elements are neighbours.
#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "patches.h"

namespace fieldforge {
namespace {

// Elements whose neighbours count as adjacent, by the links that lead from them to these.
struct Graph {
    int64_t count = 0, width = 0, others = 0;
    Elements near;  // -1 for none
};

Graph graph_of(const Member& last, const std::vector<HostTable>& tables) {
    std::vector<std::pair<Link, int64_t>> columns;  // and the number of the table's first entry
    std::map<int32_t, int64_t> first;
    Graph made;
    for (const NearReading& reading : last.readings) {
        if (reading.links.empty()) continue;
        const Link link = reading.links[0];
        const auto same = [&](const auto& each) {
            return each.first.table == link.table && each.first.slot == link.slot;
        };
        if (std::any_of(columns.begin(), columns.end(), same)) continue;
        if (!first.contains(link.table)) {
            first[link.table] = made.others;
            made.others += beyond(tables[link.table]);
        }
        columns.push_back({link, first[link.table]});
        made.count = tables[link.table].rows;
    }
    made.width = std::ssize(columns);
    made.near.reserve(made.count * made.width);
    for (int64_t i = 0; i < made.count; ++i) {
        for (const auto& [link, base] : columns) {
            const HostTable& table = tables[link.table];
            const int32_t entry = i < table.rows ? table.at(i, link.slot) : -1;
            made.near.push_back(entry < 0 ? -1 : static_cast<int32_t>(base + entry));
        }
    }
    return made;
}

// Who has an entry among its neighbours.
struct Inverse {
    std::vector<int64_t> first;
    Elements who;
    explicit Inverse(const Graph& graph) : first(graph.others + 1) {
        for (const int32_t entry : graph.near) {
            if (entry >= 0) ++first[entry + 1];
        }
        for (int64_t i = 0; i < graph.others; ++i) first[i + 1] += first[i];
        who.resize(first.back());
        std::vector<int64_t> at(first.begin(), first.end() - 1);
        for (size_t i = 0; i < graph.near.size(); ++i) {
            const int32_t entry = graph.near[i];
            if (entry >= 0) who[at[entry]++] = static_cast<int32_t>(i / graph.width);
        }
    }
};

// Puts the elements in an order in which every `size` of them are a patch: the next element is the
// one with the most neighbours that its patch has already, and of those the one seen first.
Elements in_patches(const Graph& graph, int64_t size) {
    const Inverse inverse(graph);
    std::vector<int32_t> seen(graph.others, -1), met(graph.count, -1), shared(graph.count, 0);
    std::vector<char> is_taken(graph.count);
    std::vector<Elements> waiting(graph.width + 1);
    std::vector<size_t> heads(graph.width + 1);
    Elements order;
    order.reserve(graph.count);
    int64_t lowest = 0;
    const auto next = [&]() -> int32_t {
        for (int64_t many = graph.width; many > 0; --many) {
            while (heads[many] < waiting[many].size()) {
                const int32_t found = waiting[many][heads[many]++];
                if (!is_taken[found] && shared[found] == many) return found;
            }
        }
        while (is_taken[lowest]) ++lowest;
        return static_cast<int32_t>(lowest);
    };
    for (int32_t patch = 0; std::ssize(order) < graph.count; ++patch) {
        for (Elements& each : waiting) each.clear();
        std::fill(heads.begin(), heads.end(), 0);
        const int64_t end = std::min<int64_t>(std::ssize(order) + size, graph.count);
        while (std::ssize(order) < end) {
            const int32_t own = next();
            is_taken[own] = 1;
            order.push_back(own);
            for (int64_t slot = 0; slot < graph.width; ++slot) {
                const int32_t entry = graph.near[own * graph.width + slot];
                if (entry < 0 || seen[entry] == patch) continue;
                seen[entry] = patch;
                for (int64_t i = inverse.first[entry]; i < inverse.first[entry + 1]; ++i) {
                    const int32_t other = inverse.who[i];
                    if (is_taken[other]) continue;
                    if (met[other] != patch) met[other] = patch, shared[other] = 0;
                    waiting[++shared[other]].push_back(other);
                }
            }
        }
    }
    return order;
}

}  // namespace

int64_t beyond(const HostTable& table) {
    int64_t most = 0;
    for (int64_t row = 0; row < table.rows; ++row) {
        for (int64_t slot = 0; slot < table.width; ++slot) {
            most = std::max<int64_t>(most, table.at(row, slot) + 1);
        }
    }
    return most;
}

Elements grown(const Member& last, const std::vector<HostTable>& tables, int64_t size) {
    const Graph graph = graph_of(last, tables);
    return graph.count == 0 || graph.width == 0 ? Elements{} : in_patches(graph, size);
}

}  // namespace fieldforge
