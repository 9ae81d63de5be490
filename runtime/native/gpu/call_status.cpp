#include "call_status.h"

namespace fieldforge::gpu {

Address new_status(Device& device, const std::vector<int32_t>& codes, Handle stream) {
    Address status = 0;
    GPU_CALL(device, alloc_async, &status, sizeof(int32_t), stream);
    GPU_CALL(device, fill32_async, status, static_cast<unsigned>(codes.size()), 1, stream);
    return status;
}

int32_t wait_for_status(Device& device, Address status, const std::vector<int32_t>& codes,
                        Handle stream) {
    int32_t first = 0;
    GPU_CALL(device, copy_async, reinterpret_cast<Address>(&first), status, sizeof first, stream);
    GPU_CALL(device, free_async, status, stream);
    GPU_CALL(device, stream_sync, stream);
    return static_cast<size_t>(first) < codes.size() ? codes[first] : 0;
}

}  // namespace fieldforge::gpu
