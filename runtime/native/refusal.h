// Why a call was not made, in numbers; `runtime.calls.refusals` puts it into words.
#pragma once

#include <cstdint>
#include <vector>

namespace fieldforge {

// `runtime.calls.refusals.Reason` has the same numbers. The comments say what the detail holds.
enum class Reason : int {
    none = 0,
    too_many = 1,      // number given
    unknown_name = 2,  // the name
    repeated = 3,      // the name
    missing = 4,       // positions of the parameters

    structure = 10,        // argument, depth at which it is not a tuple of the right length
    type = 11,             // all arguments of the wrong type
    scalar_range = 12,     // argument
    device = 13,           // argument
    read_only = 14,        // argument
    layout = 15,           // argument
    domain = 16,           // argument, axis, first and one past the last index, 1 if written
    outputs_overlap = 17,  // two arguments, or one whose own elements share memory
    inputs_overlap = 18,   // written argument, read argument
    memory = 19,           // bytes of workspace, bytes of snapshots
    status = 20,           // what the program returned
    no_table = 21,         // argument that the offset provider does not have
    table = 22,            // argument for which the offset provider has something else
    workspace = 23,        // bytes that are needed, bytes that the caller has brought
    workspace_shared = 24,  // argument that lies in the memory of the workspace
    workspace_device = 25,  // kind and number of the device that the workspace lies on
    devices = 26,           // two arguments on different devices
};

struct Refusal {
    Reason reason = Reason::none;
    std::vector<int64_t> detail;

    explicit operator bool() const { return reason != Reason::none; }
};

}  // namespace fieldforge
