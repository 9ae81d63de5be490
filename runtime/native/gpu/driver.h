// The driver of a vendor as a table of functions, found by dlopen; no vendor header is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace fieldforge::gpu {

using Result = int;        // CUresult, hipError_t: equal numbers for what we look at
using Handle = void*;      // stream, event, module, function, graph, pool, context
using Address = uintptr_t;  // CUdeviceptr and void* are passed alike

constexpr Result success = 0, invalid_value = 1, out_of_memory = 2, not_initialized = 3,
                 no_device = 100, invalid_image = 200, invalid_handle = 400, not_found = 500,
                 not_ready = 600, illegal_address = 700, peer_already_enabled = 704,
                 not_supported = 801, capture_unsupported = 900, capture_invalidated = 901,
                 capture_unjoined = 904, unknown_entry = 999;
constexpr unsigned stream_nonblocking = 1, event_blocking = 1, event_untimed = 2;
constexpr int capture_global = 0, capture_thread_local = 1, capture_relaxed = 2;
constexpr int pool_threshold = 4, pool_reserved = 5, pool_used = 7;  // attributes of pools
constexpr int node_kernel = 0;

// Structures whose layout both CUDA 12 and 13 fix, and which we fill in ourselves.
struct PoolLocation {
    int type;  // 1: device
    int id;
};
struct PoolProperties {
    int allocation;  // 1: pinned
    int handle_types;
    PoolLocation location;
    void* security;
    size_t most;
    unsigned char reserved[56];
};
struct PoolAccess {
    PoolLocation location;
    int flags;  // 3: read and write
};
struct KernelNode {
    Handle function;
    unsigned grid[3], block[3], shared;
    void** params;
    void** extra;
    Handle kernel, context;
};

// What the null driver must know of the arguments of a launch; passed to it as `extra`.
struct ArgumentList {
    unsigned count;
    const uint16_t* sizes;
    const char* kinds;  // 'P' for pointers that are written, 'R' for those that are only read
};

// X(member, arguments). The order of arguments is that of CUDA's driver interface.
#define FIELDFORGE_GPU_ENTRIES(X)                                                                 \
    X(init, (unsigned flags))                                                                     \
    X(driver_version, (int* version))                                                             \
    X(device_count, (int* count))                                                                 \
    X(device_get, (int* device, int ordinal))                                                     \
    X(device_name, (char* name, int size, int device))                                            \
    X(device_arch, (char* name, int size, int device))                                            \
    X(device_attribute, (int* value, int attribute, int device))                                  \
    X(device_uuid, (void* uuid, int device))                                                      \
    X(device_pci, (char* text, int size, int device))                                             \
    X(device_memory, (size_t * bytes, int device))                                                \
    X(context_retain, (Handle * context, int device))                                             \
    X(context_get, (Handle * context))                                                            \
    X(context_set, (Handle context))                                                              \
    X(context_sync, ())                                                                           \
    X(memory_info, (size_t * unused, size_t* total))                                              \
    X(peer_possible, (int* answer, int device, int peer))                                         \
    X(peer_enable, (Handle context, unsigned flags))                                              \
    X(priority_range, (int* least, int* greatest))                                                \
    X(stream_create, (Handle * stream, unsigned flags, int priority))                             \
    X(stream_destroy, (Handle stream))                                                            \
    X(stream_query, (Handle stream))                                                              \
    X(stream_sync, (Handle stream))                                                               \
    X(stream_wait, (Handle stream, Handle event, unsigned flags))                                 \
    X(event_create, (Handle * event, unsigned flags))                                             \
    X(event_destroy, (Handle event))                                                              \
    X(event_record, (Handle event, Handle stream))                                                \
    X(event_query, (Handle event))                                                                \
    X(event_sync, (Handle event))                                                                 \
    X(event_elapsed, (float* milliseconds, Handle first, Handle second))                          \
    X(alloc, (Address * address, size_t size))                                                    \
    X(free, (Address address))                                                                    \
    X(alloc_async, (Address * address, size_t size, Handle stream))                               \
    X(alloc_from_pool, (Address * address, size_t size, Handle pool, Handle stream))              \
    X(free_async, (Address address, Handle stream))                                               \
    X(host_alloc, (void** address, size_t size, unsigned flags))                                  \
    X(host_free, (void* address))                                                                 \
    X(managed_alloc, (Address * address, size_t size, unsigned flags))                            \
    X(copy_async, (Address to, Address from, size_t size, Handle stream))                         \
    X(copy_peer_async, (Address to, Handle to_context, Address from, Handle from_context,         \
                        size_t size, Handle stream))                                              \
    X(copy_2d_async, (Address to, size_t to_pitch, Address from, size_t from_pitch, size_t width, \
                      size_t height, Handle stream))                                              \
    X(fill8_async, (Address to, unsigned char value, size_t count, Handle stream))                \
    X(fill16_async, (Address to, unsigned short value, size_t count, Handle stream))              \
    X(fill32_async, (Address to, unsigned value, size_t count, Handle stream))                    \
    X(pointer_device, (int* device, Address address))                                             \
    X(pointer_pool, (Handle * pool, Address address))                                             \
    X(pool_create, (Handle * pool, const PoolProperties* properties))                             \
    X(pool_destroy, (Handle pool))                                                                \
    X(pool_set, (Handle pool, int attribute, void* value))                                        \
    X(pool_get, (Handle pool, int attribute, void* value))                                        \
    X(pool_trim, (Handle pool, size_t keep))                                                      \
    X(pool_current, (Handle * pool, int device))                                                  \
    X(pool_access, (Handle pool, const PoolAccess* accesses, size_t count))                       \
    X(module_load, (Handle * module, const void* image))                                          \
    X(module_unload, (Handle module))                                                             \
    X(module_function, (Handle * function, Handle module, const char* name))                      \
    X(module_global, (Address * address, size_t* size, Handle module, const char* name))          \
    X(kernel_attribute, (int* value, int attribute, Handle function))                             \
    X(kernel_set, (Handle function, int attribute, int value))                                    \
    X(occupancy, (int* blocks, Handle function, int threads, size_t shared))                      \
    X(launch, (Handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,  \
               unsigned bz, unsigned shared, Handle stream, void** params, void** extra))         \
    X(launch_cooperative,                                                                         \
      (Handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,          \
       unsigned bz, unsigned shared, Handle stream, void** params))                               \
    X(capture_begin, (Handle stream, int mode))                                                   \
    X(capture_end, (Handle stream, Handle * graph))                                               \
    X(capture_status, (Handle stream, int* status))                                               \
    X(graph_instantiate, (Handle * exec, Handle graph, unsigned long long flags))                 \
    X(graph_launch, (Handle exec, Handle stream))                                                 \
    X(graph_upload, (Handle exec, Handle stream))                                                 \
    X(graph_destroy, (Handle graph))                                                              \
    X(exec_destroy, (Handle exec))                                                                \
    X(exec_update, (Handle exec, Handle graph))                                                   \
    X(graph_nodes, (Handle graph, Handle* nodes, size_t* count))                                  \
    X(node_type, (Handle node, int* type))                                                        \
    X(node_kernel_get, (Handle node, KernelNode* params))                                         \
    X(exec_kernel_set, (Handle exec, Handle node, const KernelNode* params))                      \
    X(kernel_parameter, (Handle function, size_t index, size_t* offset, size_t* size))            \
    X(error_name, (Result code, const char** text))                                               \
    X(error_text, (Result code, const char** text))

enum class Entry : int {
#define FIELDFORGE_GPU_ENTRY(member, arguments) member,
    FIELDFORGE_GPU_ENTRIES(FIELDFORGE_GPU_ENTRY)
#undef FIELDFORGE_GPU_ENTRY
        count
};

enum class Vendor { cuda, hip, null };

// A loaded driver. An entry that it lacks is never null: it answers `not_supported`.
struct Driver {
#define FIELDFORGE_GPU_ENTRY(member, arguments) Result(*member) arguments;
    FIELDFORGE_GPU_ENTRIES(FIELDFORGE_GPU_ENTRY)
#undef FIELDFORGE_GPU_ENTRY
    const char* names[static_cast<int>(Entry::count)];  // as the vendor calls the entries
    Vendor vendor;
    std::string path;
};

// Each fills the table, or says in one sentence why there is no such driver.
std::string load_cuda(Driver& driver);
std::string load_hip(Driver& driver);
std::string load_null(Driver& driver);
// Fills every entry with one that answers `not_supported`, under the name of the member.
void fill_unsupported(Driver& driver);

}  // namespace fieldforge::gpu
