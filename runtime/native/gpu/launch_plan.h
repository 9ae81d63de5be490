// The launches of one program as the native core executes them: see `Launch` and `Repeat` of
// runtime/calls/plan.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../work.h"

namespace fieldforge::gpu {

constexpr size_t most_repeats = 8;  // around a launch

// Where an argument lies, as a word: among what the call gives, among what its launch works out, or
// among the indices of the repeats around it.
struct PlannedArgument {
    enum class Kind : uint32_t { pointer, integer, scalar, made, index } kind;
    uint32_t offset;  // in bytes
};

// An argument that a launch works out: an address in the arena, or that of the status.
struct MadeArgument {
    uint32_t argument;
    int32_t place;  // of the integer that says where in the arena; -1: the status
};

struct PlannedLaunch {
    std::string kernel;
    int32_t blocks[3];  // places among the integers
    unsigned threads[3];
    unsigned shared;  // bytes, or the most of them
    int32_t needed;   // place of the integer that says how many; -1: all
    int32_t version;  // of what the integer `clamped` says; -1: any
    int32_t step;     // statement that it belongs to, from 1 on
    std::vector<PlannedArgument> arguments;
    std::vector<MadeArgument> made;
    std::vector<uint16_t> sizes;  // bytes of each argument
    std::string kinds;            // for the null driver
};

// A launch, or steps that a call repeats for one index after the other.
struct PlannedStep {
    size_t launch;        // its place, unless there are steps
    int32_t start, stop;  // places among the integers
    bool backward;
    std::vector<PlannedStep> steps;
};

struct LaunchPlan {
    std::string program, platform;
    std::vector<PlannedLaunch> launches;
    std::vector<PlannedStep> steps;  // the launches in order
    std::vector<int32_t> codes;  // of the tested stores; none: nothing is tested
    size_t most_arguments = 0;
    int32_t clamped = -1;  // place of an integer that is 1 if reads lead out of a field
    int32_t stepped = -1;  // place of the integer that is the only statement to run, 0 for all
    int32_t beyond = 0;    // what a checked call then returns
    bool on_host = false;  // the fields lie on the host, so that a call waits for its kernels
};

// Reads the launches of a Python plan. Throws nanobind::python_error or std::invalid_argument.
LaunchPlan read_launches(PyObject* plan);

// Keeps an error of this thread for `raise_failure`.
struct Failure;
void keep_failure(const Failure& failure);

// The entry point of a library that queues its own kernels on the stream of the context; null if
// the fields of the plan lie on the host.
std::unique_ptr<Work> make_entry_work(PyObject* plan, EntryPoint address);

}  // namespace fieldforge::gpu
