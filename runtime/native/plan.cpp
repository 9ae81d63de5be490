// Translate the plan from Python data to C++ structs; refuse a malformed plan.
#include "plan.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace fieldforge {
namespace {

constexpr int abi_version = 1;

[[noreturn]] void refuse(const std::string& what) {
    throw std::invalid_argument("The argument plan is not well-formed: " + what + ".");
}

template <typename Value>
Value get(nb::handle object, const char* name) {
    return nb::cast<Value>(object.attr(name));
}

uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }

// Writes the register program of all codes of a plan. Sums with constants become no
// instructions, and equal values share a register.
class Compiler {
   public:
    explicit Compiler(CallPlan& plan) : plan_(plan) {}

    Operand compile(nb::handle code) {
        std::vector<Operand> stack;
        for (nb::handle word : code) push(word, stack);
        if (stack.size() != 1) refuse("an integer program must leave one value");
        return stack.back();
    }

   private:
    using Key = std::array<int64_t, 6>;

    void push(nb::handle word, std::vector<Operand>& stack) {
        const auto op = get<std::string>(word, "op");
        if (op == "const") return stack.push_back({0, get<int64_t>(word, "value")});
        if (op == "int") return stack.push_back(earlier(get<int64_t>(word, "value")));
        if (op == "scalar") return stack.push_back(load_scalar(word));
        if (op == "lowest" || op == "beyond") return ask_table(op, word, stack);
        for (auto [name, offset] : words) {
            if (op == name) return stack.push_back(load_word(offset / sizeof(int64_t), word));
        }
        for (auto [name, binary] : binaries) {
            if (op != name) continue;
            if (stack.size() < 2) refuse("'" + op + "' needs two values");
            const Operand right = stack.back();
            stack.pop_back();
            stack.back() = compute(binary, stack.back(), right);
            return;
        }
        refuse("unknown instruction '" + op + "'");
    }

    Operand earlier(int64_t index) const {
        if (index < 0 || index >= static_cast<int64_t>(plan_.ints.size())) {
            refuse("integer " + std::to_string(index) + " is used before it is known");
        }
        return plan_.ints[index];
    }

    const Argument& argument_of(nb::handle word, bool is_field) const {
        const auto index = get<int64_t>(word, "argument");
        if (index < 0 || index >= static_cast<int64_t>(plan_.arguments.size()) ||
            plan_.arguments[index].is_field != is_field) {
            refuse("argument " + std::to_string(index) + " has no such number");
        }
        return plan_.arguments[index];
    }

    Operand load_scalar(nb::handle word) {
        const Argument& argument = argument_of(word, false);
        if (argument.dtype == DType::float32 || argument.dtype == DType::float64) {
            refuse("a bound depends on a floating point number");
        }
        const auto [reg, is_new] = place({-1, argument.slot, 0, 0, 0, 0});
        if (is_new) plan_.scalar_loads.push_back({reg, argument.slot, argument.dtype});
        return {reg, 0};
    }

    Operand load_word(size_t offset, nb::handle word) {
        const Argument& argument = argument_of(word, true);
        const auto axis = get<int64_t>(word, "axis");
        if (axis < 0 || axis >= static_cast<int64_t>(argument.dims.size())) {
            refuse("axis " + std::to_string(axis) + " of an argument does not exist");
        }
        const auto at = static_cast<uint16_t>(axis * (sizeof(Axis) / sizeof(int64_t)) + offset);
        const bool is_stride = offset == offsetof(Axis, stride) / sizeof(int64_t);
        const auto shift = static_cast<uint8_t>(is_stride ? dtype_shift(argument.dtype) : 0);
        const auto [reg, is_new] = place({-2, argument.slot, at, 0, 0, 0});
        if (is_new) plan_.loads.push_back({reg, argument.slot, at, shift});
        return {reg, 0};
    }

    Operand compute(Op op, Operand left, Operand right) {
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

    void ask_table(const std::string& op, nb::handle word, std::vector<Operand>& stack) {
        if (stack.size() < 2) refuse("'" + op + "' needs two values");
        const auto index = get<int32_t>(word, "argument");
        if (!argument_of(word, true).is_table) {
            refuse("argument " + std::to_string(index) + " is no table");
        }
        const Operand stop = stack.back();
        stack.pop_back();
        const Operand start = stack.back();
        const Op code = op == "lowest" ? Op::lowest : Op::beyond;
        const int32_t slots = place_slots(word);
        const auto [reg, is_new] =
            place({static_cast<int64_t>(code) + (int64_t{slots} << 8), start.reg, start.offset,
                   stop.reg, stop.offset, index});
        if (is_new) plan_.code.push_back({reg, code, start, stop, index, slots});
        stack.back() = {reg, 0};
    }

    int32_t place_slots(nb::handle word) {
        std::vector<int32_t> slots;
        for (nb::handle each : word.attr("slots")) {
            slots.push_back(nb::cast<int32_t>(each));
            if (slots.back() < 0) refuse("a slot of a table is negative");
        }
        auto& known = plan_.slots;
        const auto at = std::find(known.begin(), known.end(), slots) - known.begin();
        if (at == std::ssize(known)) known.push_back(std::move(slots));
        return static_cast<int32_t>(at);
    }

    std::pair<int32_t, bool> place(const Key& key) {
        const auto [found, is_new] = seen_.emplace(key, plan_.registers);
        if (is_new) ++plan_.registers;
        return {found->second, is_new};
    }

    static constexpr std::pair<const char*, size_t> words[] = {
        {"stride", offsetof(Axis, stride)},
        {"start", offsetof(Axis, start)},
        {"stop", offsetof(Axis, stop)},
    };
    static constexpr std::pair<const char*, Op> binaries[] = {
        {"add", Op::add}, {"sub", Op::sub},           {"mul", Op::mul}, {"min", Op::min},
        {"max", Op::max}, {"floordiv", Op::floordiv}, {"mod", Op::mod},
    };

    CallPlan& plan_;
    std::map<Key, int32_t> seen_;
};

Argument read_table(Argument made, nb::handle given) {
    made.name = given.attr("name").ptr();
    made.width = get<int64_t>(given, "width");
    made.skip = get<bool>(given, "skip");
    const nb::object codomain = given.attr("codomain");
    made.codomain = codomain.is_none() ? nullptr : codomain.ptr();  // the plan holds it
    if (made.dtype != DType::int32 || made.dims.size() != 2) refuse("a table is int32 over 2 axes");
    if (made.written) refuse("a table is written");
    made.read = true;
    return made;
}

Argument read_argument(nb::handle given, int32_t parameters) {
    Argument made{};
    const auto kind = get<std::string>(given, "kind");
    made.is_table = kind == "table";
    made.is_field = kind == "field" || made.is_table;
    if (!made.is_field && kind != "scalar") refuse("unknown kind of argument '" + kind + "'");
    made.read = get<bool>(given, "read");
    made.written = get<bool>(given, "written");
    const auto dtype = get<std::string>(given, "dtype");
    made.dtype = dtype_from_name(dtype.c_str());
    if (made.dtype == DType::none) refuse("unknown dtype '" + dtype + "'");
    made.unit = get<int32_t>(given, "unit");
    const nb::tuple dims = given.attr("dims");  // the plan holds it
    made.dims_tuple = dims.ptr();
    for (nb::handle dim : dims) made.dims.push_back(dim.ptr());
    if (made.unit < -1 || made.unit >= static_cast<int32_t>(made.dims.size())) {
        refuse("axis " + std::to_string(made.unit) + " of an argument does not exist");
    }
    made.parameter = -1;
    if (made.is_table) return read_table(std::move(made), given);
    for (nb::handle index : given.attr("path")) {
        const auto step = nb::cast<int32_t>(index);
        if (step < 0) refuse("a path goes through element " + std::to_string(step));
        if (made.parameter < 0) made.parameter = step;
        else made.steps.push_back({step, 0});
    }
    if (made.parameter < 0 || made.parameter >= parameters) refuse("a path leads nowhere");
    return made;
}

// The plan lists every leaf, so the largest index below a prefix tells how many elements the
// tuple there has: without this count a longer tuple would pass unnoticed.
void count_elements(std::vector<Argument>& arguments) {
    std::map<std::vector<int32_t>, int32_t> counts;
    const auto walk = [&](Argument& argument, auto&& visit) {
        std::vector<int32_t> prefix = {argument.parameter};
        for (Step& step : argument.steps) {
            visit(step, counts[prefix]);
            prefix.push_back(step.index);
        }
    };
    for (Argument& argument : arguments) {
        walk(argument, [](Step& step, int32_t& count) { count = std::max(count, step.index + 1); });
    }
    for (Argument& argument : arguments) {
        walk(argument, [](Step& step, int32_t& count) { step.count = count; });
    }
}

void read_arguments(CallPlan& plan, nb::handle given) {
    for (nb::handle argument : given) {
        plan.arguments.push_back(read_argument(argument, plan.parameters));
    }
    count_elements(plan.arguments);
    for (int32_t i = 0; i < static_cast<int32_t>(plan.arguments.size()); ++i) {
        Argument& argument = plan.arguments[i];
        if (argument.is_table) {
            plan.tables.push_back(i);
            continue;
        }
        auto& slots = argument.is_field ? plan.fields : plan.scalars;
        argument.slot = static_cast<int32_t>(slots.size());
        slots.push_back(i);
        plan.flat &= argument.steps.empty();
        if (argument.unit >= 0) plan.units.push_back(i);
    }
    for (int32_t i : plan.tables) {
        plan.arguments[i].slot = static_cast<int32_t>(plan.fields.size());
        plan.fields.push_back(i);
    }
}

Box read_box(CallPlan& plan, Compiler& compiler, nb::handle given, bool written) {
    Box box{get<int32_t>(given, "argument"), {}, {}};
    if (box.argument < 0 || box.argument >= static_cast<int32_t>(plan.arguments.size()) ||
        !plan.arguments[box.argument].is_field) {
        refuse("a box belongs to no field");
    }
    Argument& target = plan.arguments[box.argument];
    if (written && target.is_table) refuse("a table is written");
    (written ? target.written : target.read) = true;
    const nb::object start = given.attr("start"), stop = given.attr("stop");
    if (nb::len(start) != target.dims.size() || nb::len(stop) != target.dims.size()) {
        refuse("a box needs one range for each axis of its field");
    }
    for (size_t axis = 0; axis < target.dims.size(); ++axis) {
        const Operand first = compiler.compile(start[axis]);
        box.ranges.push_back({first, compiler.compile(stop[axis])});
    }
    const nb::object hard = given.attr("hard");
    const size_t count = nb::len(hard);
    if (count != 0 && (written || count != target.dims.size())) {
        refuse("the hard part of a read needs one range for each axis of its field");
    }
    for (size_t axis = 0; axis < count; ++axis) {
        const nb::object range = hard[axis];
        const Operand first = compiler.compile(range[0]);
        box.hard.push_back({first, compiler.compile(range[1])});
    }
    return box;
}

void read_accesses(CallPlan& plan, Compiler& compiler, nb::handle given) {
    for (nb::handle statement : given) {
        Access access;
        for (nb::handle box : statement.attr("writes")) {
            access.writes.push_back(read_box(plan, compiler, box, true));
        }
        for (nb::handle box : statement.attr("reads")) {
            access.reads.push_back(read_box(plan, compiler, box, false));
        }
        for (nb::handle pair : statement.attr("pointwise")) {
            access.pointwise.emplace_back(nb::cast<int32_t>(pair[0]), nb::cast<int32_t>(pair[1]));
        }
        access.continues = nb::cast<bool>(statement.attr("continues"));
        std::set<int32_t> written;
        for (const Box& box : access.writes) {
            plan.repeats |= !written.insert(box.argument).second;
        }
        plan.accesses.push_back(std::move(access));
    }
}

// The ranges that decide whether the plan fits.
void read_fitting_ranges(CallPlan& plan, nb::handle alike, nb::handle known) {
    const auto check = [&](int32_t argument, int32_t axis) {
        const bool there = argument >= 0 && axis >= 0 &&
                           argument < static_cast<int32_t>(plan.arguments.size()) &&
                           axis < static_cast<int32_t>(plan.arguments[argument].dims.size());
        if (!there) refuse("a range that must be another or a number belongs to no field");
    };
    for (nb::handle row : alike) {
        const Alike pair{nb::cast<int32_t>(row[0]), nb::cast<int32_t>(row[1]),
                         nb::cast<int32_t>(row[2]), nb::cast<int32_t>(row[3])};
        check(pair.first, pair.first_axis);
        check(pair.second, pair.second_axis);
        plan.alike.push_back(pair);
    }
    for (nb::handle row : known) {
        plan.known.push_back({nb::cast<int32_t>(row[0]), nb::cast<int32_t>(row[1]),
                              nb::cast<int64_t>(row[2]), nb::cast<int64_t>(row[3])});
        check(plan.known.back().argument, plan.known.back().axis);
    }
}

// Many statements share ranges; most calls check nothing else.
void collect_ranges(CallPlan& plan) {
    std::set<std::array<int64_t, 6>> seen;
    const auto collect = [&](const Box& box) {
        const int32_t field = plan.arguments[box.argument].slot;
        for (int32_t axis = 0; axis < static_cast<int32_t>(box.ranges.size()); ++axis) {
            const Range& range = box.ranges[axis];
            const bool is_new = seen.insert({field, axis, range.start.reg, range.start.offset,
                                             range.stop.reg, range.stop.offset}).second;
            if (is_new) plan.inside.push_back({field, axis, range});
        }
    };
    for (const Access& access : plan.accesses) {
        for (const Box& box : access.writes) collect(box);
        for (const Box& box : access.reads) collect(box);
    }
}

// Only now do the accesses tell which arguments are written.
void finish_fields(CallPlan& plan) {
    for (int32_t slot = 0; slot < static_cast<int32_t>(plan.fields.size()); ++slot) {
        Argument& argument = plan.arguments[plan.fields[slot]];
        const auto ndim = static_cast<int>(argument.dims.size());
        argument.form = make_form(argument.dtype, ndim, plan.device, form_regular | form_writable);
        argument.mask = argument.written ? ~Form{0} : ~form_writable;
        argument.form &= argument.mask;
        if (argument.written) plan.written.push_back(slot);
    }
}

}  // namespace

CallPlan read_plan(PyObject* given) {
    const nb::handle source(given);
    if (get<int>(source, "abi") != abi_version) {
        refuse("it is for another version of the entry point");
    }
    CallPlan plan;
    plan.device = get<int32_t>(source, "device");
    plan.parameters = static_cast<int32_t>(nb::len(nb::object(source.attr("parameters"))));
    read_arguments(plan, source.attr("arguments"));
    Compiler compiler(plan);
    for (nb::handle code : source.attr("ints")) plan.ints.push_back(compiler.compile(code));
    read_accesses(plan, compiler, source.attr("accesses"));
    read_fitting_ranges(plan, source.attr("alike"), source.attr("ranges"));
    plan.workspace = compiler.compile(source.attr("workspace"));
    plan.clamped = get<int32_t>(source, "clamped");
    if (plan.clamped >= static_cast<int32_t>(plan.ints.size())) {
        refuse("the integer for clamped reads does not exist");
    }
    plan.stepped = get<int32_t>(source, "stepped");
    if (plan.stepped >= static_cast<int32_t>(plan.ints.size())) {
        refuse("the integer that selects a statement does not exist");
    }
    collect_ranges(plan);
    finish_fields(plan);
    return plan;
}

}  // namespace fieldforge
