// The question "do two strided boxes share a byte" as a small bounded search.
#include "overlap.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <tuple>
#include <vector>

namespace fieldforge {
namespace {

// A sum of terms q * stride with first <= q <= last; `low` and `high` bound the sum of this
// term and all after it.
struct Term {
    int64_t stride;
    int64_t first;
    int64_t last;
    int64_t low = 0;
    int64_t high = 0;
};

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && a < 0); }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

std::span<const Axis> axes_of(const FieldView& view) {
    return {view.axes, static_cast<size_t>(view.ndim)};
}
std::span<const Axis> axes_of(const Part& part) { return part.axes; }

void add_terms(std::vector<Term>& terms, std::span<const Axis> axes, bool negative) {
    for (const Axis& axis : axes) {
        const int64_t last = axis.stop - axis.start - 1;
        const int64_t stride = axis.stride < 0 ? -axis.stride : axis.stride;
        if (last == 0 || stride == 0) continue;
        auto same = std::find_if(terms.begin(), terms.end(),
                                 [&](const Term& term) { return term.stride == stride; });
        if (same == terms.end()) same = terms.insert(same, Term{stride, 0, 0});
        (negative ? same->first : same->last) += negative ? -last : last;
    }
}

// Is there a sum of terms k, k + 1, ... in low..high? Large strides come first, so that few
// choices of q remain at each level; there are at most two terms for each axis.
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

void sort_terms(std::vector<Term>& terms) {
    std::sort(terms.begin(), terms.end(),
              [](const Term& x, const Term& y) { return x.stride > y.stride; });
    for (size_t k = terms.size(); k-- > 0;) {
        const bool last = k + 1 == terms.size();
        terms[k].low = (last ? 0 : terms[k + 1].low) + terms[k].first * terms[k].stride;
        terms[k].high = (last ? 0 : terms[k + 1].high) + terms[k].last * terms[k].stride;
    }
}

template <typename Box>
bool meet(const Box& a, const Box& b) {
    if (a.low >= b.high || b.low >= a.high || a.low >= a.high || b.low >= b.high) return false;
    std::vector<Term> terms;  // of (address of an element of a) - (address of one of b)
    add_terms(terms, axes_of(a), false);
    add_terms(terms, axes_of(b), true);
    sort_terms(terms);
    // Two elements meet if their addresses differ by less than the item size.
    const auto between = static_cast<int64_t>(a.low - b.low);
    const int64_t item_a = int64_t{1} << a.shift, item_b = int64_t{1} << b.shift;
    int budget = 4096;
    return reaches(terms, 0, 1 - item_a - between, item_b - 1 - between, budget);
}

// Whether each stride of a view with few axes steps over all that the smaller ones reach.
bool is_apart(const FieldView& view) {
    Axis sorted[inline_axes];
    int count = 0;
    for (const Axis& axis : axes_of(view)) {
        if (axis.stop - axis.start <= 1) continue;
        int place = count++;
        for (; place > 0 && std::abs(sorted[place - 1].stride) > std::abs(axis.stride); --place) {
            sorted[place] = sorted[place - 1];
        }
        sorted[place] = axis;
    }
    int64_t reach = int64_t{1} << view.shift;
    for (int i = 0; i < count; ++i) {
        const int64_t stride = std::abs(sorted[i].stride);
        if (stride < reach) return false;
        reach += stride * (sorted[i].stop - sorted[i].start - 1);
    }
    return true;
}

}  // namespace

bool share_memory(const FieldView& a, const FieldView& b) { return meet(a, b); }
bool share_memory(const Part& a, const Part& b) { return meet(a, b); }

Part part_of(const FieldView& view, const std::vector<std::pair<int64_t, int64_t>>& ranges) {
    Part part{view.origin, view.origin, view.shift, {view.axes, view.axes + view.ndim}};
    bool empty = false;
    for (size_t i = 0; i < part.axes.size(); ++i) {
        Axis& axis = part.axes[i];
        std::tie(axis.start, axis.stop) = ranges[i];
        empty |= axis.stop <= axis.start;
        const auto stride = static_cast<uintptr_t>(axis.stride);
        const auto first = static_cast<uintptr_t>(axis.start) * stride;
        const auto last = static_cast<uintptr_t>(axis.stop - 1) * stride;
        part.low += axis.stride < 0 ? last : first;
        part.high += axis.stride < 0 ? first : last;
    }
    part.high = empty ? part.low : part.high + (uintptr_t{1} << view.shift);
    return part;
}

Part whole(const FieldView& view) {
    return {view.low, view.high, view.shift, {view.axes, view.axes + view.ndim}};
}

bool overlaps_itself(const FieldView& view) {
    if (view.ndim <= inline_axes && is_apart(view)) return false;
    const int64_t item = int64_t{1} << view.shift;
    std::vector<Term> terms;  // of the difference of two addresses
    for (const Axis& axis : axes_of(view)) {
        const int64_t last = axis.stop - axis.start - 1;
        if (last < 0) return false;
        if (last > 0) terms.push_back({axis.stride < 0 ? -axis.stride : axis.stride, -last, last});
    }
    std::sort(terms.begin(), terms.end(),
              [](const Term& x, const Term& y) { return x.stride < y.stride; });
    int64_t reach = item;
    bool apart = true;  // each stride steps over all that the smaller ones reach
    for (const Term& term : terms) {
        apart &= term.stride >= reach;
        reach += term.stride * term.last;
    }
    if (apart) return false;
    // The first axis along which two elements differ may be any; take the order as it is.
    for (size_t k = 0; k < terms.size(); ++k) {
        std::vector<Term> rest(terms.begin() + static_cast<std::ptrdiff_t>(k), terms.end());
        rest.front().first = 1;
        if (rest.front().stride == 0) return true;
        sort_terms(rest);
        int budget = 4096;
        if (reaches(rest, 0, 1 - item, item - 1, budget)) return true;
    }
    return false;
}

bool is_same_view(const FieldView& a, const FieldView& b) {
    if (a.origin != b.origin || a.dtype != b.dtype || a.ndim != b.ndim) return false;
    for (int i = 0; i < a.ndim; ++i) {
        if (a.axes[i].stride != b.axes[i].stride || a.axes[i].dim != b.axes[i].dim) return false;
    }
    return true;
}

}  // namespace fieldforge
