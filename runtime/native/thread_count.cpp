// The rule of `thread_count.h`, and the processors that a process may use.
#include "thread_count.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "wishes.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace fieldforge {
namespace {

constexpr long most_threads = 1 << 16;

// The first number of a list such as "4,2"; 0 where there is none.
int number_in(const char* variable) {
    const char* text = std::getenv(variable);
    const long number = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
    return number > 0 ? static_cast<int>(std::min(number, most_threads)) : 0;
}

int allowed_processors() {
#if defined(__linux__)
    constexpr int most = 8192;
    cpu_set_t* set = CPU_ALLOC(most);
    const size_t size = CPU_ALLOC_SIZE(most);
    const int count =
        set != nullptr && sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
    if (set != nullptr) CPU_FREE(set);
    if (count > 0) return count;
#endif
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

// The processors' worth of time that a container gets, rounded up; all where it has no limit.
int granted_processors() {
    double quota = 0, period = 0;
    if (std::FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "re")) {
        if (std::fscanf(file, "%lf %lf", &quota, &period) != 2) quota = 0;
        std::fclose(file);
    }
    const double count = period > 0 ? quota / period : 0;
    if (!(count > 0) || count > most_threads) return most_threads;
    return std::max(1, static_cast<int>(count + 0.999));
}

int count_threads() {
    const int asked = number_in("OMP_NUM_THREADS");
    const int count = asked > 0 ? asked : std::min(allowed_processors(), granted_processors());
    const int limit = number_in("OMP_THREAD_LIMIT");
    return limit > 0 ? std::min(count, limit) : count;
}

}  // namespace

int default_threads() noexcept {
    static std::atomic<int> known{0};
    int count = known.load(std::memory_order_relaxed);
    if (count == 0) {
        count = count_threads();
        known.store(count, std::memory_order_relaxed);
    }
    return count;
}

int threads_of_call(int of_backend) noexcept {
    if (wishes.threads > 0) return wishes.threads;
    return of_backend > 0 ? of_backend : default_threads();
}

}  // namespace fieldforge
