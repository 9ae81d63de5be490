"""C++ of exported libraries: refuse outputs that share memory, with others or within themselves."""

from __future__ import annotations

from typing import Final

ALIASING: Final = r"""
// --- memory that arguments share ------------------------------------------------------------

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  const int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}
int64_t floor_mod(int64_t a, int64_t b) { return b == 0 ? 0 : a - floor_div(a, b) * b; }

// The lowest address of what is touched; adds the steps from it to all other elements.
int64_t steps(const Argument& given, bool is_subtracted, std::vector<fieldforge::Term>& terms) {
  const Field& field = *given.field;
  const int64_t size = item_sizes[field.dtype];
  auto low = reinterpret_cast<int64_t>(field.data);
  for (int axis = 0; axis < given.rank; ++axis) {
    const int64_t stride = field.stride[axis] * size;
    const Range& hull = given.hull[axis];
    const int64_t last = hull.stop - hull.start - 1;
    low += (hull.start - field.start[axis]) * stride + (stride < 0 ? last * stride : 0);
    fieldforge::add_steps(terms, stride, last, is_subtracted);
  }
  return low;
}

bool share_memory(const Argument& a, const Argument& b) {
  if (!a.is_touched || !b.is_touched) return false;
  std::vector<fieldforge::Term> terms;
  const int64_t between = steps(a, false, terms) - steps(b, true, terms);
  return fieldforge::is_sum_in(terms, 1 - item_sizes[a.field->dtype] - between,
                               item_sizes[b.field->dtype] - 1 - between);
}

bool overlaps_itself(const Field& field) {
  const int64_t size = item_sizes[field.dtype];
  std::vector<fieldforge::Term> terms;
  for (int axis = 0; axis < field.rank; ++axis) {
    const int64_t last = field.extent[axis] - 1;
    if (last < 0) return false;
    if (last > 0) terms.push_back({std::abs(field.stride[axis]) * size, 0, last});
  }
  return fieldforge::elements_meet(terms, size);
}

int32_t check_written(const Argument& written) {
  if (!overlaps_itself(*written.field)) return FIELDFORGE_OK;
  return refuse(FIELDFORGE_OVERLAP,
                "Argument '%s' is written, and its own elements share memory.", written.name);
}

bool are_same(const Field& a, const Field& b) {
  if (a.data != b.data || a.dtype != b.dtype || a.rank != b.rank) return false;
  for (int axis = 0; axis < a.rank; ++axis)
    if (a.start[axis] != b.start[axis] || a.extent[axis] != b.extent[axis] ||
        a.stride[axis] != b.stride[axis])
      return false;
  return true;
}

int32_t check_memory(const char* program, const Argument& written, const Argument& other,
                     bool is_pointwise) {
  if (!share_memory(written, other)) return FIELDFORGE_OK;
  if (is_pointwise && are_same(*written.field, *other.field)) return FIELDFORGE_OK;
  return refuse(FIELDFORGE_OVERLAP,
                "'%s' writes '%s', which shares memory with '%s'; pass a copy of one of them.",
                program, written.name, other.name);
}
"""
