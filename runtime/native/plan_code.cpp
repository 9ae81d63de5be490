// Compile the integer programs of a plan to loads and instructions on registers.
#include "plan_code.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace nb = nanobind;

namespace fieldforge {
namespace {

uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }

constexpr std::pair<const char*, size_t> words[] = {
    {"stride", offsetof(Axis, stride)},
    {"start", offsetof(Axis, start)},
    {"stop", offsetof(Axis, stop)},
};
constexpr std::pair<const char*, Op> binaries[] = {
    {"add", Op::add}, {"sub", Op::sub},           {"mul", Op::mul}, {"min", Op::min},
    {"max", Op::max}, {"floordiv", Op::floordiv}, {"mod", Op::mod},
};

}  // namespace

Operand PlanCode::compile(nb::handle code) {
    std::vector<Operand> stack;
    for (nb::handle word : code) push(word, stack);
    if (stack.size() != 1) refuse_plan("an integer program must leave one value");
    return stack.back();
}

void PlanCode::push(nb::handle word, std::vector<Operand>& stack) {
    const auto op = get<std::string>(word, "op");
    if (op == "const") return stack.push_back({0, get<int64_t>(word, "value")});
    if (op == "int") return stack.push_back(earlier(get<int64_t>(word, "value")));
    if (op == "scalar") return stack.push_back(load_scalar(word));
    if (op == "lowest" || op == "beyond") return ask_table(op, word, stack);
    if (op == "patches") return ask_patches(word, stack);
    for (auto [name, offset] : words) {
        if (op == name) return stack.push_back(load_word(offset / sizeof(int64_t), word));
    }
    for (auto [name, binary] : binaries) {
        if (op != name) continue;
        if (stack.size() < 2) refuse_plan("'" + op + "' needs two values");
        const Operand right = stack.back();
        stack.pop_back();
        stack.back() = compute(binary, stack.back(), right);
        return;
    }
    refuse_plan("unknown instruction '" + op + "'");
}

Operand PlanCode::earlier(int64_t index) const {
    if (index < 0 || index >= static_cast<int64_t>(plan_.ints.size())) {
        refuse_plan("integer " + std::to_string(index) + " is used before it is known");
    }
    return plan_.ints[index];
}

const Argument& PlanCode::argument_of(nb::handle word, bool is_field) const {
    const auto index = get<int64_t>(word, "argument");
    if (index < 0 || index >= static_cast<int64_t>(plan_.arguments.size()) ||
        plan_.arguments[index].is_field != is_field) {
        refuse_plan("argument " + std::to_string(index) + " has no such number");
    }
    return plan_.arguments[index];
}

Operand PlanCode::load_scalar(nb::handle word) {
    const Argument& argument = argument_of(word, false);
    if (argument.dtype == DType::float32 || argument.dtype == DType::float64) {
        refuse_plan("a bound depends on a floating point number");
    }
    const auto [reg, is_new] = place({-1, argument.slot, 0, 0, 0, 0});
    if (is_new) plan_.scalar_loads.push_back({reg, argument.slot, argument.dtype});
    return {reg, 0};
}

Operand PlanCode::load_word(size_t offset, nb::handle word) {
    const Argument& argument = argument_of(word, true);
    const auto axis = get<int64_t>(word, "axis");
    if (axis < 0 || axis >= static_cast<int64_t>(argument.dims.size())) {
        refuse_plan("axis " + std::to_string(axis) + " of an argument does not exist");
    }
    const auto at = static_cast<uint16_t>(axis * (sizeof(Axis) / sizeof(int64_t)) + offset);
    const bool is_stride = offset == offsetof(Axis, stride) / sizeof(int64_t);
    const auto shift = static_cast<uint8_t>(is_stride ? dtype_shift(argument.dtype) : 0);
    const auto [reg, is_new] = place({-2, argument.slot, at, 0, 0, 0});
    if (is_new) plan_.loads.push_back({reg, argument.slot, at, shift});
    return {reg, 0};
}

Operand PlanCode::compute(Op op, Operand left, Operand right) {
    if (op == Op::add && (left.reg == 0 || right.reg == 0)) {
        return {left.reg + right.reg,
                static_cast<int64_t>(bits(left.offset) + bits(right.offset))};
    }
    if (op == Op::sub && (right.reg == 0 || left.reg == right.reg)) {
        return {right.reg == 0 ? left.reg : 0,
                static_cast<int64_t>(bits(left.offset) - bits(right.offset))};
    }
    const auto [reg, is_new] = place(
        {static_cast<int64_t>(op), left.reg, left.offset, right.reg, right.offset, 0});
    if (is_new) plan_.code.push_back({reg, op, left, right});
    return {reg, 0};
}

void PlanCode::ask_table(const std::string& op, nb::handle word, std::vector<Operand>& stack) {
    if (stack.size() < 2) refuse_plan("'" + op + "' needs two values");
    const auto index = get<int32_t>(word, "argument");
    if (!argument_of(word, true).is_table) {
        refuse_plan("argument " + std::to_string(index) + " is no table");
    }
    const Operand stop = stack.back();
    stack.pop_back();
    const Operand start = stack.back();
    const Op code = op == "lowest" ? Op::lowest : Op::beyond;
    const int32_t slots = place_slots(word);
    for (const int32_t slot : plan_.slots[slots]) {
        if (slot < 0) refuse_plan("a slot of a table is negative");
    }
    const auto [reg, is_new] =
        place({static_cast<int64_t>(code) + (int64_t{slots} << 8), start.reg, start.offset,
               stop.reg, stop.offset, index});
    if (is_new) plan_.code.push_back({reg, code, start, stop, index, slots});
    stack.back() = {reg, 0};
}

// Follows the numbers of an order, and refuses those that lead out of it.
void PlanCode::ask_patches(nb::handle word, std::vector<Operand>& stack) {
    std::vector<int32_t> numbers;
    for (nb::handle each : word.attr("slots")) numbers.push_back(nb::cast<int32_t>(each));
    size_t at = 0;
    const auto next = [&](int32_t low, int64_t beyond) {
        if (at >= numbers.size() || numbers[at] < low || numbers[at] >= beyond) {
            refuse_plan("the order of patches is cut off or has a wrong number");
        }
        return numbers[at++];
    };
    const auto table = [&](int32_t low) {
        const int32_t argument = next(low, std::ssize(plan_.arguments));
        if (argument >= 0 && !plan_.arguments[argument].is_table) refuse_plan("no table has patches");
        return argument;
    };
    constexpr int64_t any = int64_t{1} << 31;
    next(0, 4), next(1, any);
    const bool is_whole = next(0, any) == 0;  // patches without portions
    next(0, any), next(100, any);
    const int32_t members = next(1, 64);
    for (int32_t member = 0; member < members; ++member) {
        next(0, 2), next(0, any), table(-1), next(0, 2);
        const int32_t begins = next(-1, is_whole ? members : 0);
        if (begins >= 0 && begins <= member) refuse_plan("patches begin with earlier ones");
        const int32_t readings = next(0, 256);
        for (int32_t reading = 0; reading < readings; ++reading) {
            next(0, member);
            const int32_t links = next(0, 16);
            for (int32_t link = 0; link < links; ++link) table(0), next(0, 1 << 16);
        }
    }
    if (at != numbers.size()) refuse_plan("the order of patches is too long");
    const int32_t slots = place_slots(word);
    const auto index = get<int32_t>(word, "argument");
    if (!argument_of(word, true).is_table) refuse_plan("no table has patches");
    const auto [reg, is_new] =
        place({static_cast<int64_t>(Op::patches) + (int64_t{slots} << 8), 0, 0, 0, 0, index});
    if (is_new) plan_.code.push_back({reg, Op::patches, {}, {}, index, slots});
    stack.push_back({reg, 0});
}

int32_t PlanCode::place_slots(nb::handle word) {
    std::vector<int32_t> slots;
    for (nb::handle each : word.attr("slots")) {
        slots.push_back(nb::cast<int32_t>(each));
    }
    auto& known = plan_.slots;
    const auto at = std::find(known.begin(), known.end(), slots) - known.begin();
    if (at == std::ssize(known)) known.push_back(std::move(slots));
    return static_cast<int32_t>(at);
}

std::pair<int32_t, bool> PlanCode::place(const Key& key) {
    const auto [found, is_new] = seen_.emplace(key, plan_.registers);
    if (is_new) ++plan_.registers;
    return {found->second, is_new};
}

}  // namespace fieldforge
