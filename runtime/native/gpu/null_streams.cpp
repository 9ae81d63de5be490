// Streams and events of the null driver, and the order of what is submitted to them.
#include <chrono>
#include <memory>

#include "null_state.h"

namespace fieldforge::gpu::null {
namespace {

double now() {
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

Event* event_of(Handle handle) {
    auto* event = static_cast<Event*>(handle);
    return state().events.count(event) != 0 ? event : nullptr;
}

Result invalidate(Stream* stream) {
    stream->capture->invalid = true;
    return problem("A stream that captures was waited for.", capture_unsupported);
}

bool is_ordered(const Clock& clock, const Use& use) {
    return use.stream < 0 || clock.of(use.stream) >= use.tick;
}

void check_order(const Stream* stream, const Access& access, Uses& uses) {
    const Use mine{stream->index, stream->ticks};
    bool ordered = is_ordered(stream->clock, uses.write);
    if (access.writes) {
        for (const Use& read : uses.reads) ordered &= is_ordered(stream->clock, read);
        uses.reads.clear();
        uses.write = mine;
    } else {
        std::erase_if(uses.reads, [&](const Use& read) { return read.stream == mine.stream; });
        uses.reads.push_back(mine);
    }
    if (!ordered) {
        problem("Two streams used the same memory without an order between them: wait for an "
                "event, or synchronise, in between.",
                success);
    }
}

// Memory that is not ours belongs to the host and is not looked at; kernels are stricter.
Result check(const Stream* stream, const Node& node, Capture* capture) {
    for (const Access& access : node.accesses) {
        Address start = 0;
        Block* block = find_block(access.address, &start);
        if (block == nullptr) {
            if (node.type != 0) continue;
            return problem("A kernel was given an address that is not memory of a device.",
                           illegal_address);
        }
        if (!block->live) return problem("Memory was used after it was freed.", illegal_address);
        const bool is_own = block->pool == nullptr || block->device == stream->device;
        if (!is_own && (block->pool->users >> stream->device & 1) == 0) {
            return problem("Memory of a pool was used by a device that has no access to it.",
                           invalid_value);
        }
        if (access.address + access.size > start + block->size) {
            return problem("A copy or fill goes beyond the end of its memory.", invalid_value);
        }
        check_order(stream, access, capture != nullptr ? capture->uses[start] : block->uses);
    }
    return success;
}

Result stream_create(Handle* stream, unsigned flags, int priority) {
    NULL_ENTER(stream_create, nullptr);
    auto* made = new Stream{s.next_stream++, current() < 0 ? 0 : current(),
                            (flags & stream_nonblocking) == 0, priority, 0, {}, nullptr};
    s.streams.insert(made);
    return *stream = made, success;
}

Result stream_destroy(Handle handle) {
    NULL_ENTER(stream_destroy, handle);
    auto* stream = static_cast<Stream*>(handle);
    if (s.streams.erase(stream) == 0) {
        return problem("A stream was destroyed twice.", invalid_handle);
    }
    if (stream->capture != nullptr) stream->capture->streams.erase(stream);
    delete stream;
    return success;
}

Result wait_for(Handle handle) {
    Stream* stream = stream_of(handle);
    if (stream == nullptr) return invalid_handle;
    if (stream->capture != nullptr) return invalidate(stream);
    order_streams(stream);
    state().host.merge(stream->clock);
    return success;
}

Result stream_query(Handle handle) {
    NULL_ENTER(stream_query, handle);
    return wait_for(handle);
}

Result stream_sync(Handle handle) {
    NULL_ENTER(stream_sync, handle);
    return wait_for(handle);
}

Result stream_wait(Handle handle, Handle event, unsigned) {
    NULL_ENTER(stream_wait, handle);
    Stream* stream = stream_of(handle);
    const Event* given = event_of(event);
    if (stream == nullptr || given == nullptr) return invalid_handle;
    if (!given->recorded) return success;
    if (given->capture != nullptr && s.captures.count(given->capture) != 0) {
        if (stream->capture != nullptr && stream->capture != given->capture) return 902;
        stream->capture = given->capture;
        stream->capture->streams.insert(stream);
    } else if (stream->capture != nullptr) {
        stream->capture->invalid = true;
        return problem("A stream that captures waited for an event from outside.", 905);
    }
    order_streams(stream);
    stream->clock.merge(given->clock);
    return success;
}

Result priority_range(int* least, int* greatest) { return *least = 0, *greatest = -5, success; }

Result event_create(Handle* event, unsigned flags) {
    NULL_ENTER(event_create, nullptr);
    auto* made = new Event{current() < 0 ? 0 : current(), (flags & event_untimed) == 0, false, 0, {},
                           nullptr};
    s.events.insert(made);
    return *event = made, success;
}

Result event_destroy(Handle handle) {
    NULL_ENTER(event_destroy, handle);
    auto* event = static_cast<Event*>(handle);
    if (s.events.erase(event) == 0) return problem("An event was destroyed twice.", invalid_handle);
    delete event;
    return success;
}

Result event_record(Handle handle, Handle stream_handle) {
    NULL_ENTER(event_record, stream_handle);
    Event* event = event_of(handle);
    Stream* stream = stream_of(stream_handle);
    if (event == nullptr || stream == nullptr) return invalid_handle;
    order_streams(stream);
    event->clock = stream->clock;
    event->capture = stream->capture;
    event->recorded = true;
    event->time = now();
    return success;
}

Result event_query(Handle handle) {
    NULL_ENTER(event_query, handle);
    const Event* event = event_of(handle);
    if (event == nullptr) return invalid_handle;
    if (event->capture != nullptr) return capture_unsupported;
    s.host.merge(event->clock);
    return success;
}

Result event_sync(Handle handle) { return event_query(handle); }

Result event_elapsed(float* milliseconds, Handle first, Handle second) {
    NULL_ENTER(event_elapsed, second);
    const Event *a = event_of(first), *b = event_of(second);
    if (a == nullptr || b == nullptr) return invalid_handle;
    if (!a->timed || !b->timed || !a->recorded || !b->recorded) {
        return problem("An event that was not recorded, or does not time, was asked for its time.",
                       invalid_handle);
    }
    return *milliseconds = static_cast<float>(b->time - a->time), success;
}

}  // namespace

Stream* stream_of(Handle handle) {
    State& s = state();
    if (reinterpret_cast<uintptr_t>(handle) <= 2) {  // legacy, or that of the thread
        return &s.device[current() < 0 ? 0 : current()].legacy;
    }
    auto* stream = static_cast<Stream*>(handle);
    return s.streams.count(stream) != 0 ? stream : nullptr;
}

void order_streams(Stream* stream) {
    State& s = state();
    stream->clock.merge(s.host);
    if (!stream->blocking) return;
    Stream& legacy = s.device[stream->device].legacy;
    if (stream != &legacy) return stream->clock.merge(legacy.clock);
    for (const Stream* other : s.streams) {
        if (other->blocking && other->device == stream->device) stream->clock.merge(other->clock);
    }
}

Result submit(Stream* stream, std::shared_ptr<Node> node) {
    if (stream == nullptr) return problem("Work was submitted to no stream.", invalid_handle);
    order_streams(stream);
    stream->clock.set(stream->index, ++stream->ticks);
    const Result result = check(stream, *node, stream->capture);
    if (result != success) return result;
    if (stream->capture == nullptr) return node->run(*node);
    if (stream->capture->invalid) return capture_invalidated;
    stream->capture->graph->nodes.push_back(std::move(node));
    return success;
}

Result submit_host_work(Handle stream, std::function<Result()> work) {
    NULL_ENTER(launch, stream);
    return submit(stream_of(stream),
                  std::make_shared<Node>(3, std::vector<Access>{},
                                         [work = std::move(work)](const Node&) { return work(); }));
}

Result replay(Stream* stream, const std::vector<std::shared_ptr<Node>>& nodes) {
    for (const auto& node : nodes) {
        const Result result = submit(stream, node);
        if (result != success) return result;
    }
    return success;
}

void fill_streams(Driver& driver) {
    driver.stream_create = stream_create;
    driver.stream_destroy = stream_destroy;
    driver.stream_query = stream_query;
    driver.stream_sync = stream_sync;
    driver.stream_wait = stream_wait;
    driver.priority_range = priority_range;
    driver.event_create = event_create;
    driver.event_destroy = event_destroy;
    driver.event_record = event_record;
    driver.event_query = event_query;
    driver.event_sync = event_sync;
    driver.event_elapsed = event_elapsed;
}

}  // namespace fieldforge::gpu::null
