// Queues the kernels of a program on the current stream of a device, at each call.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <array>
#include <atomic>
#include <optional>

#include "../execution.h"
#include "../plan_code.h"
#include "../work.h"
#include "call_status.h"
#include "launch_plan.h"
#include "objects.h"
#include "program_device.h"
#include "watching.h"

namespace fieldforge {
namespace gpu {
namespace {

thread_local std::optional<Failure> kept;

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
        const Address status = plan_.codes.empty() ? 0 : new_status(device, plan_.codes, stream);
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
        std::array<int64_t, most_repeats> indices;
        const auto queued = [&](size_t place) {
            const PlannedLaunch& each = plan_.launches[place];
            if (each.version >= 0 && each.version != version) return;
            if (step != 0 && each.step != step) return;
            queue(device, each, loaded.functions[place], words, arena, status, stream, values, params,
                  indices.data());
        };
        run_steps(plan_.steps, words, indices.data(), queued);
        stopwatch.stop();
        if (status != 0) return wait_for_status(device, status, plan_.codes, stream);
        if (plan_.on_host) GPU_CALL(device, stream_sync, stream);
        return 0;
    }

    // Queues launches in order; `index` is where that of the next repeat lies.
    template <typename Queue>
    static void run_steps(const std::vector<PlannedStep>& steps, const Words& words, int64_t* index,
                          const Queue& queue) {
        for (const PlannedStep& each : steps) {
            if (each.steps.empty()) {
                queue(each.launch);
                continue;
            }
            const int64_t start = words.ints[each.start], stop = words.ints[each.stop];
            for (int64_t i = start; i < stop; ++i) {
                *index = each.backward ? stop - 1 - (i - start) : i;
                run_steps(each.steps, words, index + 1, queue);
            }
        }
    }

    void queue(Device& device, const PlannedLaunch& each, Handle function, const Words& words,
               std::byte* arena, Address status, Handle stream, Address* values, void** params,
               const int64_t* indices) const {
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
        char* const from[] = {of(words.pointers), of(words.ints), of(words.scalars), of(values),
                              of(indices)};
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
    if (!PyTuple_Check(image)) refuse_plan("the modules of its kernels are not given as a tuple");
    gpu::add_program_device(nanobind::cast<int32_t>(nanobind::object(nanobind::handle(plan).attr("device"))));
    gpu::Images images;
    for (nanobind::handle row : nanobind::handle(image)) {
        const nanobind::object bytes = row[1];
        images.emplace_back(nanobind::cast<std::string>(nanobind::object(row[0])),
                            nanobind::cast<nanobind::bytes>(bytes).c_str(),
                            PyBytes_GET_SIZE(bytes.ptr()));
    }
    return std::make_unique<gpu::Kernels>(gpu::read_launches(plan), std::move(images));
}

}  // namespace fieldforge
