// Translate the plan from Python data to C++ structs; refuse a malformed plan.
#include "plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plan_code.h"

namespace nb = nanobind;

namespace fieldforge {
namespace {

constexpr int abi_version = 1;

Argument read_table(Argument made, nb::handle given) {
    made.name = given.attr("name").ptr();
    made.width = get<int64_t>(given, "width");
    made.skip = get<bool>(given, "skip");
    const nb::object codomain = given.attr("codomain");
    made.codomain = codomain.is_none() ? nullptr : codomain.ptr();  // the plan holds it
    if (made.dtype != DType::int32 || made.dims.size() != 2) refuse_plan("a table is int32 over 2 axes");
    if (made.written) refuse_plan("a table is written");
    made.read = true;
    return made;
}

Argument read_argument(nb::handle given, int32_t parameters) {
    Argument made{};
    const auto kind = get<std::string>(given, "kind");
    made.is_table = kind == "table";
    made.is_field = kind == "field" || made.is_table;
    if (!made.is_field && kind != "scalar") refuse_plan("unknown kind of argument '" + kind + "'");
    made.read = get<bool>(given, "read");
    made.written = get<bool>(given, "written");
    const auto dtype = get<std::string>(given, "dtype");
    made.dtype = dtype_from_name(dtype.c_str());
    if (made.dtype == DType::none) refuse_plan("unknown dtype '" + dtype + "'");
    made.unit = get<int32_t>(given, "unit");
    const nb::tuple dims = given.attr("dims");  // the plan holds it
    made.dims_tuple = dims.ptr();
    for (nb::handle dim : dims) made.dims.push_back(dim.ptr());
    if (made.unit < -1 || made.unit >= static_cast<int32_t>(made.dims.size())) {
        refuse_plan("axis " + std::to_string(made.unit) + " of an argument does not exist");
    }
    made.parameter = -1;
    if (made.is_table) return read_table(std::move(made), given);
    for (nb::handle index : given.attr("path")) {
        const auto step = nb::cast<int32_t>(index);
        if (step < 0) refuse_plan("a path goes through element " + std::to_string(step));
        if (made.parameter < 0) made.parameter = step;
        else made.steps.push_back({step, 0});
    }
    if (made.parameter < 0 || made.parameter >= parameters) refuse_plan("a path leads nowhere");
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

Box read_box(CallPlan& plan, PlanCode& code, nb::handle given, bool written) {
    Box box{get<int32_t>(given, "argument"), {}, {}};
    if (box.argument < 0 || box.argument >= static_cast<int32_t>(plan.arguments.size()) ||
        !plan.arguments[box.argument].is_field) {
        refuse_plan("a box belongs to no field");
    }
    Argument& target = plan.arguments[box.argument];
    if (written && target.is_table) refuse_plan("a table is written");
    (written ? target.written : target.read) = true;
    const nb::object start = given.attr("start"), stop = given.attr("stop");
    if (nb::len(start) != target.dims.size() || nb::len(stop) != target.dims.size()) {
        refuse_plan("a box needs one range for each axis of its field");
    }
    for (size_t axis = 0; axis < target.dims.size(); ++axis) {
        const Operand first = code.compile(start[axis]);
        box.ranges.push_back({first, code.compile(stop[axis])});
    }
    const nb::object hard = given.attr("hard");
    const size_t count = nb::len(hard);
    if (count != 0 && (written || count != target.dims.size())) {
        refuse_plan("the hard part of a read needs one range for each axis of its field");
    }
    for (size_t axis = 0; axis < count; ++axis) {
        const nb::object range = hard[axis];
        const Operand first = code.compile(range[0]);
        box.hard.push_back({first, code.compile(range[1])});
    }
    return box;
}

void read_accesses(CallPlan& plan, PlanCode& code, nb::handle given) {
    for (nb::handle statement : given) {
        Access access;
        for (nb::handle box : statement.attr("writes")) {
            access.writes.push_back(read_box(plan, code, box, true));
        }
        for (nb::handle box : statement.attr("reads")) {
            access.reads.push_back(read_box(plan, code, box, false));
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
        if (!there) refuse_plan("a range that must be another or a number belongs to no field");
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
        refuse_plan("it is for another version of the entry point");
    }
    CallPlan plan;
    plan.device = get<int32_t>(source, "device");
    plan.parameters = static_cast<int32_t>(nb::len(nb::object(source.attr("parameters"))));
    read_arguments(plan, source.attr("arguments"));
    PlanCode code(plan);
    for (nb::handle each : source.attr("ints")) plan.ints.push_back(code.compile(each));
    read_accesses(plan, code, source.attr("accesses"));
    read_fitting_ranges(plan, source.attr("alike"), source.attr("ranges"));
    plan.workspace = code.compile(source.attr("workspace"));
    plan.clamped = get<int32_t>(source, "clamped");
    if (plan.clamped >= static_cast<int32_t>(plan.ints.size())) {
        refuse_plan("the integer for clamped reads does not exist");
    }
    plan.is_inside = get<bool>(source, "is_inside");
    plan.stepped = get<int32_t>(source, "stepped");
    if (plan.stepped >= static_cast<int32_t>(plan.ints.size())) {
        refuse_plan("the integer that selects a statement does not exist");
    }
    collect_ranges(plan);
    finish_fields(plan);
    return plan;
}

}  // namespace fieldforge
