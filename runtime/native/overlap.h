// Whether two fields share a byte: exact for the views that people make of one array.
#pragma once

#include <utility>
#include <vector>

#include "field_view.h"

namespace fieldforge {

// The quick answer: the hulls of the two fields meet. An empty one meets nothing.
inline bool hulls_meet(const FieldView& a, const FieldView& b) {
    return a.low < b.high && b.low < a.high && a.low < a.high && b.low < b.high;
}

// The exact answer, for components, rows, columns and strided slices of one array; a question
// that is too hard is answered with yes.
bool share_memory(const FieldView& a, const FieldView& b);

// A box of a field, in domain coordinates.
struct Part {
    uintptr_t low;
    uintptr_t high;
    uint8_t shift;
    std::vector<Axis> axes;
};

Part part_of(const FieldView& view, const std::vector<std::pair<int64_t, int64_t>>& ranges);
Part whole(const FieldView& view);
bool share_memory(const Part& a, const Part& b);

// Whether two elements of one array share a byte.
bool overlaps_itself(const FieldView& view);

// Whether equal domain indices are equal addresses, so that pointwise code may read and write.
bool is_same_view(const FieldView& a, const FieldView& b);

}  // namespace fieldforge
