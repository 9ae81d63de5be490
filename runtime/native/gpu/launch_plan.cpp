// Reads the launches of a plan, and queues them on the current stream of a device at each call.
#include "launch_plan.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <array>
#include <atomic>
#include <cstring>
#include <optional>

#include "../execution.h"
#include "../work.h"
#include "objects.h"
#include "program_device.h"
#include "watching.h"

namespace fieldforge {
namespace gpu {
namespace {

thread_local std::optional<Failure> kept;

[[noreturn]] void refuse(const std::string& what) {
    throw std::invalid_argument("The argument plan is not well-formed: " + what + ".");
}

template <typename Value>
Value get(nb::handle object, const char* name) {
    return nb::cast<Value>(object.attr(name));
}

// --- from Python ---------------------------------------------------------------------------------

// The sizes of the scalars in their order.
std::vector<uint16_t> scalar_sizes(nb::handle plan) {
    std::vector<uint16_t> sizes;
    for (nb::handle argument : nb::object(plan.attr("arguments"))) {
        if (get<std::string>(argument, "kind") != "scalar") continue;
        const auto dtype = get<std::string>(argument, "dtype");
        const bool wide = dtype.ends_with("64"), half = dtype.ends_with("16");
        const bool byte = dtype == "bool" || dtype.ends_with("t8");
        sizes.push_back(wide ? 8 : half ? 2 : byte ? 1 : 4);
    }
    return sizes;
}

int32_t checked(int64_t place, size_t count, const char* what) {
    if (place < 0 || static_cast<size_t>(place) >= count) {
        refuse(std::string(what) + " " + std::to_string(place) + " has no such number");
    }
    return static_cast<int32_t>(place);
}

struct Counts {
    size_t pointers, ints;
    std::vector<uint16_t> scalars;
};

void add_argument(PlannedLaunch& to, const std::string& kind, int64_t place, const Counts& counts) {
    using Kind = PlannedArgument::Kind;
    constexpr uint32_t word = sizeof(int64_t);
    const auto argument = static_cast<uint32_t>(to.arguments.size());
    const auto found = [&](Kind from, size_t count, const char* what) {
        to.arguments.push_back({from, word * static_cast<uint32_t>(checked(place, count, what))});
    };
    uint16_t size = word;
    if (kind == "pointer") {
        found(Kind::pointer, counts.pointers, "pointer");
    } else if (kind == "int") {
        found(Kind::integer, counts.ints, "integer");
    } else if (kind == "scalar") {
        found(Kind::scalar, counts.scalars.size(), "scalar");
        size = counts.scalars[place];
    } else if (kind == "slot" || kind == "status") {
        const int32_t from = kind == "slot" ? checked(place, counts.ints, "integer") : -1;
        to.made.push_back({argument, from});
        to.arguments.push_back({Kind::made, word * argument});
    } else {
        refuse("unknown kind of argument '" + kind + "' of a kernel");
    }
    to.sizes.push_back(size);
    to.kinds.push_back('q');  // pointers are those of index 0, which may lie outside of their memory
}

PlannedLaunch read_launch(nb::handle given, const Counts& counts) {
    PlannedLaunch made;
    made.kernel = get<std::string>(given, "kernel");
    made.shared = get<unsigned>(given, "shared");
    made.version = get<int32_t>(given, "version");
    made.needed = get<int32_t>(given, "needed");
    if (made.needed >= 0) checked(made.needed, counts.ints, "integer");
    made.step = get<int32_t>(given, "step");
    for (int axis = 0; axis < 3; ++axis) {
        const nb::object blocks = given.attr("blocks"), threads = given.attr("threads");
        made.blocks[axis] = checked(nb::cast<int64_t>(blocks[axis]), counts.ints, "integer");
        made.threads[axis] = nb::cast<unsigned>(threads[axis]);
    }
    for (nb::handle row : nb::object(given.attr("arguments"))) {
        add_argument(made, nb::cast<std::string>(row[0]), nb::cast<int64_t>(row[1]), counts);
    }
    return made;
}

LaunchPlan read(nb::handle plan) {
    LaunchPlan made;
    made.program = get<std::string>(plan, "program");
    made.platform = get<std::string>(plan, "platform");
    made.on_host = get<int>(plan, "device") == device_host;
    Counts counts{0, nb::len(nb::object(plan.attr("ints"))), scalar_sizes(plan)};
    counts.pointers = nb::len(nb::object(plan.attr("arguments"))) - counts.scalars.size();
    for (nb::handle launch : nb::object(plan.attr("launches"))) {
        made.launches.push_back(read_launch(launch, counts));
        made.most_arguments = std::max(made.most_arguments, made.launches.back().arguments.size());
    }
    made.clamped = get<int32_t>(plan, "clamped");
    made.stepped = get<int32_t>(plan, "stepped");
    for (const int32_t place : {made.clamped, made.stepped}) {
        if (place >= 0) checked(place, counts.ints, "integer");
    }
    for (nb::handle status : nb::object(plan.attr("statuses"))) {
        if (get<std::string>(status, "kind") == "beyond") made.beyond = get<int32_t>(status, "code");
    }
    for (nb::handle code : nb::object(plan.attr("codes"))) {
        made.codes.push_back(nb::cast<int32_t>(code));
    }
    return made;
}

// --- calls ---------------------------------------------------------------------------------------

// A module for one architecture.
struct Image {
    std::string arch, bytes;
    Image(std::string arch, const char* data, Py_ssize_t size)
        : arch(std::move(arch)), bytes(data, static_cast<size_t>(size)) {}
};
using Images = std::vector<Image>;

// Whether a device of architecture `own` runs a module for `made`: NVIDIA's devices run what was
// compiled for an earlier one of the same generation, the digits but the last.
bool runs(const std::string& own, const std::string& made) {
    if (own == made) return true;
    const size_t head = own.size() - 1;
    return own.starts_with("sm_") && own.size() == made.size() &&
           own.compare(0, head, made, 0, head) == 0 && made.back() <= own.back();
}

// A module on one device, loaded at the first call there and kept until the process ends: a call
// that returned may still run.
struct Loaded {
    Handle module = nullptr;
    std::vector<Handle> functions;
};

constexpr int most_devices = 64;

class Kernels final : public Work {
   public:
    Kernels(LaunchPlan plan, Images images) : plan_(std::move(plan)), images_(std::move(images)) {}

    ~Kernels() override {
        for (int i = 0; i < most_devices; ++i) {
            const Loaded* loaded = loaded_[i].load(std::memory_order_relaxed);
            if (loaded == nullptr) continue;
            // Unloading would wait for the device; kernels that were queued need their code.
            delete loaded;
        }
    }

    int32_t run(const Words& words, std::byte* arena, const Context& context) noexcept override {
        try {
            return launch(words, arena, context);
        } catch (const Failure& failure) {
            kept = failure;
        } catch (const std::exception& error) {
            kept.emplace();
            kept->text = error.what();
        }
        return work_failed;
    }

   private:
    Platform& platform() {
        Platform* found = platform_.load(std::memory_order_acquire);
        if (found == nullptr) platform_.store(found = &platform_named(plan_.platform));
        return *found;
    }

    const std::string& image_for(Device& device) {
        char own[64] = "";
        GPU_CALL(device, device_arch, own, sizeof own, device.handle);
        const Image* found = nullptr;
        std::string archs;
        for (const Image& image : images_) {
            if (runs(own, image.arch) && (found == nullptr || found->arch < image.arch)) found = &image;
            archs += (archs.empty() ? "'" : ", '") + image.arch + "'";
        }
        if (found != nullptr) return found->bytes;
        Failure failure;
        failure.text = "The program was compiled for " + archs + ", and '" + device.label() + "' is '" +
                       own + "': name its architecture in the target of the backend.";
        throw failure;
    }

    const Loaded& on(Device& device) {
        std::atomic<Loaded*>& place = loaded_[device.index % most_devices];
        Loaded* found = place.load(std::memory_order_acquire);
        if (found != nullptr) return *found;
        const std::lock_guard<std::mutex> lock(mutex_);
        found = place.load(std::memory_order_acquire);
        if (found != nullptr) return *found;
        auto made = std::make_unique<Loaded>();
        GPU_CALL(device, module_load, &made->module, image_for(device).c_str());
        for (const PlannedLaunch& each : plan_.launches) {
            Handle function = nullptr;
            GPU_CALL_ON(device, "kernel '" + each.kernel + "'", module_function, &function,
                        made->module, each.kernel.c_str());
            constexpr unsigned always_allowed = 48 << 10;
            constexpr int attribute_dynamic_shared = 8;
            if (each.shared > always_allowed) {
                GPU_CALL_ON(device, "kernel '" + each.kernel + "'", kernel_set, function,
                            attribute_dynamic_shared, static_cast<int>(each.shared));
            }
            made->functions.push_back(function);
        }
        found = made.release();
        place.store(found, std::memory_order_release);
        return *found;
    }

    int32_t launch(const Words& words, std::byte* arena, const Context& context) {
        const int64_t version = plan_.clamped < 0 ? 0 : words.ints[plan_.clamped];
        if (version != 0 && plan_.beyond != 0) return plan_.beyond;
        const int64_t step = plan_.stepped < 0 ? 0 : words.ints[plan_.stepped];
        Platform& platform = this->platform();
        Device& device = plan_.on_host ? at_hand(platform) : device_at(platform, context.device_id);
        const Guard guard(device);
        const Loaded& loaded = on(device);
        // Without a stream there, this says again why there is none.
        const Handle stream = plan_.on_host || context.stream == nullptr
                                  ? current_stream(device)->ptr : context.stream;
        const Range range(plan_.program.c_str());
        Stopwatch stopwatch(device, stream);
        Address status = 0;
        if (!plan_.codes.empty()) {
            GPU_CALL(device, alloc_async, &status, sizeof(int32_t), stream);
            GPU_CALL(device, fill32_async, status, static_cast<unsigned>(plan_.codes.size()), 1,
                     stream);
        }
        std::array<Address, 64> few;
        std::array<void*, 64> few_params;
        std::vector<Address> many;
        std::vector<void*> many_params;
        Address* values = few.data();
        void** params = few_params.data();
        if (plan_.most_arguments > few.size()) {
            many.resize(plan_.most_arguments);
            many_params.resize(plan_.most_arguments);
            values = many.data(), params = many_params.data();
        }
        for (size_t i = 0; i < plan_.launches.size(); ++i) {
            const int32_t wanted = plan_.launches[i].version;
            if (wanted >= 0 && wanted != version) continue;
            if (step != 0 && plan_.launches[i].step != step) continue;
            queue(device, plan_.launches[i], loaded.functions[i], words, arena, status,
                  stream, values, params);
        }
        stopwatch.stop();
        if (status != 0) return wait_for(device, status, stream);
        if (plan_.on_host) GPU_CALL(device, stream_sync, stream);
        return 0;
    }

    void queue(Device& device, const PlannedLaunch& each, Handle function, const Words& words,
               std::byte* arena, Address status, Handle stream, Address* values,
               void** params) const {
        unsigned blocks[3];
        for (int axis = 0; axis < 3; ++axis) {
            const int64_t count = words.ints[each.blocks[axis]];
            if (count <= 0) return;
            blocks[axis] = static_cast<unsigned>(count);
        }
        const auto of = [](const void* words) {
            return static_cast<char*>(const_cast<void*>(words));
        };
        // In the order of their kinds.
        char* const from[] = {of(words.pointers), of(words.ints), of(words.scalars), of(values)};
        const size_t count = each.arguments.size();
        for (size_t i = 0; i < count; ++i) {
            const auto [kind, offset] = each.arguments[i];
            params[i] = from[static_cast<uint32_t>(kind)] + offset;
        }
        for (const auto [argument, place] : each.made) {
            values[argument] = place < 0 ? status
                                         : reinterpret_cast<Address>(arena) +
                                               static_cast<Address>(words.ints[place]);
        }
        const ArgumentList list{static_cast<unsigned>(count), each.sizes.data(), each.kinds.data()};
        void** extra = device.driver->vendor == Vendor::null
                           ? reinterpret_cast<void**>(const_cast<ArgumentList*>(&list))
                           : nullptr;
        const auto& t = each.threads;
        const unsigned shared = each.needed < 0 ? each.shared
                                                : static_cast<unsigned>(words.ints[each.needed]);
        const Result result =
            device.driver->launch(function, blocks[0], blocks[1], blocks[2], t[0], t[1], t[2],
                                  shared, stream, params, extra);
        if (result != success) [[unlikely]] {
            fail(device, result, gpu::Entry::launch, label(each));
        }
        if (waits_for_kernels.load(std::memory_order_relaxed) && !is_capturing(device, stream)) {
            GPU_CALL_ON(device, label(each), stream_sync, stream);
        }
    }

    std::string label(const PlannedLaunch& each) const {
        return "kernel '" + each.kernel + "' of program '" + plan_.program + "'";
    }

    // A checked call waits for its kernels.
    int32_t wait_for(Device& device, Address status, Handle stream) {
        int32_t first = 0;
        GPU_CALL(device, copy_async, reinterpret_cast<Address>(&first), status, sizeof first, stream);
        GPU_CALL(device, free_async, status, stream);
        GPU_CALL(device, stream_sync, stream);
        return static_cast<size_t>(first) < plan_.codes.size() ? plan_.codes[first] : 0;
    }

    std::atomic<Platform*> platform_{nullptr};  // found at the first call
    const LaunchPlan plan_;
    const Images images_;
    std::mutex mutex_;
    std::array<std::atomic<Loaded*>, most_devices> loaded_{};
};

}  // namespace

void keep_failure(const Failure& failure) { kept = failure; }

}  // namespace gpu

void raise_failure() {
    if (!gpu::kept) return;
    gpu::set_python_error(*gpu::kept);
    gpu::kept.reset();
}

std::unique_ptr<Work> make_work(PyObject* plan, PyObject* image, EntryPoint address) {
    if (nanobind::len(nanobind::object(nanobind::handle(plan).attr("launches"))) == 0 &&
        nanobind::cast<std::string>(nanobind::object(nanobind::handle(plan).attr("platform"))).empty()) {
        return gpu::make_entry_work(plan, address);
    }
    if (!PyTuple_Check(image)) gpu::refuse("the modules of its kernels are not given as a tuple");
    gpu::add_program_device(nanobind::cast<int32_t>(nanobind::object(nanobind::handle(plan).attr("device"))));
    gpu::Images images;
    for (nanobind::handle row : nanobind::handle(image)) {
        const nanobind::object bytes = row[1];
        images.emplace_back(nanobind::cast<std::string>(nanobind::object(row[0])),
                            nanobind::cast<nanobind::bytes>(bytes).c_str(),
                            PyBytes_GET_SIZE(bytes.ptr()));
    }
    return std::make_unique<gpu::Kernels>(gpu::read(plan), std::move(images));
}

}  // namespace fieldforge
