// The table of AMD's HIP runtime. It has devices where CUDA's driver has contexts: the context of
// a device is its ordinal plus one. Nothing of this has run on AMD hardware.
#include <dlfcn.h>

#include <cstring>

#include "driver.h"

namespace fieldforge::gpu {
namespace {

constexpr int copy_any = 4;  // hipMemcpyDefault
// Where the name of the architecture lies in hipDeviceProp_t, before and from HIP 6.0.
constexpr size_t arch_before = 396, arch_since = 1160;

Result (*get_device)(int*);
Result (*set_device)(int);
Result (*enable_peer)(int, unsigned);
Result (*copy)(void*, const void*, size_t, int, void*);
Result (*copy_peer)(void*, int, const void*, int, size_t, void*);
Result (*copy_2d)(void*, size_t, const void*, size_t, size_t, size_t, int, void*);
Result (*fill32)(void*, int, size_t, void*);
Result (*pointer_attributes)(void*, const void*);
Result (*set_attribute)(const void*, int, int);
Result (*update)(void*, void*, void**, int*);
Result (*kernel_get)(void*, void*);
Result (*kernel_set_params)(void*, void*, const void*);
Result (*properties)(void*, int);
const char* (*name_of)(int);
const char* (*text_of)(int);
size_t arch_offset;

void* memory(Address address) { return reinterpret_cast<void*>(address); }
int ordinal_of(Handle context) { return static_cast<int>(reinterpret_cast<intptr_t>(context)) - 1; }
Handle context_of(int ordinal) { return reinterpret_cast<Handle>(intptr_t{ordinal} + 1); }

Result retain(Handle* context, int device) {
    *context = context_of(device);
    return success;
}

Result get_context(Handle* context) {
    int device = 0;
    const Result result = get_device(&device);
    *context = result == success ? context_of(device) : nullptr;
    return result;
}

Result set_context(Handle context) { return set_device(ordinal_of(context)); }

Result enable(Handle context, unsigned flags) { return enable_peer(ordinal_of(context), flags); }

Result copy_async(Address to, Address from, size_t size, Handle stream) {
    return copy(memory(to), memory(from), size, copy_any, stream);
}

Result copy_peer_async(Address to, Handle to_context, Address from, Handle from_context,
                       size_t size, Handle stream) {
    return copy_peer(memory(to), ordinal_of(to_context), memory(from), ordinal_of(from_context),
                     size, stream);
}

Result copy_2d_async(Address to, size_t to_pitch, Address from, size_t from_pitch, size_t width,
                     size_t height, Handle stream) {
    return copy_2d(memory(to), to_pitch, memory(from), from_pitch, width, height, copy_any, stream);
}

Result fill32_async(Address to, unsigned value, size_t count, Handle stream) {
    return fill32(memory(to), static_cast<int>(value), count, stream);
}

Result pointer_device(int* device, Address address) {
    struct {  // hipPointerAttribute_t begins so in all versions; it may grow
        int type, device;
        unsigned char rest[120];
    } found{};
    const Result result = pointer_attributes(&found, memory(address));
    *device = found.device;
    return result;
}

Result kernel_set(Handle function, int attribute, int value) {
    return set_attribute(function, attribute, value);
}

Result graph_upload(Handle, Handle) { return success; }  // the first launch uploads

Result exec_update(Handle exec, Handle graph) {
    Handle node = nullptr;
    int result = 0;
    return update(exec, graph, &node, &result);
}

struct HipKernelNode {
    unsigned block[3];
    void** extra;
    void* function;
    unsigned grid[3];
    void** params;
    unsigned shared;
};

Result node_kernel_get(Handle node, KernelNode* params) {
    HipKernelNode found{};
    const Result result = kernel_get(node, &found);
    *params = {};
    params->function = found.function;
    std::memcpy(params->grid, found.grid, sizeof found.grid);
    std::memcpy(params->block, found.block, sizeof found.block);
    params->shared = found.shared;
    params->params = found.params;
    params->extra = found.extra;
    return result;
}

Result exec_kernel_set(Handle exec, Handle node, const KernelNode* params) {
    HipKernelNode given{};
    given.function = params->function;
    std::memcpy(given.grid, params->grid, sizeof given.grid);
    std::memcpy(given.block, params->block, sizeof given.block);
    given.shared = params->shared;
    given.params = params->params;
    given.extra = params->extra;
    return kernel_set_params(exec, node, &given);
}

Result device_arch(char* name, int size, int device) {
    static char found[8192];
    const Result result = properties(found, device);
    if (result != success) return result;
    const char* arch = found + arch_offset;  // "gfx90a:sramecc+:xnack-"
    const size_t length = strnlen(arch, 255);
    std::memcpy(name, arch, length < static_cast<size_t>(size) ? length + 1 : size - 1);
    name[size - 1] = 0;
    return success;
}

Result error_name(Result code, const char** text) { return *text = name_of(code), success; }
Result error_text(Result code, const char** text) { return *text = text_of(code), success; }

template <typename F>
bool set(F& place, void* found) {
    if (found != nullptr) place = reinterpret_cast<F>(found);
    return found != nullptr;
}

void fill(Driver& driver, void* library) {
#define FIELDFORGE_HIP(member, name, arguments)            \
    driver.names[static_cast<int>(Entry::member)] = #name; \
    set(driver.member, dlsym(library, #name));
#define FIELDFORGE_HIP_OTHER(member, name, arguments) \
    driver.names[static_cast<int>(Entry::member)] = #name;
#include "hip_entries.inc"
#undef FIELDFORGE_HIP
#undef FIELDFORGE_HIP_OTHER
    const auto find = [library](const char* name) { return dlsym(library, name); };
    driver.context_retain = retain;
    driver.graph_upload = graph_upload;
    if (set(get_device, find("hipGetDevice"))) driver.context_get = get_context;
    if (set(set_device, find("hipSetDevice"))) driver.context_set = set_context;
    if (set(enable_peer, find("hipDeviceEnablePeerAccess"))) driver.peer_enable = enable;
    if (set(copy, find("hipMemcpyAsync"))) driver.copy_async = copy_async;
    if (set(copy_peer, find("hipMemcpyPeerAsync"))) driver.copy_peer_async = copy_peer_async;
    if (set(copy_2d, find("hipMemcpy2DAsync"))) driver.copy_2d_async = copy_2d_async;
    if (set(fill32, find("hipMemsetD32Async"))) driver.fill32_async = fill32_async;
    if (set(pointer_attributes, find("hipPointerGetAttributes"))) {
        driver.pointer_device = pointer_device;
    }
    if (set(set_attribute, find("hipFuncSetAttribute"))) driver.kernel_set = kernel_set;
    if (set(update, find("hipGraphExecUpdate"))) driver.exec_update = exec_update;
    set(driver.node_type, find("hipGraphNodeGetType"));
    if (set(kernel_get, find("hipGraphKernelNodeGetParams"))) {
        driver.node_kernel_get = node_kernel_get;
    }
    if (set(kernel_set_params, find("hipGraphExecKernelNodeSetParams"))) {
        driver.exec_kernel_set = exec_kernel_set;
    }
    arch_offset = arch_since;
    if (!set(properties, find("hipGetDevicePropertiesR0600"))) {
        arch_offset = arch_before;
        set(properties, find("hipGetDeviceProperties"));
    }
    if (properties != nullptr) driver.device_arch = device_arch;
    if (set(name_of, find("hipGetErrorName"))) driver.error_name = error_name;
    if (set(text_of, find("hipGetErrorString"))) driver.error_text = error_text;
}

}  // namespace

std::string load_hip(Driver& driver) {
    for (const char* name :
         {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}) {
        void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) continue;
        fill_unsupported(driver);
        driver.vendor = Vendor::hip;
        driver.path = name;
        fill(driver, library);
        if (set_device == nullptr || get_device == nullptr) {
            return "The library 'libamdhip64' lacks entries that are needed: install ROCm 5.2 or "
                   "later.";
        }
        return "";
    }
    return "The runtime library 'libamdhip64.so' was not found: install ROCm 5.2 or later.";
}

}  // namespace fieldforge::gpu
