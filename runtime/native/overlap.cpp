// Whether two fields share a byte: their boxes as sums of strides.
#include "overlap.h"

#include <cstdlib>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "strided_sums.h"

namespace fieldforge {
namespace {

std::span<const Axis> axes_of(const FieldView& view) {
    return {view.axes, static_cast<size_t>(view.ndim)};
}
std::span<const Axis> axes_of(const Part& part) { return part.axes; }

void add_terms(std::vector<Term>& terms, std::span<const Axis> axes, bool is_negative) {
    for (const Axis& axis : axes) {
        add_steps(terms, axis.stride, axis.stop - axis.start - 1, is_negative);
    }
}

template <typename Box>
bool meet(const Box& a, const Box& b) {
    if (a.low >= b.high || b.low >= a.high || a.low >= a.high || b.low >= b.high) return false;
    std::vector<Term> terms;  // of (address of an element of a) - (address of one of b)
    add_terms(terms, axes_of(a), false);
    add_terms(terms, axes_of(b), true);
    // Two elements meet if their addresses differ by less than the item size.
    const auto between = static_cast<int64_t>(a.low - b.low);
    const int64_t item_a = int64_t{1} << a.shift, item_b = int64_t{1} << b.shift;
    return is_sum_in(terms, 1 - item_a - between, item_b - 1 - between);
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
    std::vector<Term> terms;
    for (const Axis& axis : axes_of(view)) {
        const int64_t last = axis.stop - axis.start - 1;
        if (last < 0) return false;
        if (last > 0) terms.push_back({std::abs(axis.stride), 0, last});
    }
    return elements_meet(std::move(terms), int64_t{1} << view.shift);
}

bool is_same_view(const FieldView& a, const FieldView& b) {
    if (a.origin != b.origin || a.dtype != b.dtype || a.ndim != b.ndim) return false;
    for (int i = 0; i < a.ndim; ++i) {
        if (a.axes[i].stride != b.axes[i].stride || a.axes[i].dim != b.axes[i].dim) return false;
    }
    return true;
}

}  // namespace fieldforge
