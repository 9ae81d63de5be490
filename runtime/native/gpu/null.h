// What a test asks the null driver: which calls were made, what went wrong, what is still held. And
// the work of programs whose kernels are not functions of a module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "driver.h"

namespace fieldforge::gpu::null {

constexpr int most_devices = 16;
constexpr size_t default_memory = size_t{1} << 30;

struct CallRecord {
    const char* name;
    uintptr_t object;  // the stream, event, address or handle that the call was about
};
struct Allocation {
    uintptr_t address;
    size_t size;
    const char* kind;
    int device;
};

// Runs work on the host in the order of a stream; a capture records it.
Result submit_host_work(Handle stream, std::function<Result()> work);

void record(bool on);                  // begin or end a log of calls; a new one is empty
std::vector<CallRecord> recorded();
std::vector<std::string> problems();   // double frees, uses after free, unordered accesses
void forget_problems();
std::vector<Allocation> allocations();  // live ones
int device_count();
bool set_device_count(int count);  // false once the platform is in use
void set_memory(int device, size_t bytes);
void set_guard(int side);  // 0 no guard pages, 1 right after memory, 2 right before it
bool fail_next(const std::string& entry, Result code);  // by the name of a member of `Driver`
size_t handles();  // streams, events, modules, graphs and executable graphs that are alive

}  // namespace fieldforge::gpu::null
