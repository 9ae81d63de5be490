// While the log is on, entries of the driver that order work go through a function that notes them:
// there is nothing to pay while it is off.
#include "edges.h"

#include <nanobind/stl/string.h>
#include <pthread.h>

#include "objects.h"

namespace fieldforge::gpu {
namespace {

struct Edge {
    Entry entry;
    uintptr_t first, second;  // what the entry is about
    uintptr_t thread;
};

std::mutex guard;
std::vector<Edge> log;

Result note(Result result, Entry entry, uintptr_t first, uintptr_t second = 0) {
    constexpr size_t most = 1 << 20;
    if (result != success) return result;
    const std::lock_guard<std::mutex> lock(guard);
    if (log.size() < most) log.push_back({entry, first, second, static_cast<uintptr_t>(pthread_self())});
    return result;
}

uintptr_t number(Handle handle) { return reinterpret_cast<uintptr_t>(handle); }

// The entries of one vendor's driver as they are, and in their place those that note.
template <Vendor>
struct Noted {
    static inline Driver plain;

    static Result event_record(Handle event, Handle stream) {
        return note(plain.event_record(event, stream), Entry::event_record, number(event), number(stream));
    }
    static Result stream_wait(Handle stream, Handle event, unsigned flags) {
        return note(plain.stream_wait(stream, event, flags), Entry::stream_wait, number(stream),
                    number(event));
    }
    static Result event_query(Handle event) {
        return note(plain.event_query(event), Entry::event_sync, number(event));
    }
    static Result event_sync(Handle event) {
        return note(plain.event_sync(event), Entry::event_sync, number(event));
    }
    static Result stream_query(Handle stream) {
        return note(plain.stream_query(stream), Entry::stream_sync, number(stream));
    }
    static Result stream_sync(Handle stream) {
        return note(plain.stream_sync(stream), Entry::stream_sync, number(stream));
    }
    static Result context_sync() { return note(plain.context_sync(), Entry::context_sync, 0); }
    static Result alloc(Address* address, size_t size) {
        return note(plain.alloc(address, size), Entry::alloc, *address, size);
    }
    static Result alloc_async(Address* address, size_t size, Handle stream) {
        return note(plain.alloc_async(address, size, stream), Entry::alloc, *address, size);
    }
    static Result alloc_from_pool(Address* address, size_t size, Handle pool, Handle stream) {
        return note(plain.alloc_from_pool(address, size, pool, stream), Entry::alloc, *address, size);
    }
    static Result launch(Handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                         unsigned by, unsigned bz, unsigned shared, Handle stream, void** params,
                         void** extra) {
        return note(plain.launch(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra),
                    Entry::launch, number(stream));
    }

    static void turn(Driver& driver, bool on) {
        const bool is_on = driver.event_record == event_record;
        if (on == is_on) return;
        if (on) plain = driver;
        driver.event_record = on ? event_record : plain.event_record;
        driver.stream_wait = on ? stream_wait : plain.stream_wait;
        driver.event_query = on ? event_query : plain.event_query;
        driver.event_sync = on ? event_sync : plain.event_sync;
        driver.stream_query = on ? stream_query : plain.stream_query;
        driver.stream_sync = on ? stream_sync : plain.stream_sync;
        driver.context_sync = on ? context_sync : plain.context_sync;
        driver.alloc = on ? alloc : plain.alloc;
        driver.alloc_async = on ? alloc_async : plain.alloc_async;
        driver.alloc_from_pool = on ? alloc_from_pool : plain.alloc_from_pool;
        driver.launch = on ? launch : plain.launch;
    }
};

void log_edges(const std::string& platform, bool on) {
    Driver& driver = platform_named(platform).driver;
    switch (driver.vendor) {
        case Vendor::cuda: return Noted<Vendor::cuda>::turn(driver, on);
        case Vendor::hip: return Noted<Vendor::hip>::turn(driver, on);
        case Vendor::null: return Noted<Vendor::null>::turn(driver, on);
    }
}

nb::list take_edges() {
    static const char* const names[] = {
#define FIELDFORGE_GPU_ENTRY(member, arguments) #member,
        FIELDFORGE_GPU_ENTRIES(FIELDFORGE_GPU_ENTRY)
#undef FIELDFORGE_GPU_ENTRY
    };
    std::vector<Edge> taken;
    {
        const std::lock_guard<std::mutex> lock(guard);
        taken.swap(log);
    }
    nb::list made;
    for (const Edge& each : taken) {
        made.append(nb::make_tuple(names[static_cast<int>(each.entry)], each.first, each.second,
                                   each.thread));
    }
    return made;
}

}  // namespace

void add_edges(nb::module_& module) {
    module.def("log_edges", log_edges, nb::arg("platform"), nb::arg("on"));
    module.def("take_edges", take_edges);
}

}  // namespace fieldforge::gpu
