// The table of CUDA's driver: each entry is asked for at a version, so that 12 and 13 answer alike.
#include <dlfcn.h>

#include <cstdio>

#include "driver.h"

namespace fieldforge::gpu {
namespace {

constexpr int oldest = 12000;
constexpr int attribute_ordinal = 9, attribute_pool = 17;
using Lookup = Result (*)(const char*, void**, int, uint64_t, int*);

// CUDA_MEMCPY2D of cuda.h.
struct Copy2D {
    size_t from_x, from_y;
    int from_type;
    const void* from_host;
    Address from;
    void* from_array;
    size_t from_pitch, to_x, to_y;
    int to_type;
    void* to_host;
    Address to;
    void* to_array;
    size_t to_pitch, width, height;
};
constexpr int memory_unified = 4;

struct UpdateInfo {
    int result;
    Handle node, from;
};

Result (*copy_2d)(const void*, void*);
Result (*pointer_attribute)(void*, int, uintptr_t);
Result (*attribute)(int*, int, int);
Result (*update)(void*, void*, void*);

Result copy_2d_async(Address to, size_t to_pitch, Address from, size_t from_pitch, size_t width,
                     size_t height, Handle stream) {
    const Copy2D copy = {0, 0, memory_unified, nullptr, from, nullptr, from_pitch, 0, 0,
                         memory_unified, nullptr, to, nullptr, to_pitch, width, height};
    return copy_2d(&copy, stream);
}

Result pointer_device(int* device, Address address) {
    return pointer_attribute(device, attribute_ordinal, address);
}

Result pointer_pool(Handle* pool, Address address) {
    return pointer_attribute(pool, attribute_pool, address);
}

Result device_arch(char* name, int size, int device) {
    int major = 0, minor = 0;
    Result result = attribute(&major, 75, device);
    if (result == success) result = attribute(&minor, 76, device);
    if (result == success) snprintf(name, static_cast<size_t>(size), "sm_%d%d", major, minor);
    return result;
}

Result exec_update(Handle exec, Handle graph) {
    UpdateInfo info{};
    return update(exec, graph, &info);
}

template <typename F>
void set(F& place, void* found) {
    if (found != nullptr) place = reinterpret_cast<F>(found);
}

void fill(Driver& driver, Lookup lookup) {
    const auto find = [lookup](const char* name, int version) {
        void* found = nullptr;
        int status = 0;
        return lookup(name, &found, version, 0, &status) == success ? found : nullptr;
    };
#define FIELDFORGE_CUDA(member, name, version, arguments) \
    driver.names[static_cast<int>(Entry::member)] = #name; \
    set(driver.member, find(#name, version));
#define FIELDFORGE_CUDA_OTHER(member, name, version, arguments) \
    driver.names[static_cast<int>(Entry::member)] = #name;
#include "cuda_entries.inc"
#undef FIELDFORGE_CUDA
#undef FIELDFORGE_CUDA_OTHER
    set(copy_2d, find("cuMemcpy2DAsync", 3020));
    set(pointer_attribute, find("cuPointerGetAttribute", 4000));
    set(attribute, find("cuDeviceGetAttribute", 2000));
    if (attribute != nullptr) driver.device_arch = device_arch;
    set(update, find("cuGraphExecUpdate", oldest));
    if (copy_2d != nullptr) driver.copy_2d_async = copy_2d_async;
    if (pointer_attribute != nullptr) {
        driver.pointer_device = pointer_device;
        driver.pointer_pool = pointer_pool;
    }
    if (update != nullptr) driver.exec_update = exec_update;
}

}  // namespace

std::string load_cuda(Driver& driver) {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        return "The driver library 'libcuda.so.1' was not found: install NVIDIA's driver, version "
               "525 or later.";
    }
    fill_unsupported(driver);
    const auto lookup = reinterpret_cast<Lookup>(dlsym(library, "cuGetProcAddress_v2"));
    auto* version_of = reinterpret_cast<Result (*)(int*)>(dlsym(library, "cuDriverGetVersion"));
    int version = 0;
    if (lookup == nullptr || version_of == nullptr || version_of(&version) != success ||
        version < oldest) {
        const std::string known = std::to_string(version / 1000) + "." +
                                  std::to_string(version % 1000 / 10);
        return "NVIDIA's driver is too old (it offers CUDA " + known +
               "): install version 525 or later, which offers CUDA 12.";
    }
    driver.vendor = Vendor::cuda;
    driver.path = "libcuda.so.1";
    fill(driver, lookup);
    return "";
}

}  // namespace fieldforge::gpu
