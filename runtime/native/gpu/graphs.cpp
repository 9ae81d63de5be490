// `Graph` and `GraphExec`: what a stream was given, launched again as one.
#include <nanobind/stl/string.h>

#include <cstring>

#include "guarded.h"
#include "memory.h"

namespace fieldforge::gpu {
namespace {

struct Graph {
    StreamRef stream;
    Handle graph = nullptr;
    std::vector<nb::object> kept;  // what the nodes use
    int mode = capture_thread_local;
    bool active = false;
    ~Graph();
    Graph() = default;
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
};

struct GraphExec {
    Device* device = nullptr;
    Handle exec = nullptr;
    std::vector<nb::object> graphs;  // the one it was made of, and those it was updated from
    ~GraphExec() {
        if (exec == nullptr || is_finalizing()) return;
        const Guard guard(*device, nullptr);
        lose(*device, device->driver->exec_destroy(exec), Entry::exec_destroy);
    }
    GraphExec() = default;
    GraphExec(const GraphExec&) = delete;
    GraphExec& operator=(const GraphExec&) = delete;
};

Result end_capture(Graph& self) noexcept {
    if (!self.active) return success;
    self.active = false;
    Device& device = *self.stream->device;
    const Guard guard(device, nullptr);
    const Result result = device.driver->capture_end(self.stream->ptr, &self.graph);
    self.stream->graph = nullptr;
    capturing.fetch_sub(1);
    free_deferred(device);
    return result;
}

Graph::~Graph() {
    if (is_finalizing()) return;
    end_capture(*this);
    if (graph == nullptr) return;
    Device& device = *stream->device;
    const Guard guard(device, nullptr);
    lose(device, device.driver->graph_destroy(graph), Entry::graph_destroy);
}

nb::object capture(nb::handle stream, const std::string& mode) {
    auto made = std::make_unique<Graph>();
    made->stream = nb::cast<Stream&>(stream).ref;
    if (mode == "global") made->mode = capture_global;
    else if (mode == "relaxed") made->mode = capture_relaxed;
    else if (mode != "thread_local") {
        throw nb::value_error("A capture is 'global', 'thread_local' or 'relaxed'.");
    }
    return nb::cast(made.release(), nb::rv_policy::take_ownership);
}

nb::object enter(nb::handle object) {
    auto& self = nb::cast<Graph&>(object);
    Device& device = *self.stream->device;
    if (self.graph != nullptr || self.active) throw nb::value_error("A graph is captured once.");
    const Guard guard(device);
    GPU_CALL_ON(device, "a stream of device " + device.label(), capture_begin, self.stream->ptr, self.mode);
    capturing.fetch_add(1);
    self.active = true;
    self.stream->graph = object.ptr();
    push_stream(self.stream);
    return nb::borrow(object);
}

void leave(nb::handle object, nb::handle type, nb::handle, nb::handle) {
    auto& self = nb::cast<Graph&>(object);
    pop_stream();
    const Result result = end_capture(self);
    // What went wrong inside is more to the point than that the capture is not valid.
    if (result != success && type.is_none()) fail(*self.stream->device, result, Entry::capture_end);
}

nb::object instantiate(nb::handle object) {
    const auto& self = nb::cast<Graph&>(object);
    if (self.graph == nullptr) throw nb::value_error("The graph has not been captured.");
    Device& device = *self.stream->device;
    const Guard guard(device);
    auto made = std::make_unique<GraphExec>();
    made->device = &device;
    constexpr unsigned long long free_on_launch = 1;
    GPU_CALL(device, graph_instantiate, &made->exec, self.graph, free_on_launch);
    made->graphs.push_back(nb::borrow(object));
    return nb::cast(made.release(), nb::rv_policy::take_ownership);
}

std::vector<Handle> nodes_of(const Graph& self) {
    size_t count = 0;
    if (self.graph == nullptr) return {};
    Device& device = *self.stream->device;
    const Guard guard(device);
    GPU_CALL(device, graph_nodes, self.graph, nullptr, &count);
    std::vector<Handle> nodes(count);
    if (count != 0) GPU_CALL(device, graph_nodes, self.graph, nodes.data(), &count);
    return nodes;
}

PyObject* launch(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    return guarded([&]() -> PyObject* {
        const auto& self = *nb::inst_ptr<GraphExec>(object);
        Device& device = *self.device;
        const Py_ssize_t given = count + (names == nullptr ? 0 : PyTuple_GET_SIZE(names));
        if (given > 1) throw nb::type_error("A graph is launched on one stream.");
        const bool elsewhere = given == 1 && args[0] != Py_None;
        const StreamRef other = elsewhere ? stream_from(args[0], &device) : nullptr;
        const StreamRef& on = elsewhere ? other : current_stream(device);
        const Guard guard(device);
        GPU_CALL(device, graph_launch, self.exec, on->ptr);
        if (on->graph != nullptr) keep_for_capture(*on, object);
        Py_RETURN_NONE;
    });
}

PyMethodDef exec_methods[] = {
    fast_method("launch", launch, METH_FASTCALL | METH_KEYWORDS,
                "Launch it on a stream, the current one if none is given."),
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot exec_slots[] = {{Py_tp_methods, exec_methods}, {0, nullptr}};

void upload(const GraphExec& self, nb::handle stream) {
    const StreamRef on = stream_from(stream, self.device);
    const Guard guard(*self.device);
    GPU_CALL(*self.device, graph_upload, self.exec, on->ptr);
}

// --- updates -----------------------------------------------------------------------------------

struct Move {
    Address from;
    size_t size;
    Address to;
};

std::pair<Address, size_t> range_of(nb::handle given) {
    if (const Buffer* buffer = as_buffer(given.ptr())) return {buffer->address, buffer->size};
    if (const Array* array = as_array(given.ptr())) {
        size_t bytes = array->type.size();
        for (int i = 0; i < array->axes; ++i) {
            if (array->strides[i] < 0) throw nb::value_error("An array with negative strides cannot move.");
            bytes += static_cast<size_t>((array->shape[i] - 1) * array->strides[i]);
        }
        return {array->address, bytes};
    }
    throw nb::type_error("A graph is updated from buffers to buffers, or from arrays to arrays.");
}

std::vector<Move> moves_of(const nb::dict& mapping) {
    std::vector<Move> moves;
    for (const auto [from, to] : mapping) {
        const auto [old_address, old_size] = range_of(from);
        const auto [address, size] = range_of(to);
        if (size < old_size) throw nb::value_error("The new memory is smaller than the old.");
        moves.push_back({old_address, old_size, address});
    }
    return moves;
}

std::vector<size_t> sizes_of(Device& device, const KernelNode& node) {
    if (device.driver->vendor == Vendor::null) {
        const auto* list = reinterpret_cast<const ArgumentList*>(node.extra);
        return {list->sizes, list->sizes + list->count};
    }
    std::vector<size_t> sizes;
    size_t offset = 0, size = 0;
    while (true) {
        const Result result = device.driver->kernel_parameter(node.function, sizes.size(), &offset, &size);
        if (result == invalid_value) return sizes;  // there are no more
        if (result != success) fail(device, result, Entry::kernel_parameter);
        sizes.push_back(size);
    }
}

void move_pointers(GraphExec& self, Handle node, const std::vector<Move>& moves) {
    Device& device = *self.device;
    KernelNode params{};
    GPU_CALL(device, node_kernel_get, node, &params);
    const std::vector<size_t> sizes = sizes_of(device, params);
    std::vector<Address> values(sizes.size());
    std::vector<void*> pointers(params.params, params.params + sizes.size());
    bool changed = false;
    for (size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] != sizeof(Address)) continue;
        std::memcpy(&values[i], params.params[i], sizeof(Address));
        for (const Move& move : moves) {
            if (values[i] < move.from || values[i] >= move.from + move.size) continue;
            values[i] = values[i] - move.from + move.to;
            pointers[i] = &values[i];
            changed = true;
            break;
        }
    }
    if (!changed) return;
    params.params = pointers.data();
    params.extra = nullptr;
    GPU_CALL(device, exec_kernel_set, self.exec, node, &params);
}

void update(nb::handle object, nb::handle given) {
    auto& self = nb::cast<GraphExec&>(object);
    Device& device = *self.device;
    const Guard guard(device);
    if (nb::isinstance<Graph>(given)) {
        const auto& graph = nb::cast<Graph&>(given);
        if (graph.graph == nullptr) throw nb::value_error("The graph has not been captured.");
        GPU_CALL(device, exec_update, self.exec, graph.graph);
        self.graphs.assign(1, nb::borrow(given));
        return;
    }
    const nb::dict mapping = nb::cast<nb::dict>(given);
    const auto& graph = nb::cast<Graph&>(self.graphs.front());
    const std::vector<Move> moves = moves_of(mapping);
    std::vector<Handle> kernels;
    for (const Handle node : nodes_of(graph)) {
        int type = 0;
        GPU_CALL(device, node_type, node, &type);
        if (type == node_kernel) kernels.push_back(node);
        else if (type == 1 || type == 2) {
            throw nb::value_error("The graph copies or fills memory: capture it again, and give 'update' "
                                  "the new graph.");
        }
    }
    for (const Handle node : kernels) move_pointers(self, node, moves);
    self.graphs.push_back(nb::borrow(given));
}

}  // namespace

void keep_for_capture(const StreamHandle& stream, PyObject* object) {
    if (stream.graph == nullptr) return;
    nb::inst_ptr<Graph>(stream.graph)->kept.push_back(nb::borrow(object));
}

void add_graphs(nb::module_& module) {
    nb::class_<Graph>(module, "Graph", nb::is_weak_referenceable())
        .def("__enter__", enter)
        .def("__exit__", leave, nb::arg("type").none(), nb::arg("value").none(), nb::arg("trace").none())
        .def("instantiate", instantiate)
        .def_prop_ro("nodes", [](const Graph& self) { return nodes_of(self).size(); })
        .def_prop_ro("device", [](const Graph& self) { return device_object(*self.stream->device); })
        .def_prop_ro("ptr", [](const Graph& self) { return reinterpret_cast<uintptr_t>(self.graph); });
    nb::object stream = module.attr("Stream");
    stream.attr("capture") = nb::cpp_function(capture, nb::name("capture"), nb::scope(stream), nb::is_method(),
                                              nb::arg("mode") = "thread_local");
    nb::class_<GraphExec>(module, "GraphExec", nb::is_weak_referenceable(), nb::type_slots(exec_slots))
        .def("upload", upload, nb::arg("stream") = nb::none())
        .def("update", update, nb::arg("graph_or_mapping"))
        .def_prop_ro("device", [](const GraphExec& self) { return device_object(*self.device); })
        .def_prop_ro("ptr", [](const GraphExec& self) { return reinterpret_cast<uintptr_t>(self.exec); });
}

}  // namespace fieldforge::gpu
