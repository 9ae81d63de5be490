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

bool Frame::is_empty(const Box& box) const {
    return std::any_of(box.ranges.begin(), box.ranges.end(), [&](const Range& range) {
        return value(range.stop) <= value(range.start);
    });
}

// The first axis that is too short, with the whole range that the program needs along it,
// because that is what the person must provide.
Refusal Frame::diagnose_box(const Box& box, bool written) const {
    const FieldView& view = field(box.argument);
    const auto fits = [&](size_t axis) {
        return value(box.ranges[axis].start) >= view.axes[axis].start &&
               value(box.ranges[axis].stop) <= view.axes[axis].stop;
    };
    size_t axis = 0;
    while (axis < box.ranges.size() && fits(axis)) ++axis;
    if (axis == box.ranges.size() || is_empty(box)) return {};
    int64_t first = value(box.ranges[axis].start), last = value(box.ranges[axis].stop);
    for (const Access& access : plan_.accesses) {
        const auto empty = [&](const Box& other) { return is_empty(other); };
        if (!written && std::any_of(access.writes.begin(), access.writes.end(), empty)) continue;
        for (const Box& other : written ? access.writes : access.reads) {
            if (other.argument != box.argument || is_empty(other)) continue;
            first = std::min(first, value(other.ranges[axis].start));
            last = std::max(last, value(other.ranges[axis].stop));
        }
    }
    return {Reason::domain, {box.argument, static_cast<int64_t>(axis), first, last, written}};
}

// Empty boxes may lie anywhere, and a statement that writes nothing reads nothing.
Refusal Frame::diagnose_domains() const {
    for (const Access& access : plan_.accesses) {
        bool idle = false;
        for (const Box& box : access.writes) {
            idle |= is_empty(box);
            if (Refusal refusal = diagnose_box(box, true)) return refusal;
        }
        if (idle) continue;
        for (const Box& box : access.reads) {
            if (Refusal refusal = diagnose_box(box, false)) return refusal;
        }
    }
    return {};
}

}  // namespace fieldforge
