// Libraries with host code of their own, as DaCe writes it: the entry point queues the kernels.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "../execution.h"
#include "call_status.h"
#include "launch_plan.h"
#include "objects.h"
#include "program_device.h"
#include "watching.h"

namespace fieldforge::gpu {

namespace {

const char* platform_of(int32_t device) {
    switch (device) {
        case device_cuda: return "cuda";
        case device_rocm: return "hip";
        case device_null: return "null";
        default: return nullptr;
    }
}

class EntryWork final : public Work {
   public:
    EntryWork(std::string program, const char* platform, std::vector<int32_t> codes,
              EntryPoint address)
        : program_(std::move(program)), platform_(platform), codes_(std::move(codes)),
          address_(address) {}

    int32_t run(const Words& words, std::byte* arena, const Context& context) noexcept override {
        try {
            return call(words, arena, context);
        } catch (const Failure& failure) {
            keep_failure(failure);
        } catch (const std::exception& error) {
            Failure failure;
            failure.text = error.what();
            keep_failure(failure);
        }
        return work_failed;
    }

   private:
    int32_t call(const Words& words, std::byte* arena, const Context& context) const {
        Device& device = device_at(platform_named(platform_), context.device_id);
        const Guard guard(device);  // the vendor's runtime follows the current context
        Context own = context;
        // Without a stream there, this says again why there is none.
        if (own.stream == nullptr) own.stream = current_stream(device)->ptr;
        const Range range(program_.c_str());
        Stopwatch stopwatch(device, own.stream);
        Address status = 0;
        if (!codes_.empty()) {
            status = new_status(device, codes_, own.stream);
            own.status = reinterpret_cast<int32_t*>(status);
        }
        const int32_t result =
            address_(words.pointers, words.ints, words.scalars, arena, &own);
        // The errors of the vendors' runtimes have the numbers of their drivers.
        if (result != 0) fail(device, static_cast<Result>(result), Entry::launch, label());
        stopwatch.stop();
        if (status != 0) return wait_for_status(device, status, codes_, own.stream);
        if (waits_for_kernels.load(std::memory_order_relaxed) && !is_capturing(device, own.stream)) {
            GPU_CALL_ON(device, label(), stream_sync, own.stream);
        }
        return 0;
    }

    std::string label() const { return "program '" + program_ + "'"; }

    const std::string program_;
    const char* const platform_;
    const std::vector<int32_t> codes_;
    const EntryPoint address_;
};

}  // namespace

std::unique_ptr<Work> make_entry_work(PyObject* plan, EntryPoint address) {
    const nb::handle given(plan);
    const auto type = nb::cast<int32_t>(nb::object(given.attr("device")));
    const char* platform = platform_of(type);
    if (platform == nullptr || address == nullptr) return nullptr;
    add_program_device(type);
    std::vector<int32_t> codes;
    for (nb::handle code : nb::object(given.attr("codes"))) codes.push_back(nb::cast<int32_t>(code));
    return std::make_unique<EntryWork>(nb::cast<std::string>(nb::object(given.attr("program"))),
                                       platform, std::move(codes), address);
}

}  // namespace fieldforge::gpu
