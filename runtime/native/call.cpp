// The integers of a call, its checks, and its run; every check answers only yes or no.
#include "call.h"

#include <algorithm>
#include <iterator>

#include "entry.h"
#include "held.h"
#include "interpreter_lock.h"
#include "patch_lists.h"
#include "scalar.h"
#include "table.h"

namespace fieldforge {
namespace {

// No field has indices that far away: what leaves 64 bits, and scalars beyond, stop here.
constexpr int64_t farthest = int64_t{1} << 62;

int64_t stopped(int64_t value) { return std::clamp(value, -farthest, farthest); }

int64_t floor_div(int64_t a, int64_t b) {
    if (b == 0) return 0;
    if (b == -1) return static_cast<int64_t>(-static_cast<uint64_t>(a));  // MIN / -1 wraps
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t floor_mod(int64_t a, int64_t b) {
    if (b == 0 || b == -1) return 0;
    const int64_t rest = a % b;
    return rest + (rest != 0 && (rest < 0) != (b < 0) ? b : 0);
}

int64_t apply(Op op, int64_t a, int64_t b) {
    int64_t result;
    bool overflows, is_negative = a < 0;
    switch (op) {
        case Op::add: overflows = __builtin_add_overflow(a, b, &result); break;
        case Op::sub: overflows = __builtin_sub_overflow(a, b, &result); break;
        case Op::mul:
            overflows = __builtin_mul_overflow(a, b, &result);
            is_negative ^= b < 0;
            break;
        case Op::min: return std::min(a, b);
        case Op::max: return std::max(a, b);
        case Op::floordiv: return floor_div(a, b);
        default: return floor_mod(a, b);
    }
    if (overflows) [[unlikely]] return is_negative ? -farthest : farthest;
    return result;
}

int64_t ask(FieldView& view, Op op, int64_t start, int64_t stop, const Slots& slots) {
    const Entries found = entries_of(view, start, stop, slots);
    return op == Op::lowest ? found.lowest : found.beyond;
}

}  // namespace

Frame::Frame(const CallPlan& plan) : plan_(plan) {
    static_assert(sizeof(void*) == sizeof(int64_t));
    const size_t arguments = plan.arguments.size(), fields = plan.fields.size();
    const size_t words = arguments + 4 * fields + plan.ints.size() + plan.scalars.size() +
                         static_cast<size_t>(plan.registers);
    int64_t* next = few_;
    if (words > std::size(few_)) {
        many_ = std::make_unique<int64_t[]>(words);
        next = many_.get();
    }
    const auto carve = [&next](size_t count) {
        int64_t* part = next;
        next += count;
        return part;
    };
    leaves_ = reinterpret_cast<PyObject**>(carve(arguments));
    axes_ = reinterpret_cast<const Axis**>(carve(fields));
    pointers_ = reinterpret_cast<const void**>(carve(fields));
    lows_ = reinterpret_cast<uintptr_t*>(carve(fields));
    highs_ = reinterpret_cast<uintptr_t*>(carve(fields));
    ints_ = carve(plan.ints.size());
    scalars_ = reinterpret_cast<uint64_t*>(carve(plan.scalars.size()));
    registers_ = carve(static_cast<size_t>(plan.registers));
    registers_[0] = 0;
}

Frame::~Frame() {
    for (int32_t i : plan_.tables) Py_XDECREF(leaves_[i]);
    for (const ArrayArgument& each : arrays_) leaves_[each.argument] = each.given;
    for (PyObject* array : numbers_) Py_DECREF(array);
    if (!owns_leaves_) return;
    for (size_t i = 0; i < plan_.arguments.size(); ++i) {
        if (!plan_.arguments[i].is_table) Py_XDECREF(leaves_[i]);
    }
}

void Frame::compute() {
    for (const Load& load : plan_.loads) {
        const auto* words = reinterpret_cast<const int64_t*>(axes_[load.field]);
        registers_[load.reg] = words[load.word] >> load.shift;
    }
    for (const ScalarLoad& load : plan_.scalar_loads) {
        registers_[load.reg] = stopped(slot_as_int(load.dtype, &scalars_[load.slot]));
    }
    for (const Instruction& step : plan_.code) {
        const int64_t left = value(step.left), right = value(step.right);
        if (step.op == Op::patches) [[unlikely]] {
            registers_[step.reg] = ask_patches(plan_.slots[step.slots], leaves_, step.table);
            continue;
        }
        registers_[step.reg] = step.table < 0 ? apply(step.op, left, right)
                                              : ask(field(step.table), step.op, left, right,
                                                    plan_.slots[step.slots]);
    }
    int64_t* next = ints_;
    for (const Operand& source : plan_.ints) *next++ = value(source);
}

bool Frame::all_inside() const {
    bool outside = false;
    for (const Inside& wanted : plan_.inside) {
        const Axis& axis = axes_[wanted.field][wanted.axis];
        outside |= value(wanted.range.start) < axis.start;
        outside |= value(wanted.range.stop) > axis.stop;
    }
    return !outside;
}

bool Frame::outputs_are_apart() const {
    const size_t fields = plan_.fields.size();
    for (int32_t written : plan_.written) {
        const uintptr_t low = lows_[written], high = highs_[written];
        size_t meets = 0;
        for (size_t i = 0; i < fields; ++i) meets += (lows_[i] < high) & (low < highs_[i]);
        if (meets > static_cast<size_t>(low < high)) return false;  // one is the field itself
    }
    return true;
}

Refusal Frame::check() {
    if (!is_taken_) return diagnose_arguments();
    if (plan_.device != device_cpu) {
        if (Refusal refusal = find_place()) return refusal;
    }
    compute();
    if (!all_inside()) {
        if (Refusal refusal = diagnose_domains()) return refusal;
    }
    if (outputs_are_apart() && !plan_.repeats) return {};
    return resolve_overlaps();
}

// All fields and tables lie on one device.
Refusal Frame::find_place() {
    for (int32_t i : plan_.fields) {
        const FieldView& view = field(i);
        const int32_t first = plan_.fields.front();
        if (view.device_id != field(first).device_id) return {Reason::devices, {first, i}};
        place_.device_id = view.device_id;
        place_.libraries |= view.library;
    }
    return {};
}

Words Frame::words() const {
    int64_t* step = steps_ > 0 ? ints_ + plan_.stepped : nullptr;
    return {pointers_, ints_, scalars_, copies_.data(), copies_.size(), step, steps_};
}

Refusal Frame::run(const Entry& entry) {
    if (!settle(*entry.device, place_)) return {Reason::status, {work_failed}};
    const int64_t workspace = value(plan_.workspace);
    const size_t fields = workspace > 0 && wishes.workspace != nullptr ? plan_.fields.size() : 0;
    for (size_t i = 0; i < fields; ++i) {
        if (meets_workspace(lows_[i], highs_[i])) {
            return {Reason::workspace_shared, {plan_.fields[i]}};
        }
    }
    const Lease memory(*entry.arena, workspace, copied_);
    if (memory.refusal()) return memory.refusal();
    const Words words = this->words();
    int32_t status;
    {
        const LockReleased released;
        status = execute(entry, words, memory);
    }
    return refusal_of(status);
}

std::shared_ptr<const Prepared> Frame::keep(Entry* entry) const {
    auto made = std::make_shared<Prepared>(entry, words(), plan_.fields.size(), plan_.ints.size(),
                                           plan_.scalars.size(), copied_, value(plan_.workspace), place_);
    for (size_t i = 0; i < plan_.fields.size(); ++i) {
        made->spans.push_back({plan_.fields[i], lows_[i], highs_[i]});
    }
    for (size_t i = 0; i < plan_.arguments.size(); ++i) {
        if (!views_.has(leaves_[i])) made->hold(leaves_[i]);
    }
    for (const ArrayArgument& each : arrays_) {
        const Held view(view_of_array(each.array, plan_.arguments[each.argument].dims_tuple));
        if (!view) return nullptr;
        made->hold(view.get());
    }
    return made;
}

}  // namespace fieldforge
