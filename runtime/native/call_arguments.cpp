// The arguments of a call: find them, and take those that have the right type.
#include "call.h"
#include "held.h"
#include "scalar.h"
#include "structure.h"
#include "table.h"

namespace fieldforge {
namespace {

// The same number on a device; null without a Python error if there is none.
PyObject* number_on(int32_t device, int32_t device_id, PyObject* number, DType dtype) {
    const Held module(PyImport_ImportModule("fieldforge.runtime.fields.device_numbers"));
    PyObject* made = module ? PyObject_CallMethod(module.get(), "number_on", "Osii", number,
                                                  dtype_name(dtype), device, device_id)
                            : nullptr;
    if (made == nullptr) PyErr_Clear();  // the call is refused: the number is no field
    return made;
}

// A number of the right type as an array without axes; null without a Python error for others.
PyObject* as_array(PyObject* number, DType dtype) {
    uint64_t slot = 0;
    if (take_scalar(number, dtype, &slot) != Taken::good) return nullptr;
    const Held numpy(PyImport_ImportModule("numpy"));
    PyObject* made = numpy ? PyObject_CallMethod(numpy.get(), "array", "Os", number, dtype_name(dtype))
                           : nullptr;
    if (made == nullptr) PyErr_Clear();
    return made;
}

}  // namespace

// A table is held while the program runs: another thread may replace it in the provider.
Refusal Frame::find_tables(PyObject* provider) {
    for (int32_t i : plan_.tables) {
        leaves_[i] = find_table(provider, plan_.arguments[i].name);
        if (leaves_[i] == nullptr) return {Reason::no_table, {i}};
    }
    return {};
}

Refusal Frame::flatten(PyObject* const* parameters, PyObject* provider) {
    const size_t count = plan_.arguments.size();
    for (int32_t i : plan_.tables) leaves_[i] = nullptr;
    if (plan_.flat) {
        for (size_t i = 0; i < count; ++i) {
            if (!plan_.arguments[i].is_table) leaves_[i] = parameters[plan_.arguments[i].parameter];
        }
        return find_tables(provider);
    }
    // An attribute of a dataclass may be replaced by another thread while the program runs, so
    // what was found inside a collection is kept alive.
    std::fill_n(leaves_, count, nullptr);
    owns_leaves_ = true;
    for (size_t i = 0; i < count; ++i) {
        const Argument& argument = plan_.arguments[i];
        if (argument.is_table) continue;
        int64_t depth = 0;
        leaves_[i] = walk(parameters[argument.parameter], argument.steps, depth);
        if (leaves_[i] == nullptr) return {Reason::structure, {static_cast<int64_t>(i), depth}};
    }
    return find_tables(provider);
}

void Frame::substitute(const std::vector<Substitute>& substitutes) {
    for (size_t i = 0; i < plan_.arguments.size(); ++i) {
        if (plan_.arguments[i].is_table || plan_.arguments[i].steps.empty()) continue;
        for (const Substitute& each : substitutes) {
            if (leaves_[i] != each.recorded) continue;
            Py_INCREF(each.given);
            Py_DECREF(leaves_[i]);  // a leaf of a tuple is owned
            leaves_[i] = each.given;
            break;
        }
    }
}

bool Frame::has_axis(int32_t argument, int32_t axis) const {
    return is_field_view(leaves_[argument]) && field(argument).ndim > axis;
}

// `check` later refuses arguments that are no fields, or have other dimensions. Dimensions are
// compared only where a layout does not fit, which is rare.
bool Frame::is_of_dimension(int32_t argument, int32_t axis) const {
    return field(argument).axes[axis].dim == plan_.arguments[argument].dims[axis];
}

bool Frame::is_laid_out() const {
    for (int32_t i : plan_.units) {
        const int32_t unit = plan_.arguments[i].unit;
        if (!has_axis(i, unit)) continue;
        const Axis& axis = field(i).axes[unit];
        if (axis.stride == int64_t{1} << field(i).shift || axis.stop - axis.start <= 1) continue;
        if (is_of_dimension(i, unit)) return false;
    }
    for (const Alike& pair : plan_.alike) {
        if (!has_axis(pair.first, pair.first_axis)) continue;
        if (!has_axis(pair.second, pair.second_axis)) continue;
        const Axis& one = field(pair.first).axes[pair.first_axis];
        const Axis& two = field(pair.second).axes[pair.second_axis];
        if (one.start == two.start && one.stop == two.stop) continue;
        if (is_of_dimension(pair.first, pair.first_axis) &&
            is_of_dimension(pair.second, pair.second_axis)) {
            return false;
        }
    }
    for (const Known& each : plan_.known) {
        if (!has_axis(each.argument, each.axis)) continue;
        const Axis& axis = field(each.argument).axes[each.axis];
        if (axis.start == each.start && axis.stop == each.stop) continue;
        if (is_of_dimension(each.argument, each.axis)) return false;
    }
    for (int32_t i : plan_.tables) {
        const TableIndex* table = table_of(leaves_[i]);
        if (table == nullptr) continue;
        const Argument& wanted = plan_.arguments[i];
        const Axis& slots = field(i).axes[1];
        if (slots.stop - slots.start != wanted.width) return false;
        if (table->has_skips() && !wanted.skip) return false;
    }
    return true;
}

// Try fields first, then arrays.
bool Frame::fits() {
    if (!is_laid_out()) return false;
    is_taken_ = take_arguments();
    if (is_taken_ || !take_arrays()) return true;
    is_taken_ = take_arguments();
    return is_laid_out();
}

// Whether a number lies on the host while the program runs on a device.
bool Frame::is_elsewhere(PyObject* view, DType dtype) const {
    const FieldView& number = *reinterpret_cast<FieldView*>(view);
    return plan_.device != device_cpu && number.device_type == device_cpu && number.dtype == dtype;
}

// The number of the device that the fields given so far lie on.
int32_t Frame::device_of_fields() const {
    for (int32_t i : plan_.fields) {
        if (is_field_view(leaves_[i]) && field(i).device_type == plan_.device) return field(i).device_id;
    }
    return 0;
}

// Replace arrays by views for this call; `check` refuses everything else.
bool Frame::take_arrays() {
    bool found = false;
    for (int32_t i : plan_.fields) {
        const Argument& wanted = plan_.arguments[i];
        if (wanted.is_table || is_field_view(leaves_[i])) continue;
        PyObject* array = leaves_[i];
        PyObject* view = views_.add(array, wanted.dims_tuple, plan_.fields.size());
        const bool is_number = wanted.dims.empty() && !wanted.written;
        if (view == nullptr && is_number) {
            array = as_array(leaves_[i], wanted.dtype);
            if (array == nullptr) continue;
            numbers_.push_back(array);
            view = views_.add(array, wanted.dims_tuple, plan_.fields.size());
        }
        if (view != nullptr && is_number && is_elsewhere(view, wanted.dtype)) {
            array = number_on(plan_.device, device_of_fields(), array, wanted.dtype);
            if (array == nullptr) continue;
            numbers_.push_back(array);
            view = views_.add(array, wanted.dims_tuple, plan_.fields.size());
        }
        if (view == nullptr) continue;
        arrays_.push_back({i, leaves_[i], array});
        leaves_[i] = view;
        found = true;
    }
    return found;
}

bool Frame::take_field(int32_t argument) {
    const Argument& wanted = plan_.arguments[argument];
    if (!is_field_view(leaves_[argument])) return false;
    const FieldView& view = field(argument);
    if ((view.form & wanted.mask) != wanted.form) return false;
    if (wanted.is_table && !fits_table(wanted, view)) return false;
    const Axis* axis = view.axes;
    for (PyObject* dim : wanted.dims) {
        if ((axis++)->dim != dim) return false;
    }
    axes_[wanted.slot] = view.axes;
    uintptr_t origin = view.origin;
    if (wanted.unit >= 0) {
        // An axis of one element may have any stride, but the code takes it to be that element.
        const Axis& along = view.axes[wanted.unit];
        const int64_t item = int64_t{1} << view.shift;
        origin += static_cast<uintptr_t>(along.start) * static_cast<uintptr_t>(along.stride - item);
    }
    pointers_[wanted.slot] = reinterpret_cast<const void*>(origin);
    lows_[wanted.slot] = view.low;
    highs_[wanted.slot] = view.high;
    return true;
}

bool Frame::take_arguments() {
    for (int32_t i : plan_.fields) {
        if (!take_field(i)) return false;
    }
    for (int32_t i : plan_.scalars) {
        const Argument& argument = plan_.arguments[i];
        uint64_t& slot = scalars_[argument.slot];
        slot = 0;
        if (take_scalar(leaves_[i], argument.dtype, &slot) != Taken::good) return false;
    }
    return true;
}

}  // namespace fieldforge
