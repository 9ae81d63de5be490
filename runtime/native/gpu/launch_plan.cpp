// Reads the launches of a Python plan.
#include "launch_plan.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "../dtype.h"
#include "../plan_code.h"
#include "objects.h"

namespace fieldforge::gpu {
namespace {

// The sizes of the scalars in their order, in bytes.
std::vector<uint16_t> scalar_sizes(nb::handle plan) {
    std::vector<uint16_t> sizes;
    for (nb::handle argument : nb::object(plan.attr("arguments"))) {
        if (get<std::string>(argument, "kind") != "scalar") continue;
        const auto dtype = get<std::string>(argument, "dtype");
        sizes.push_back(static_cast<uint16_t>(1 << dtype_shift(dtype_from_name(dtype.c_str()))));
    }
    return sizes;
}

int32_t checked(int64_t place, size_t count, const char* what) {
    if (place < 0 || static_cast<size_t>(place) >= count) {
        refuse_plan(std::string(what) + " " + std::to_string(place) + " has no such number");
    }
    return static_cast<int32_t>(place);
}

struct Counts {
    size_t pointers, ints;
    std::vector<uint16_t> scalars;
    size_t repeats = 0;  // around a launch
};

void add_argument(PlannedLaunch& to, const std::string& kind, int64_t place, const Counts& counts) {
    using Kind = PlannedArgument::Kind;
    constexpr uint32_t word = sizeof(int64_t);
    const auto argument = static_cast<uint32_t>(to.arguments.size());
    const auto found = [&](Kind from, size_t count, const char* what) {
        to.arguments.push_back({from, word * static_cast<uint32_t>(checked(place, count, what))});
    };
    uint16_t size = word;
    if (kind == "pointer") {
        found(Kind::pointer, counts.pointers, "pointer");
    } else if (kind == "int") {
        found(Kind::integer, counts.ints, "integer");
    } else if (kind == "scalar") {
        found(Kind::scalar, counts.scalars.size(), "scalar");
        size = counts.scalars[place];
    } else if (kind == "slot" || kind == "status") {
        const int32_t from = kind == "slot" ? checked(place, counts.ints, "integer") : -1;
        to.made.push_back({argument, from});
        to.arguments.push_back({Kind::made, word * argument});
    } else if (kind == "index") {
        found(Kind::index, counts.repeats, "repeat");
    } else {
        refuse_plan("unknown kind of argument '" + kind + "' of a kernel");
    }
    to.sizes.push_back(size);
    to.kinds.push_back('q');  // pointers are those of index 0, which may lie outside of their memory
}

PlannedLaunch read_launch(nb::handle given, const Counts& counts) {
    PlannedLaunch made;
    made.kernel = get<std::string>(given, "kernel");
    made.shared = get<unsigned>(given, "shared");
    made.version = get<int32_t>(given, "version");
    made.needed = get<int32_t>(given, "needed");
    if (made.needed >= 0) checked(made.needed, counts.ints, "integer");
    made.step = get<int32_t>(given, "step");
    for (int axis = 0; axis < 3; ++axis) {
        const nb::object blocks = given.attr("blocks"), threads = given.attr("threads");
        made.blocks[axis] = checked(nb::cast<int64_t>(blocks[axis]), counts.ints, "integer");
        made.threads[axis] = nb::cast<unsigned>(threads[axis]);
    }
    for (nb::handle row : nb::object(given.attr("arguments"))) {
        add_argument(made, nb::cast<std::string>(row[0]), nb::cast<int64_t>(row[1]), counts);
    }
    return made;
}

// Reads launches in order, adding them to those of the plan, and what is repeated.
std::vector<PlannedStep> read_steps(nb::handle launches, Counts& counts, LaunchPlan& plan) {
    std::vector<PlannedStep> steps;
    for (nb::handle each : launches) {
        if (!nb::hasattr(each, "launches")) {
            steps.push_back({plan.launches.size(), 0, 0, false, {}});
            plan.launches.push_back(read_launch(each, counts));
            continue;
        }
        const int32_t start = checked(get<int64_t>(each, "start"), counts.ints, "integer");
        const int32_t stop = checked(get<int64_t>(each, "stop"), counts.ints, "integer");
        if (++counts.repeats > most_repeats) refuse_plan("too many repeats stand in each other");
        auto inside = read_steps(nb::object(each.attr("launches")), counts, plan);
        if (inside.empty()) refuse_plan("a repeat has no launches");
        steps.push_back({0, start, stop, get<bool>(each, "backward"), std::move(inside)});
        --counts.repeats;
    }
    return steps;
}

}  // namespace

LaunchPlan read_launches(PyObject* given) {
    const nb::handle plan(given);
    LaunchPlan made;
    made.program = get<std::string>(plan, "program");
    made.platform = get<std::string>(plan, "platform");
    made.on_host = get<int>(plan, "device") == device_host;
    Counts counts{0, nb::len(nb::object(plan.attr("ints"))), scalar_sizes(plan)};
    counts.pointers = nb::len(nb::object(plan.attr("arguments"))) - counts.scalars.size();
    made.steps = read_steps(nb::object(plan.attr("launches")), counts, made);
    for (const PlannedLaunch& each : made.launches) {
        made.most_arguments = std::max(made.most_arguments, each.arguments.size());
    }
    made.clamped = get<int32_t>(plan, "clamped");
    made.stepped = get<int32_t>(plan, "stepped");
    for (const int32_t place : {made.clamped, made.stepped}) {
        if (place >= 0) checked(place, counts.ints, "integer");
    }
    for (nb::handle status : nb::object(plan.attr("statuses"))) {
        if (get<std::string>(status, "kind") == "beyond") made.beyond = get<int32_t>(status, "code");
    }
    for (nb::handle code : nb::object(plan.attr("codes"))) {
        made.codes.push_back(nb::cast<int32_t>(code));
    }
    return made;
}

}  // namespace fieldforge::gpu
