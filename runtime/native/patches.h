// Patches of a mesh: the inspector that makes the lists with which blocks of a GPU, or threads of a
// CPU, work on them.
#pragma once

#include <Python.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace fieldforge {

// A neighbour table that the host can read, row by row; indices from 0 on.
struct HostTable {
    const char* data;
    int64_t rows, width;
    int64_t row_bytes, slot_bytes;
    int32_t at(int64_t row, int64_t slot) const {
        return *reinterpret_cast<const int32_t*>(data + row * row_bytes + slot * slot_bytes);
    }
};

using Elements = std::vector<int32_t>;

struct Link {
    int32_t table, slot;
};

// A nest reads what nest `filler` filled, at the index to which the links lead.
struct NearReading {
    int32_t filler;
    std::vector<Link> links;
};

struct Member {
    bool fills;         // arrays that a patch keeps; else fields, and each element belongs to one patch
    int64_t row_bytes;  // of these arrays for an element: in shared memory, on a CPU for one level
    Link owner;         // which leads from an element to one of the last nest, or back; table -1: none
    bool owner_leads_back;
    int32_t begins;     // its lists begin with the elements of this later nest; -1: with none
    std::vector<NearReading> readings;
};

struct PatchOrder {
    int64_t size;     // elements of the last nest in a patch
    int64_t portion;  // of these, how many a thread of a CPU computes at a time; 0: all of them
    int64_t most;     // bytes of shared memory, or of all rows of a thread for one level
    int64_t percent;  // of the elements that nests fill, halos included
    std::vector<Member> members;
};

struct PatchLists {
    int64_t patches = 0;  // 0: the nests run one by one
    int64_t shared = 0;   // bytes for a block, or for a thread and one level
    int64_t size = 0;     // elements of the last nest in a patch
    std::vector<uint32_t> words;
};

// Three words for each nest: where its near indices (uint16) begin, where its elements do, and the
// most of a patch. Then for each patch, and once more for the end, the first element of each nest.
// Then the elements, then for each of them the places of what it reads among those of the filler.
// With portions, two words follow those of the nests: portions of a patch, and of all. The firsts are
// those of portions. Places are rows that are used again, and what a nest fills has its own row last.
PatchLists inspect(const PatchOrder& order, const std::vector<HostTable>& tables);

// One more than the largest entry of a table.
int64_t beyond(const HostTable& table);

// The elements of the last nest in an order in which every `size` of them are a patch; none if no
// table leads from them.
Elements grown(const Member& last, const std::vector<HostTable>& tables, int64_t size);

// The elements of each part, one part after the other: a part is a patch, or a portion of one.
struct Lists {
    Elements elements;
    std::vector<int64_t> first{0};
    int64_t most = 0;

    void close() {
        most = std::max<int64_t>(most, std::ssize(elements) - first.back());
        first.push_back(std::ssize(elements));
    }
};

// How many elements a nest that stores fields has: rows of a table from which it reads.
int64_t rows_of(const Member& member, const std::vector<HostTable>& tables);

// Gives each element of a nest that stores fields to the part of a neighbour in the last nest.
Lists shared_out(const Member& member, const std::vector<HostTable>& tables,
                 const Elements& part_of, int64_t count, int64_t parts);

}  // namespace fieldforge
