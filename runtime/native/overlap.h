// Whether two fields share a byte: exact for the views that people make of one array.
#pragma once

#include "field_view.h"

namespace fieldforge {

// The quick answer: the hulls of the two fields meet. An empty one meets nothing.
inline bool hulls_meet(const FieldView& a, const FieldView& b) {
    return a.low < b.high && b.low < a.high && a.low < a.high && b.low < b.high;
}

// The exact answer, for components, rows, columns and strided slices of one array; a question
// that is too hard is answered with yes.
bool share_memory(const FieldView& a, const FieldView& b);

// Whether equal domain indices are equal addresses, so that pointwise code may read and write.
bool is_same_view(const FieldView& a, const FieldView& b);

}  // namespace fieldforge
