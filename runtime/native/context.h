// What an entry gets beside its arguments: the last parameter of the entry point.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fieldforge {

constexpr uint32_t context_version = 2;

// Numbers of the machine at hand, where generated code decides by them; 0 where unknown.
struct Machine {
    int64_t cores;         // cores or multiprocessors
    int64_t core_memory;   // bytes: second-level cache of a core, shared memory of a multiprocessor
    int64_t shared_cache;  // bytes of the last-level cache
    int64_t bandwidth;     // bytes a second
    int64_t stream_from;   // bytes of a call from which stores past the caches win
    int64_t parallel_from;  // points of a loop from which a second thread pays
};

// Later versions add members at the end and change none: code reads those that it knows, and
// asks `size` for newer ones. `stages/codegen/entry_point.py` has the same text for generators.
struct Context {
    uint32_t version;
    uint32_t size;
    int32_t device_type;  // as DLPack numbers it
    int32_t device_id;
    void* stream;  // work is queued there; null on a CPU
    // Runs body(data, begin, end, place) on disjoint parts of the indices below `count`, on threads of
    // the caller, and returns when all are done. Places are numbers below `most`; a thread keeps its
    // place. `points` tells how much work there is. Null: the entry brings its own threads.
    void (*parallel_for)(void* pool, int64_t count, int64_t most, int64_t points,
                         void (*body)(void* data, int64_t begin, int64_t end, int64_t place),
                         void* data);
    void* pool;
    const Machine* machine;  // null if nobody has measured it
    int32_t* status;  // memory of the device for the code of an entry that returns before its work
                      // is done; null: the entry returns its code
    int64_t (*threads)(void* pool);  // how many may share a loop of this call; null: unknown
};

}  // namespace fieldforge
