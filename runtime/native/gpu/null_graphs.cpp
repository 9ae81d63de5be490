// Graphs of the null driver: lists of what was submitted while a stream captured.
#include <algorithm>
#include <cstring>
#include <memory>

#include "null_state.h"

namespace fieldforge::gpu::null {
namespace {

Result capture_begin(Handle handle, int mode) {
    NULL_ENTER(capture_begin, handle);
    Stream* stream = stream_of(handle);
    if (stream == nullptr) return invalid_handle;
    if (reinterpret_cast<uintptr_t>(handle) <= 1) {
        return problem("The default stream cannot capture.", capture_unsupported);
    }
    if (stream->capture != nullptr) return problem("The stream captures already.", invalid_value);
    auto* capture = new Capture;
    capture->origin = stream;
    capture->mode = mode;
    capture->thread = std::this_thread::get_id();
    capture->streams.insert(stream);
    stream->capture = capture;
    s.captures.insert(capture);
    return success;
}

Result capture_end(Handle handle, Handle* graph) {
    NULL_ENTER(capture_end, handle);
    *graph = nullptr;
    Stream* stream = stream_of(handle);
    if (stream == nullptr || stream->capture == nullptr) {
        return problem("The stream does not capture.", invalid_value);
    }
    const std::unique_ptr<Capture> capture(stream->capture);
    if (capture->origin != stream) {
        static_cast<void>(const_cast<std::unique_ptr<Capture>&>(capture).release());
        return problem("Another stream began the capture.", 903);
    }
    bool joined = true;
    for (Stream* other : capture->streams) {
        joined &= stream->clock.of(other->index) >= other->ticks;
        other->capture = nullptr;
    }
    s.captures.erase(capture.get());
    if (!joined) {
        return problem("A stream that joined the capture was not waited for.", capture_unjoined);
    }
    if (capture->invalid) return capture_invalidated;
    Graph* made = capture->graph.release();
    s.graphs.insert(made);
    return *graph = made, success;
}

Result capture_status(Handle handle, int* status) {
    NULL_ENTER(capture_status, handle);
    const Stream* stream = stream_of(handle);
    if (stream == nullptr) return invalid_handle;
    *status = stream->capture == nullptr ? 0 : stream->capture->invalid ? 2 : 1;
    return success;
}

std::vector<std::shared_ptr<Node>> copied(const std::vector<std::shared_ptr<Node>>& nodes) {
    std::vector<std::shared_ptr<Node>> made;
    for (const auto& node : nodes) {
        auto copy = std::make_shared<Node>(*node);
        point_to_values(*copy);
        made.push_back(std::move(copy));
    }
    return made;
}

Result graph_instantiate(Handle* exec, Handle graph, unsigned long long) {
    NULL_ENTER(graph_instantiate, graph);
    const auto* given = static_cast<Graph*>(graph);
    auto* made = new Exec{copied(given->nodes), given->nodes, given->memory};
    s.execs.insert(made);
    return *exec = made, success;
}

Result graph_launch(Handle exec, Handle stream) {
    NULL_ENTER(graph_launch, stream);
    auto* given = static_cast<Exec*>(exec);
    if (s.execs.count(given) == 0) return problem("A graph was launched that is gone.", invalid_handle);
    Stream* target = stream_of(stream);
    if (target == nullptr) return invalid_handle;
    return replay(target, target->capture != nullptr ? copied(given->nodes) : given->nodes);
}

Result graph_upload(Handle exec, Handle) {
    NULL_ENTER(graph_upload, exec);
    return success;
}

Result graph_destroy(Handle graph) {
    NULL_ENTER(graph_destroy, graph);
    auto* given = static_cast<Graph*>(graph);
    if (s.graphs.erase(given) == 0) return problem("A graph was destroyed twice.", invalid_handle);
    delete given;
    return success;
}

Result exec_destroy(Handle exec) {
    NULL_ENTER(exec_destroy, exec);
    auto* given = static_cast<Exec*>(exec);
    if (s.execs.erase(given) == 0) {
        return problem("An executable graph was destroyed twice.", invalid_handle);
    }
    delete given;
    return success;
}

Result exec_update(Handle exec, Handle graph) {
    NULL_ENTER(exec_update, exec);
    auto* mine = static_cast<Exec*>(exec);
    const auto* given = static_cast<Graph*>(graph);
    const auto alike = [](const auto& a, const auto& b) {
        return a->type == b->type && a->kernel.function == b->kernel.function;
    };
    if (!std::equal(mine->nodes.begin(), mine->nodes.end(), given->nodes.begin(),
                    given->nodes.end(), alike)) {
        return problem("The graph has other nodes than the one that is to be updated.", 910);
    }
    mine->nodes = copied(given->nodes);
    mine->originals = given->nodes;
    mine->memory = given->memory;
    return success;
}

Result graph_nodes(Handle graph, Handle* nodes, size_t* count) {
    NULL_ENTER(graph_nodes, graph);
    const auto& given = static_cast<Graph*>(graph)->nodes;
    if (nodes != nullptr) {
        for (size_t i = 0; i < std::min(*count, given.size()); ++i) nodes[i] = given[i].get();
    }
    return *count = given.size(), success;
}

Result node_type(Handle node, int* type) { return *type = static_cast<Node*>(node)->type, success; }

Result node_kernel_get(Handle node, KernelNode* params) {
    return *params = static_cast<Node*>(node)->kernel, success;
}

Result exec_kernel_set(Handle exec, Handle node, const KernelNode* params) {
    NULL_ENTER(exec_kernel_set, exec);
    auto* mine = static_cast<Exec*>(exec);
    for (size_t i = 0; i < mine->originals.size(); ++i) {
        if (mine->originals[i].get() != node) continue;
        Node& changed = *mine->nodes[i];
        changed.accesses.clear();
        for (size_t j = 0; j < changed.values.size(); ++j) {
            std::memcpy(changed.values[j].data(), params->params[j], changed.values[j].size());
            if (changed.kinds[j] != 'P' && changed.kinds[j] != 'R') continue;
            Address address = 0;
            std::memcpy(&address, changed.values[j].data(), sizeof address);
            if (address != 0) changed.accesses.push_back({address, 1, changed.kinds[j] == 'P'});
        }
        return success;
    }
    return problem("The node is not of the graph that was instantiated.", invalid_value);
}

Result kernel_parameter(Handle, size_t, size_t*, size_t*) { return not_supported; }

}  // namespace

GraphMemory::~GraphMemory() {
    for (const Address address : blocks) {
        Block* block = find_block(address);  // another one, if what was here is freed
        if (block != nullptr && block->live && block->graph == this) release_memory(address, *block);
    }
}

Result forbid_in_capture() {
    for (Capture* capture : state().captures) {
        const bool concerns = capture->mode == capture_global ||
                              (capture->mode == capture_thread_local &&
                               capture->thread == std::this_thread::get_id());
        if (!concerns) continue;
        capture->invalid = true;
        return problem("A call that may wait was made while a stream captures.",
                       capture_unsupported);
    }
    return success;
}

void fill_graphs(Driver& driver) {
    driver.capture_begin = capture_begin;
    driver.capture_end = capture_end;
    driver.capture_status = capture_status;
    driver.graph_instantiate = graph_instantiate;
    driver.graph_launch = graph_launch;
    driver.graph_upload = graph_upload;
    driver.graph_destroy = graph_destroy;
    driver.exec_destroy = exec_destroy;
    driver.exec_update = exec_update;
    driver.graph_nodes = graph_nodes;
    driver.node_type = node_type;
    driver.node_kernel_get = node_kernel_get;
    driver.exec_kernel_set = exec_kernel_set;
    driver.kernel_parameter = kernel_parameter;
}

}  // namespace fieldforge::gpu::null
