// The clock is read around each run: a run of interpreted work takes far longer than that.
#include "first_tier.h"

#include <algorithm>
#include <chrono>

#include "execution.h"
#include "held.h"
#include "interpreter_lock.h"

namespace fieldforge {
namespace {

constexpr double per_second = 1e9;
constexpr double longest = 1e9;  // seconds, so that twice as much is a number of nanoseconds

void call(PyObject* ask) {
    const LockTaken taken;
    const Held answer(PyObject_CallNoArgs(ask));
    if (answer) return;
    if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
        PyErr_Clear();
        PyErr_SetInterrupt();  // Ctrl-C is meant for the caller
    } else {
        PyErr_WriteUnraisable(ask);
    }
}

}  // namespace

FirstTier::FirstTier(std::unique_ptr<Work> work, PyObject* ask, double after)
    : work_(std::move(work)),
      ask_(ask),
      due_(static_cast<Nanoseconds>(std::clamp(after, 0.0, longest) * per_second)) {}

int32_t FirstTier::run(const Words& words, std::byte* arena, const Context& context) noexcept {
    const auto began = std::chrono::steady_clock::now();
    const int32_t status = work_->run(words, arena, context);
    const Nanoseconds took = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                 std::chrono::steady_clock::now() - began)
                                 .count();
    if (words.steps == 0 || *words.step == 1) calls_.fetch_add(1, std::memory_order_relaxed);
    const Nanoseconds ran = ran_.fetch_add(took, std::memory_order_relaxed) + took;
    Nanoseconds due = due_.load(std::memory_order_relaxed);
    if (ran >= due && due_.compare_exchange_strong(due, 2 * ran)) call(ask_);
    return status;
}

double FirstTier::seconds() const {
    return static_cast<double>(ran_.load(std::memory_order_relaxed)) / per_second;
}

}  // namespace fieldforge
