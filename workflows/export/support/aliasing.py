"""C++ of exported libraries: refuse outputs that share memory, with others or within themselves."""

from __future__ import annotations

from typing import Final

ALIASING: Final = r"""
// --- memory that arguments share ------------------------------------------------------------

struct Term {
  int64_t stride, first, last, low, high;
};

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  const int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}
int64_t floor_mod(int64_t a, int64_t b) { return b == 0 ? 0 : a - floor_div(a, b) * b; }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

// Is there a sum of terms k, k + 1, ... in low..high?
bool reaches(const std::vector<Term>& terms, size_t k, int64_t low, int64_t high, int& budget) {
  if (k == terms.size()) return low <= 0 && 0 <= high;
  const Term& term = terms[k];
  if (low > term.high || high < term.low) return false;
  const int64_t rest_low = k + 1 < terms.size() ? terms[k + 1].low : 0;
  const int64_t rest_high = k + 1 < terms.size() ? terms[k + 1].high : 0;
  const int64_t first = std::max(term.first, ceil_div(low - rest_high, term.stride));
  const int64_t last = std::min(term.last, floor_div(high - rest_low, term.stride));
  for (int64_t q = first; q <= last; ++q) {
    if (--budget < 0) return true;
    if (reaches(terms, k + 1, low - q * term.stride, high - q * term.stride, budget)) return true;
  }
  return false;
}

// Brings large strides to the front, so that few choices remain at each level, and adds the bounds.
void bound(std::vector<Term>& terms) {
  std::sort(terms.begin(), terms.end(),
            [](const Term& x, const Term& y) { return x.stride > y.stride; });
  for (size_t k = terms.size(); k-- > 0;) {
    const bool is_last = k + 1 == terms.size();
    terms[k].low = (is_last ? 0 : terms[k + 1].low) + terms[k].first * terms[k].stride;
    terms[k].high = (is_last ? 0 : terms[k + 1].high) + terms[k].last * terms[k].stride;
  }
}

// The lowest address of what is touched; adds the steps from it to all other elements.
int64_t steps(const Argument& given, bool is_subtracted, std::vector<Term>& terms) {
  const Field& field = *given.field;
  const int64_t size = item_sizes[field.dtype];
  auto low = reinterpret_cast<int64_t>(field.data);
  for (int axis = 0; axis < given.rank; ++axis) {
    const int64_t stride = field.stride[axis] * size;
    const Range& hull = given.hull[axis];
    const int64_t last = hull.stop - hull.start - 1;
    low += (hull.start - field.start[axis]) * stride + (stride < 0 ? last * stride : 0);
    if (last == 0 || stride == 0) continue;
    const int64_t wide = stride < 0 ? -stride : stride;
    terms.push_back(is_subtracted ? Term{wide, -last, 0, 0, 0} : Term{wide, 0, last, 0, 0});
  }
  return low;
}

bool share_memory(const Argument& a, const Argument& b) {
  if (!a.is_touched || !b.is_touched) return false;
  std::vector<Term> terms;
  const int64_t between = steps(a, false, terms) - steps(b, true, terms);
  bound(terms);
  int budget = 4096;
  return reaches(terms, 0, 1 - item_sizes[a.field->dtype] - between,
                 item_sizes[b.field->dtype] - 1 - between, budget);
}

bool overlaps_itself(const Field& field) {
  const int64_t size = item_sizes[field.dtype];
  std::vector<Term> terms;  // of the difference of two addresses
  for (int axis = 0; axis < field.rank; ++axis) {
    const int64_t last = field.extent[axis] - 1;
    if (last < 0) return false;
    if (last > 0) terms.push_back({std::abs(field.stride[axis]) * size, -last, last, 0, 0});
  }
  std::sort(terms.begin(), terms.end(),
            [](const Term& x, const Term& y) { return x.stride < y.stride; });
  int64_t reach = size;
  bool apart = true;  // each stride steps over all that the smaller ones reach
  for (const Term& term : terms) {
    apart = apart && term.stride >= reach;
    reach += term.stride * term.last;
  }
  if (apart) return false;
  // The first axis along which two elements differ may be any; take the order as it is.
  for (size_t k = 0; k < terms.size(); ++k) {
    if (terms[k].stride == 0) return true;
    std::vector<Term> rest(terms.begin() + static_cast<std::ptrdiff_t>(k), terms.end());
    rest.front().first = 1;
    bound(rest);
    int budget = 4096;
    if (reaches(rest, 0, 1 - size, size - 1, budget)) return true;
  }
  return false;
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
