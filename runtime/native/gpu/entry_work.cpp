// Libraries with host code of their own, as DaCe writes it: the entry point queues the kernels.
#include <dlfcn.h>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "../execution.h"
#include "call_status.h"
#include "launch_plan.h"
#include "null.h"
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

// How many words of each kind a call has.
struct WordCounts {
    size_t pointers = 0, ints = 0, scalars = 0;
};

WordCounts count_words(nb::handle plan) {
    WordCounts counts{0, nb::len(nb::object(plan.attr("ints"))), 0};
    for (nb::handle argument : nb::object(plan.attr("arguments"))) {
        const auto kind = nb::cast<std::string>(nb::object(argument.attr("kind")));
        ++(kind == "scalar" ? counts.scalars : counts.pointers);
    }
    return counts;
}

// A graph may run after the program that it recorded is gone.
void keep_loaded(EntryPoint address) {
    Dl_info found;
    if (dladdr(reinterpret_cast<void*>(address), &found) == 0) return;
    dlopen(found.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

class EntryWork final : public Work {
   public:
    EntryWork(std::string program, const char* platform, std::vector<int32_t> codes,
              const WordCounts& counts, EntryPoint address)
        : program_(std::move(program)), platform_(platform), codes_(std::move(codes)),
          counts_(counts), address_(address) {}

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
        if (is_capturing(device, own.stream)) keep_loaded(address_);
        const Range range(program_.c_str());
        Stopwatch stopwatch(device, own.stream);
        Address status = 0;
        if (!codes_.empty()) {
            status = new_status(device, codes_, own.stream);
            own.status = reinterpret_cast<int32_t*>(status);
        }
        // The errors of the vendors' runtimes have the numbers of their drivers.
        const Result result =
            device.driver->vendor == Vendor::null
                ? submit(words, arena, own)
                : static_cast<Result>(
                      address_(words.pointers, words.ints, words.scalars, arena, &own));
        if (result != success) fail(device, result, Entry::launch, label());
        stopwatch.stop();
        if (status != 0) return wait_for_status(device, status, codes_, own.stream);
        if (waits_for_kernels.load(std::memory_order_relaxed) && !is_capturing(device, own.stream)) {
            GPU_CALL_ON(device, label(), stream_sync, own.stream);
        }
        return 0;
    }

    // Kernels that run on the host are no launches which a stream sees: the call is its work, with
    // the words as they are now, because a capture runs it later.
    Result submit(const Words& words, std::byte* arena, const Context& context) const {
        const auto* scalars = static_cast<const uint64_t*>(words.scalars);
        return null::submit_host_work(
            context.stream,
            [address = address_, arena, context,
             pointers = std::vector(words.pointers, words.pointers + counts_.pointers),
             ints = std::vector(words.ints, words.ints + counts_.ints),
             scalars = std::vector(scalars, scalars + counts_.scalars)] {
                return static_cast<Result>(
                    address(pointers.data(), ints.data(), scalars.data(), arena, &context));
            });
    }

    std::string label() const { return "program '" + program_ + "'"; }

    const std::string program_;
    const char* const platform_;
    const std::vector<int32_t> codes_;
    const WordCounts counts_;
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
                                       platform, std::move(codes), count_words(given), address);
}

}  // namespace fieldforge::gpu
