// What the driver alone costs: each row of bench/gpu_runtime.py, in C++ through function pointers.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {
using Handle = void*;
FILE* out;
int (*lookup)(const char*, void**, int, uint64_t, int*);

template <typename F>
F find(const char* name, int version) {
    void* found = nullptr;
    int status = 0;
    if (lookup(name, &found, version, 0, &status) != 0 || found == nullptr) std::exit(2);
    return reinterpret_cast<F>(found);
}

template <typename F, typename S>
void row(const char* name, F work, S settle, int count) {
    std::vector<double> times;
    for (int batch = 0; batch < 200; ++batch) {
        settle();
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < count; ++i) work();
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
        times.push_back(took.count() / count);
    }
    settle();
    std::sort(times.begin(), times.end());
    std::fprintf(out, "%s %.1f %.1f\n", name, times[0], times[times.size() / 2]);
}
}  // namespace

extern "C" int measure(const char* image_path, const char* out_path) {
    out = std::fopen(out_path, "w");
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr) return 2;
    lookup = reinterpret_cast<decltype(lookup)>(dlsym(library, "cuGetProcAddress_v2"));
    const auto init = find<int (*)(unsigned)>("cuInit", 2000);
    const auto retain = find<int (*)(Handle*, int)>("cuDevicePrimaryCtxRetain", 7000);
    const auto set = find<int (*)(Handle)>("cuCtxSetCurrent", 4000);
    const auto get = find<int (*)(Handle*)>("cuCtxGetCurrent", 4000);
    const auto stream_create = find<int (*)(Handle*, unsigned, int)>("cuStreamCreateWithPriority", 5050);
    const auto stream_destroy = find<int (*)(Handle)>("cuStreamDestroy", 4000);
    const auto sync = find<int (*)(Handle)>("cuStreamSynchronize", 2000);
    const auto event_create = find<int (*)(Handle*, unsigned)>("cuEventCreate", 2000);
    const auto event_destroy = find<int (*)(Handle)>("cuEventDestroy", 4000);
    const auto record = find<int (*)(Handle, Handle)>("cuEventRecord", 2000);
    const auto query = find<int (*)(Handle)>("cuEventQuery", 2000);
    const auto load = find<int (*)(Handle*, const void*)>("cuModuleLoadData", 2000);
    const auto function = find<int (*)(Handle*, Handle, const char*)>("cuModuleGetFunction", 2000);
    const auto allocate = find<int (*)(uintptr_t*, size_t)>("cuMemAlloc", 3020);
    const auto launch = find<int (*)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                     unsigned, Handle, void**, void**)>("cuLaunchKernel", 4000);
    const auto begin = find<int (*)(Handle, int)>("cuStreamBeginCapture", 10010);
    const auto end = find<int (*)(Handle, Handle*)>("cuStreamEndCapture", 10000);
    const auto instantiate =
        find<int (*)(Handle*, Handle, unsigned long long)>("cuGraphInstantiateWithFlags", 11040);
    const auto graph_launch = find<int (*)(Handle, Handle)>("cuGraphLaunch", 10000);
    Handle context, stream, event, module, kernel, graph, exec;
    if (init(0) != 0 || retain(&context, 0) != 0 || set(context) != 0) return 2;
    stream_create(&stream, 1, 0);
    event_create(&event, 2);
    std::ifstream file(image_path, std::ios::binary);
    const std::string image((std::istreambuf_iterator<char>(file)), {});
    if (load(&module, image.data()) != 0 || function(&kernel, module, "eight") != 0) return 2;
    uintptr_t memory[4];
    for (auto& each : memory) allocate(&each, 1024);
    int numbers[4] = {1, 2, 3, 4};
    void* params[8];
    for (int i = 0; i < 4; ++i) params[i] = &memory[i], params[i + 4] = &numbers[i];
    const auto work = [&] { launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, nullptr); };
    begin(stream, 1);
    work();
    end(stream, &graph);
    instantiate(&exec, graph, 0);
    // A program with 15 fields: addresses, strides and bounds, a number; one by one, or packed.
    Handle wide;
    if (function(&wide, module, "fifteen") != 0) return 2;
    uintptr_t words[35];
    for (auto& each : words) each = memory[0];
    void* places[35];
    for (int i = 0; i < 35; ++i) places[i] = &words[i];
    size_t bytes = sizeof words;
    constexpr uintptr_t buffer_follows = 1, size_follows = 2;
    void* packed[] = {reinterpret_cast<void*>(buffer_follows), words,
                      reinterpret_cast<void*>(size_follows), &bytes, nullptr};
    const auto settle = [&] { sync(stream); };
    row("device_get", [&] { Handle found; get(&found); }, settle, 1000);
    row("device_set", [&] { set(context); }, settle, 1000);
    row("event_create", [&] { Handle made; event_create(&made, 2); event_destroy(made); }, settle, 500);
    row("event_record", [&] { record(event, stream); }, settle, 200);
    row("event_query", [&] { query(event); }, settle, 1000);
    row("stream_create", [&] { Handle made; stream_create(&made, 1, 0); stream_destroy(made); }, settle, 20);
    row("stream_sync", [&] { sync(stream); }, settle, 1000);
    row("launch_8", work, settle, 200);
    row("call_15_fields",
        [&] { launch(wide, 1, 16, 1, 32, 4, 1, 0, stream, places, nullptr); }, settle, 200);
    row("call_15_fields_packed",
        [&] { launch(wide, 1, 16, 1, 32, 4, 1, 0, stream, nullptr, packed); }, settle, 200);
    row("bound_call", work, settle, 200);
    row("graph_launch", [&] { graph_launch(exec, stream); }, settle, 100);
    std::fclose(out);
    return 0;
}
