// Copies between arrays: as few calls of the driver as their strides allow.
#include <algorithm>

#include "memory.h"
#include "tensor.h"

namespace fieldforge::gpu {
namespace {

struct Axis {
    int64_t extent, to, from;
};

// Axes that follow each other in memory become one; the innermost comes last.
std::vector<Axis> merged(const Array& to, const Array& from) {
    std::vector<Axis> axes;
    for (int i = 0; i < to.axes; ++i) {
        if (to.shape[i] != 1) axes.push_back({to.shape[i], to.strides[i], from.strides[i]});
    }
    std::stable_sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) {
        return std::abs(a.to) > std::abs(b.to);
    });
    std::vector<Axis> joined;
    for (const Axis& axis : axes) {
        if (!joined.empty() && joined.back().to == axis.to * axis.extent &&
            joined.back().from == axis.from * axis.extent) {
            joined.back() = {joined.back().extent * axis.extent, axis.to, axis.from};
        } else {
            joined.push_back(axis);
        }
    }
    return joined;
}

void copy_rows(Device& device, Address to, Address from, const Axis& rows, size_t width, const StreamRef& on) {
    const auto pitch_to = static_cast<size_t>(rows.to), pitch_from = static_cast<size_t>(rows.from);
    const bool pitched = rows.to > 0 && rows.from > 0 && pitch_to >= width && pitch_from >= width;
    if (pitched) {
        GPU_CALL(device, copy_2d_async, to, pitch_to, from, pitch_from, width,
                 static_cast<size_t>(rows.extent), on->ptr);
        return;
    }
    for (int64_t i = 0; i < rows.extent; ++i) {
        GPU_CALL(device, copy_async, to + static_cast<Address>(i * rows.to),
                 from + static_cast<Address>(i * rows.from), width, on->ptr);
    }
}

}  // namespace

void copy_arrays(const Array& to, const Array& from, const StreamRef& stream, Device& device) {
    if (size_of(to) == 0) return;
    std::vector<Axis> axes = merged(to, from);
    auto width = static_cast<int64_t>(to.type.size());
    const Guard guard(device);
    if (!axes.empty() && axes.back().to == width && axes.back().from == width) {
        width *= axes.back().extent;
        axes.pop_back();
    }
    if (axes.empty()) {
        GPU_CALL(device, copy_async, to.address, from.address, static_cast<size_t>(width), stream->ptr);
        return;
    }
    const Axis rows = axes.back();
    axes.pop_back();
    std::vector<int64_t> index(axes.size(), 0);
    while (true) {
        Address target = to.address, source = from.address;
        for (size_t i = 0; i < axes.size(); ++i) {
            target += static_cast<Address>(index[i] * axes[i].to);
            source += static_cast<Address>(index[i] * axes[i].from);
        }
        copy_rows(device, target, source, rows, static_cast<size_t>(width), stream);
        size_t axis = axes.size();
        while (axis > 0 && ++index[axis - 1] == axes[axis - 1].extent) index[--axis] = 0;
        if (axis == 0) return;
    }
}

namespace {

bool equal_shapes(const Array& a, const Array& b) {
    return a.axes == b.axes && std::equal(a.shape, a.shape + a.axes, b.shape) && a.type.code == b.type.code &&
           a.type.bits == b.type.bits;
}

}  // namespace

void copy_array(nb::handle to, nb::handle from, nb::handle stream, bool wait) {
    const Array &target = *as_array(to.ptr()), &source = *as_array(from.ptr());
    if (target.readonly) throw nb::value_error("The array is read-only.");
    if (!equal_shapes(target, source)) {
        throw nb::value_error("Shapes and element types must agree in a copy.");
    }
    Device* place = target.device != nullptr ? target.device : source.device;
    if (place == nullptr) throw nb::value_error("A copy on the host is made by NumPy.");
    const StreamRef on = stream_from(stream, place);
    if (target.buffer != nullptr) target.buffer->use(on);
    if (source.buffer != nullptr) {
        source.buffer->use(on);
        allow_access(*place, *source.buffer);
    } else if (source.device != nullptr) {
        allow_access(*place, *source.device, source.address);
    }
    copy_arrays(target, source, on, *place);
    if (source.buffer != nullptr) source.buffer->end_use(on);
    if (on->graph != nullptr) {
        keep_for_capture(*on, to.ptr());
        keep_for_capture(*on, from.ptr());
    }
    if (!wait) return;
    const Guard guard(*place);
    Result result;
    {
        const LockReleased released;
        result = place->driver->stream_sync(on->ptr);
    }
    if (result != success) fail(*place, result, Entry::stream_sync);
}

}  // namespace fieldforge::gpu
