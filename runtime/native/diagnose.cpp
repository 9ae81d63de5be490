// Find out what is wrong with a refused call; report first what the user should fix first.
#include <algorithm>

#include "call.h"
#include "scalar.h"

namespace fieldforge {

bool Frame::has_type(int32_t argument) const {
    const Argument& wanted = plan_.arguments[argument];
    if (!wanted.is_field) {
        uint64_t slot = 0;
        return take_scalar(leaves_[argument], wanted.dtype, &slot) != Taken::wrong_type;
    }
    if (!is_field_view(leaves_[argument])) return false;
    const FieldView& view = field(argument);
    if (wanted.is_table && !fits_table(wanted, view)) return false;
    const auto& dims = wanted.dims;
    return view.dtype == wanted.dtype && view.ndim == static_cast<int32_t>(dims.size()) &&
           std::equal(dims.begin(), dims.end(), view.axes,
                      [](PyObject* dim, const Axis& axis) { return axis.dim == dim; });
}

// Report all arguments of the wrong type together: usually two arguments were exchanged.
Refusal Frame::diagnose_arguments() const {
    Refusal types{Reason::type, {}};
    const auto count = static_cast<int32_t>(plan_.arguments.size());
    for (int32_t i = 0; i < count; ++i) {
        if (has_type(i)) continue;
        if (plan_.arguments[i].is_table) return {Reason::table, {i}};
        types.detail.push_back(i);
    }
    if (!types.detail.empty()) return types;
    for (int32_t i = 0; i < count; ++i) {
        const Argument& wanted = plan_.arguments[i];
        if (!wanted.is_field) {
            uint64_t slot = 0;
            if (take_scalar(leaves_[i], wanted.dtype, &slot) == Taken::good) continue;
            return {Reason::scalar_range, {i}};
        }
        const FieldView& view = field(i);
        if (view.device_type != plan_.device) return {Reason::device, {i}};
        if (wanted.written && view.readonly) return {Reason::read_only, {i}};
        if (!view.regular) return {Reason::layout, {i}};
        if (wanted.written && (view.form & form_writable) == 0) {
            return {Reason::outputs_overlap, {i}};
        }
    }
    return types;  // an argument changed meanwhile; the report names none
}

bool Frame::is_empty(const std::vector<Range>& ranges) const {
    return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
        return value(range.stop) <= value(range.start);
    });
}

// What must exist of a box: its hard part if it has one, and there is an element to clamp to.
const std::vector<Range>& Frame::required(const Box& box) const {
    const FieldView& view = field(box.argument);
    const bool has_element =
        std::all_of(view.axes, view.axes + box.ranges.size(),
                    [](const Axis& axis) { return axis.start < axis.stop; });
    return box.hard.empty() || !has_element ? box.ranges : box.hard;
}

// The first axis along which an argument does not cover ranges.
size_t Frame::first_short(const Box& box, const std::vector<Range>& ranges) const {
    const FieldView& view = field(box.argument);
    size_t axis = 0;
    while (axis < ranges.size() && value(ranges[axis].start) >= view.axes[axis].start &&
           value(ranges[axis].stop) <= view.axes[axis].stop) {
        ++axis;
    }
    return axis;
}

// The first axis that is too short, with the whole range that the program needs along it,
// because that is what the person must provide.
Refusal Frame::diagnose_box(const Box& box, bool written) const {
    const std::vector<Range>& needed = required(box);
    const size_t axis = first_short(box, needed);
    if (axis == needed.size() || is_empty(needed)) return {};
    int64_t first = value(needed[axis].start), last = value(needed[axis].stop);
    for (size_t i = 0; i < plan_.accesses.size(); ++i) {
        const Access& access = plan_.accesses[i];
        const auto empty = [&](const Box& other) { return is_empty(other.ranges); };
        const auto idle = [&] {
            return is_whole(i) || std::any_of(access.writes.begin(), access.writes.end(), empty);
        };
        if (!written && idle()) continue;
        for (const Box& other : written ? access.writes : access.reads) {
            const std::vector<Range>& ranges = required(other);
            if (other.argument != box.argument || is_empty(ranges)) continue;
            first = std::min(first, value(ranges[axis].start));
            last = std::max(last, value(ranges[axis].stop));
        }
    }
    return {Reason::domain, {box.argument, static_cast<int64_t>(axis), first, last, written}};
}

// Whether an access is all of a statement that has several; it is there for what shares memory.
bool Frame::is_whole(size_t access) const {
    const auto& all = plan_.accesses;
    return all[access].continues && (access + 1 == all.size() || !all[access + 1].continues);
}

// Empty boxes may lie anywhere, and an access that writes nothing reads nothing. Where a read that
// may lead out of its argument does so, code runs that clamps its indices.
Refusal Frame::diagnose_domains() {
    for (size_t i = 0; i < plan_.accesses.size(); ++i) {
        const Access& access = plan_.accesses[i];
        bool idle = is_whole(i);
        for (const Box& box : access.writes) {
            idle |= is_empty(box.ranges);
            if (Refusal refusal = diagnose_box(box, true)) return refusal;
        }
        if (idle) continue;
        for (const Box& box : access.reads) {
            if (Refusal refusal = diagnose_box(box, false)) return refusal;
            const bool is_short = first_short(box, box.ranges) < box.ranges.size();
            if (!box.hard.empty() && is_short && !is_empty(box.ranges)) {
                if (plan_.clamped >= 0) ints_[plan_.clamped] = 1;
                is_beyond_ = plan_.is_inside;
            }
        }
    }
    return {};
}

}  // namespace fieldforge
