// The one place where generated code is called.
#include "execution.h"

#include <chrono>

#include "entry.h"
#include "pool.h"
#include "workspace.h"

namespace fieldforge {

bool meets_workspace(uintptr_t low, uintptr_t high) {
    if (wishes.workspace == nullptr) return false;
    const auto start = reinterpret_cast<uintptr_t>(wishes.workspace->data);
    return low < start + wishes.workspace->size && start < high && low < high;
}

namespace {

bool lies_on(const Workspace& workspace, const Device& device) {
    if (workspace.device_type != device.type) return false;
    return !device.queues || workspace.device_id == place.device_id;
}

}  // namespace

void Lease::take(int64_t workspace, size_t copied) {
    is_used_ = true;
    const size_t wanted = workspace > 0 ? static_cast<size_t>(workspace) : 0;
    Workspace* theirs = wanted == 0 ? nullptr : wishes.workspace;
    if (theirs != nullptr) {
        if (!lies_on(*theirs, arena_.device())) {
            refusal_ = {Reason::workspace_device, {theirs->device_type, theirs->device_id}};
            return;
        }
        const bool fits = theirs->size >= wanted;
        if (!fits && !arena_.adds_memory()) {
            refusal_ = {Reason::workspace, {workspace, static_cast<int64_t>(theirs->size)}};
            return;
        }
        if (fits && !theirs->is_taken.exchange(true, std::memory_order_acquire)) {
            Py_INCREF(theirs);
            theirs_ = theirs;
            data_ = theirs->data;
            const Device& device = arena_.device();
            if (device.lend != nullptr && !device.lend(theirs->last, true)) {
                refusal_ = {Reason::memory, {workspace, static_cast<int64_t>(copied)}};
                return;
            }
        }
    }
    if (wanted > 0 && data_ == nullptr) {
        own_ = arena_.take(wanted);
        data_ = own_.data;
    }
    if (copied > 0) snapshots_ = arena_.take(copied);
    if ((wanted > 0 && data_ == nullptr) || (copied > 0 && snapshots_.data == nullptr)) {
        refusal_ = {Reason::memory, {workspace, static_cast<int64_t>(copied)}};
    }
}

void Lease::give_back() {
    if (theirs_ != nullptr) {
        const Device& device = arena_.device();
        if (device.lend != nullptr) device.lend(theirs_->last, false);
        theirs_->is_taken.store(false, std::memory_order_release);
        Py_DECREF(theirs_);
    }
    arena_.give_back(snapshots_);
    arena_.give_back(own_);
}

namespace {

int32_t invoke(const Entry& entry, const Words& words, const Lease& memory, const Context& context) {
    if (entry.work != nullptr) return entry.work->run(words, memory.workspace(), context);
    return entry.address(words.pointers, words.ints, words.scalars, memory.workspace(), &context);
}

uintptr_t distance(const Copy& copy, const Lease& memory) {
    const std::byte* to = memory.snapshots() + copy.offset;
    return reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(copy.from);
}

void move_pointer(const void*& pointer, uintptr_t by) {
    pointer = reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(pointer) + by);
}

void take_copies(const Entry& entry, const Words& words, const Lease& memory,
                 const Context& context, int64_t step) {
    for (size_t i = 0; i < words.copy_count; ++i) {
        const Copy& copy = words.copies[i];
        if (copy.step != step) continue;
        entry.device->copy(memory.snapshots() + copy.offset, copy.from, copy.size, context);
        move_pointer(words.pointers[copy.slot], distance(copy, memory));
    }
}

// Copies a part of a field from a snapshot, which lies `by` bytes away, row by row.
void bring_back(const Device& device, const Part& part, uintptr_t by, const Context& context,
                uintptr_t address, size_t row, size_t axis = 0) {
    if (axis == part.axes.size()) {
        device.copy(reinterpret_cast<void*>(address), reinterpret_cast<const void*>(address + by), row,
                    context);
        return;
    }
    const size_t item = size_t{1} << part.shift;
    const Axis& along = part.axes[axis];
    const auto stride = static_cast<uintptr_t>(along.stride < 0 ? -along.stride : along.stride);
    const auto count = static_cast<size_t>(along.stop - along.start);
    if (stride == item && row == item) {
        bring_back(device, part, by, context, address, item * count, axis + 1);
        return;
    }
    for (size_t i = 0; i < count; ++i) {
        bring_back(device, part, by, context, address + i * stride, row, axis + 1);
    }
}

// Copies what a statement wrote to copies of its outputs to where it belongs.
void return_copies(const Entry& entry, const Words& words, const Lease& memory,
                   const Context& context, int64_t step) {
    for (size_t i = 0; i < words.copy_count; ++i) {
        const Copy& copy = words.copies[i];
        if (copy.step != step) continue;
        for (const Part& part : copy.written) {
            bring_back(*entry.device, part, distance(copy, memory), context, part.low,
                       size_t{1} << part.shift);
        }
    }
}

// One statement after another, each with the copies that it needs.
int32_t invoke_in_steps(const Entry& entry, const Words& words, const Lease& memory,
                        const Context& context) {
    int32_t first = 0;
    for (int64_t step = 1; step <= words.steps; ++step) {
        take_copies(entry, words, memory, context, step);
        *words.step = step;
        const int32_t status = invoke(entry, words, memory, context);
        if (first == 0) first = status;
        return_copies(entry, words, memory, context, step);
        for (size_t i = 0; i < words.copy_count; ++i) {
            const Copy& copy = words.copies[i];
            if (copy.step != step) continue;
            move_pointer(words.pointers[copy.slot], uintptr_t{0} - distance(copy, memory));
        }
    }
    return first;
}

int32_t invoke_all(const Entry& entry, const Words& words, const Lease& memory,
                   const Context& context) {
    if (words.steps > 0) return invoke_in_steps(entry, words, memory, context);
    take_copies(entry, words, memory, context, 0);
    const int32_t status = invoke(entry, words, memory, context);
    return_copies(entry, words, memory, context, 0);
    return status;
}

}  // namespace

Refusal refusal_of_failure(int32_t status) {
    if (status == work_failed) raise_failure();
    return {Reason::status, {status}};
}

namespace {

// With the settings of the thread and, while calls are timed, a look at the clock.
int32_t execute_with_care(const Entry& entry, const Words& words, const Lease& memory) {
    Context room;
    const bool is_ready = entry.context.version != 0;
    const Context& context = is_ready ? entry.context : *entry.device->current(room);
    const Team team(entry.openmp, entry.crew.threads);
    // Work of a device takes its own time: it is queued here.
    if (entry.device->queues || !is_timed.load(std::memory_order_relaxed)) {
        return invoke_all(entry, words, memory, context);
    }
    const auto began = std::chrono::steady_clock::now();
    const int32_t status = invoke_all(entry, words, memory, context);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    wishes.seconds += took.count();
    return status;
}

}  // namespace

int32_t execute(const Entry& entry, const Words& words, const Lease& memory) {
    const bool is_plain = entry.is_plain && words.copy_count == 0 && words.steps == 0;
    if (!is_plain || is_timed.load(std::memory_order_relaxed)) {
        return execute_with_care(entry, words, memory);
    }
    return entry.address(words.pointers, words.ints, words.scalars, memory.workspace(),
                         &entry.context);
}

}  // namespace fieldforge
