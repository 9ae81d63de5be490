// A libcuda.so.1 that does nothing and succeeds: what remains is what a wrapper costs.
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {
using Arg = uintptr_t;
uintptr_t next_handle = 0x10000;
int ok() { return 0; }
int version(int* to) { return *to = 13000, 0; }
int one(int* to) { return *to = 1, 0; }
int zero(int* to) { return *to = 0, 0; }
int context(Arg* to) { return *to = 0x1000, 0; }
int handle(Arg* to) { return *to = next_handle += 0x100, 0; }
int memory(Arg* to, size_t size) {  // blocks that do not overlap, as programs look at that
    static uintptr_t free = uintptr_t{1} << 40;
    *to = free;
    free += (size + 511) / 256 * 256;
    return 0;
}
int second(Arg, Arg* to) { return *to = next_handle += 0x100, 0; }
int no(Arg, int* to) { return *to = 0, 0; }
int attribute(int* to, int which) { return *to = which == 75 ? 9 : which == 76 ? 0 : 1, 0; }
int text(char* to, int size) { return std::strncpy(to, "stub", static_cast<size_t>(size)), 0; }
int name_of(int, const char** to) { return *to = "CUDA_SUCCESS", 0; }
int info(size_t* a, size_t* b) { return *a = *b = size_t{1} << 36, 0; }
int priorities(int* a, int* b) { return *a = 0, *b = -5, 0; }

struct Known {
    const char* name;
    void* function;
};
#define KNOWN(name, function) {name, reinterpret_cast<void*>(function)}
const Known known[] = {
    KNOWN("cuDriverGetVersion", version), KNOWN("cuDeviceGetCount", one),
    KNOWN("cuDeviceGet", zero), KNOWN("cuCtxGetDevice", zero),
    KNOWN("cuDevicePrimaryCtxRetain", context), KNOWN("cuCtxGetCurrent", context),
    KNOWN("cuDeviceGetAttribute", attribute), KNOWN("cuDeviceGetName", text),
    KNOWN("cuStreamCreateWithPriority", handle), KNOWN("cuStreamCreate", handle),
    KNOWN("cuEventCreate", handle), KNOWN("cuMemAlloc", memory), KNOWN("cuMemAllocAsync", memory),
    KNOWN("cuMemAllocFromPoolAsync", memory), KNOWN("cuMemHostAlloc", memory),
    KNOWN("cuDeviceGetMemPool", handle), KNOWN("cuDeviceGetDefaultMemPool", handle),
    KNOWN("cuModuleLoadData", handle), KNOWN("cuModuleGetFunction", handle),
    KNOWN("cuLibraryLoadData", handle), KNOWN("cuLibraryGetKernel", handle),
    KNOWN("cuStreamEndCapture", second), KNOWN("cuStreamIsCapturing", no),
    KNOWN("cuGraphInstantiateWithFlags", handle), KNOWN("cuGetErrorName", name_of),
    KNOWN("cuGetErrorString", name_of), KNOWN("cuMemGetInfo", info),
    KNOWN("cuCtxGetStreamPriorityRange", priorities), KNOWN("cuStreamGetCtx", second),
};
}  // namespace

extern "C" {
int cuGetProcAddress_v2(const char* name, void** found, int, uint64_t, int* status) {
    *found = reinterpret_cast<void*>(ok);
    for (const Known& each : known) {
        if (std::strcmp(each.name, name) == 0) *found = each.function;
    }
    if (std::strcmp(name, "cuGetProcAddress") == 0) *found = reinterpret_cast<void*>(cuGetProcAddress_v2);
    if (status != nullptr) *status = 0;
    return 0;
}
int cuGetProcAddress(const char* name, void** found, int version, uint64_t flags) {
    return cuGetProcAddress_v2(name, found, version, flags, nullptr);
}
int cuDriverGetVersion(int* to) { return version(to); }
int cuInit(unsigned) { return 0; }
}
