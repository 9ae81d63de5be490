// How buffers get their memory.
#pragma once

#include "objects.h"

namespace fieldforge::gpu {

PoolRef make_pool(Device& device, bool own);
// `kind` is pool, device, pinned or managed. Where memory has run out, pools are trimmed once.
void allocate(Buffer& buffer, MemoryKind kind, Device& device, size_t size, const StreamRef& stream,
              const PoolRef& pool);
// Lets a device read and write memory of another one; memory of pools needs a right of its own.
// Does nothing where the hardware has no such path.
void allow_access(Device& user, const Buffer& buffer);
void allow_access(Device& user, Device& owner, Address address);  // of memory that is not ours
void free_deferred(Device& device) noexcept;  // what destructors could not free during a capture

}  // namespace fieldforge::gpu
