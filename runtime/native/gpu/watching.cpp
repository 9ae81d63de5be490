// Ranges go to NVTX or rocTX, whichever the process finds; the null platform keeps them in a list.
#include "watching.h"

#include <dlfcn.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>

#include "../wishes.h"
#include "nvtx.h"

namespace fieldforge::gpu {

std::atomic<bool> waits_for_kernels{false};
std::atomic<const Ranges*> ranges{nullptr};

namespace {

// --- ranges of the null platform -------------------------------------------------------------------

std::mutex listing;
std::vector<std::string> listed;

int list_push(const char* name) {
    const std::lock_guard<std::mutex> lock(listing);
    listed.emplace_back(std::string("push ") + name);
    return 0;
}

int list_pop() {
    const std::lock_guard<std::mutex> lock(listing);
    listed.emplace_back("pop");
    return 0;
}

constexpr Ranges list_ranges{list_push, list_pop};

std::vector<std::string> take_listed() {
    const std::lock_guard<std::mutex> lock(listing);
    return std::exchange(listed, {});
}

// --- marker libraries ------------------------------------------------------------------------------

struct Library {
    const char *file, *push, *pop;
};
constexpr Library roctx[] = {
    {"librocprofiler-sdk-roctx.so.1", "roctxRangePushA", "roctxRangePop"},
    {"libroctx64.so.4", "roctxRangePushA", "roctxRangePop"},
};
constexpr Library nvtx[] = {{"libnvToolsExt.so.1", "nvtxRangePushA", "nvtxRangePop"}};

template <size_t count>
const Ranges* open_first(const Library (&libraries)[count]) {
    for (const Library& each : libraries) {
        void* handle = dlopen(each.file, RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) continue;
        static Ranges found;
        found.push = reinterpret_cast<int (*)(const char*)>(dlsym(handle, each.push));
        found.pop = reinterpret_cast<int (*)()>(dlsym(handle, each.pop));
        if (found.push != nullptr && found.pop != nullptr) return &found;
    }
    return nullptr;
}

const Ranges* find_ranges(const std::string& platform) {
    if (platform == "null") return &list_ranges;
    if (platform == "hip") return open_first(roctx);
    const Ranges* injected = injected_ranges();
    return injected != nullptr ? injected : open_first(nvtx);
}

bool mark_ranges(const std::string& platform) {
    const Ranges* found = platform.empty() ? nullptr : find_ranges(platform);
    ranges.store(found, std::memory_order_release);
    return found != nullptr;
}

}  // namespace

Stopwatch::Stopwatch(Device& device, Handle stream) : device_(device), stream_(stream) {
    if (!is_timed.load(std::memory_order_relaxed) || is_capturing(device, stream)) return;
    begin_ = take_event(device, true, false);
    GPU_CALL(device, event_record, begin_, stream);
}

void Stopwatch::stop() {
    if (begin_ == nullptr) return;
    end_ = take_event(device_, true, false);
    GPU_CALL(device_, event_record, end_, stream_);
    GPU_CALL(device_, event_sync, end_);
    float milliseconds = 0;
    GPU_CALL(device_, event_elapsed, &milliseconds, begin_, end_);
    wishes.seconds += milliseconds / 1000.0;
}

Stopwatch::~Stopwatch() {
    if (begin_ != nullptr) give_event(device_, begin_, true, false);
    if (end_ != nullptr) give_event(device_, end_, true, false);
}

void add_watching(nb::module_& module) {
    module.def("wait_for_kernels", [](bool on) { waits_for_kernels.store(on); }, nb::arg("on"));
    module.def("mark_ranges", mark_ranges, nb::arg("platform"));
    module.def("take_ranges", take_listed);
}

}  // namespace fieldforge::gpu
