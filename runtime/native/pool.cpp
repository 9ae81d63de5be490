// Workers spin for some microseconds and then sleep; a call wakes them where that pays.
#include "pool.h"

#include <pthread.h>
#include <signal.h>

#include <mutex>
#include <new>

#include "futex.h"
#include "worker.h"

namespace fieldforge {
namespace {

constexpr int64_t spin = 50'000;         // nanoseconds for which a worker looks for the next job
constexpr int64_t patience = 20'000;     // for which a caller looks whether its workers are done
constexpr int64_t gap = 100'000;         // who does not run for so long shares his core
constexpr int64_t worth_waking = 1 << 17;  // points of a loop
constexpr int64_t long_enough = 60'000;  // of a loop on one thread, so that it wakes workers
constexpr int64_t longest_pause = 20'000'000;
constexpr int64_t longest_quiet = 64'000'000;
constexpr int few_jobs = 4;
constexpr int fan_out = 4;  // so many workers are woken by one thread

class Pool {
   public:
    void run(int64_t count, int wanted, int64_t points, LoopBody body, void* data) noexcept;
    int size() const { return size_.load(std::memory_order_acquire); }

   private:
    static void* live(void* pool);
    bool take(Job& job, int wanted, int64_t points, LoopBody body, int64_t& began);
    void grow(int wanted);
    void give_back(Job& job);
    void await(Worker& worker);
    bool may_try(int64_t now) const;
    bool is_long(LoopBody body) { return place_of(body).load(std::memory_order_relaxed) == body; }
    void remember(LoopBody body, int64_t nanoseconds);
    std::atomic<LoopBody>& place_of(LoopBody body);
    void wait_for_job(Worker& me, int& jobs);
    void note_sleep(int jobs);
    void note_miss();
    void note_busy();
    bool is_quiet(int64_t now) const { return now < quiet_until_.load(std::memory_order_relaxed); }
    int64_t spun(std::atomic<uint32_t>& state, uint32_t while_state, int64_t limit);

    Worker workers_[most_workers];
    std::atomic<uint64_t> free_[(most_workers + 63) / 64] = {};
    std::atomic<int> size_{0};
    std::mutex growing_;
    // Small loops leave sleeping workers alone until then; the pause doubles while waking is useless.
    std::atomic<int64_t> wake_at_{0}, pause_{0};
    // Other programs use the cores: until then nobody spins.
    std::atomic<int64_t> quiet_until_{0}, quiet_{0};
    std::atomic<int> misses_{0};
    std::atomic<LoopBody> long_[256] = {};
};

std::atomic<Pool*> current{nullptr};

// The threads stayed in the parent. Another thread may have held the lock, so the child starts anew.
void after_fork_in_child() { current.store(nullptr, std::memory_order_release); }

Pool* the_pool() noexcept {
    Pool* pool = current.load(std::memory_order_acquire);
    if (pool != nullptr) return pool;
    static const bool is_registered = pthread_atfork(nullptr, nullptr, after_fork_in_child) == 0;
    Pool* made = is_registered ? new (std::nothrow) Pool : nullptr;
    if (made == nullptr || current.compare_exchange_strong(pool, made)) return made;
    delete made;
    return pool;
}

// --- callers ------------------------------------------------------------------------------------

// Wakes members that sleep. Each of those wakes the next few.
void wake_next(Job& job, int place) {
    const int first = place * fan_out + 1;
    for (int next = first; next < first + fan_out && next < job.members; ++next) {
        std::atomic<uint32_t>& state = job.workers[next]->state;
        uint32_t seen = unwoken;
        if (state.compare_exchange_strong(seen, woken, std::memory_order_acq_rel)) wake(state);
    }
}

void Pool::run(int64_t count, int wanted, int64_t points, LoopBody body, void* data) noexcept {
    Job job;
    int64_t began = 0;  // stays 0 if no worker sleeps
    const bool wakes = take(job, wanted, points, body, began);
    if (job.members == 1) {
        body(data, 0, count, 0);
        if (began != 0) remember(body, now_ns() - began);
        return;
    }
    job.body = body;
    job.data = data;
    job.divide(count);
    for (int place = 1; place < job.members; ++place) {
        Worker& worker = *job.workers[place];
        worker.job = &job;
        worker.place = place;
        worker.state.fetch_or(with_job, std::memory_order_acq_rel);
    }
    if (wakes) wake_next(job, 0);
    job.work(0);
    give_back(job);
    if (began != 0) remember(body, (now_ns() - began) * job.members);
}

// Takes free workers, those that sleep only where waking pays. Tells whether some sleep.
bool Pool::take(Job& job, int wanted, int64_t points, LoopBody body, int64_t& began) {
    if (size() < wanted - 1) grow(wanted - 1);
    bool is_decided = false, wakes = false;
    for (size_t word = 0; word < std::size(free_) && job.members < wanted; ++word) {
        uint64_t left = free_[word].load(std::memory_order_relaxed);
        for (; left != 0 && job.members < wanted; left &= left - 1) {
            Worker& worker = workers_[word * 64 + __builtin_ctzll(left)];
            if (worker.state.load(std::memory_order_relaxed) == asleep) {
                if (!is_decided) {
                    began = now_ns();
                    wakes = points >= worth_waking || is_long(body) || may_try(began);
                    is_decided = true;
                }
                if (!wakes) continue;
            }
            const uint64_t bit = left & -left;
            const uint64_t before = free_[word].fetch_and(~bit, std::memory_order_acquire);
            if ((before & bit) != 0) job.workers[job.members++] = &worker;
        }
    }
    return wakes;
}

// Starts a thread that ends with the process and gets no signals. False if the system has no more.
bool start_thread(void* (*live)(void*), void* data) noexcept {
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
    pthread_t thread;
    const bool started = pthread_create(&thread, nullptr, live, data) == 0;
    if (started) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
}

void Pool::grow(int wanted) {
    const std::lock_guard<std::mutex> lock(growing_);
    for (int size = size_.load(std::memory_order_relaxed); size < wanted; ++size) {
        if (!start_thread(live, &workers_[size])) return;
        size_.store(size + 1, std::memory_order_release);
        free_[size / 64].fetch_or(uint64_t{1} << size % 64, std::memory_order_release);
    }
}

// Takes the job back from workers that have not begun, and waits for the others.
void Pool::give_back(Job& job) {
    for (int place = 1; place < job.members; ++place) {
        Worker& worker = *job.workers[place];
        uint32_t seen = worker.state.load(std::memory_order_acquire);
        while (seen >= with_job) {
            if (seen >= running) {
                await(worker);
            } else if (worker.state.compare_exchange_strong(seen, seen & ~uint32_t{with_job},
                                                            std::memory_order_acq_rel)) {
                if (seen == with_job) note_miss();
            }
            seen = worker.state.load(std::memory_order_acquire);
        }
        const int misses = misses_.load(std::memory_order_relaxed);
        if (misses > 0) misses_.store(misses - 1, std::memory_order_relaxed);
    }
    // Nobody is inside the job any more: until then, members look at the shares of all others.
    for (int place = 1; place < job.members; ++place) {
        Worker& worker = *job.workers[place];
        const auto index = static_cast<size_t>(&worker - workers_);
        free_[index / 64].fetch_or(uint64_t{1} << index % 64, std::memory_order_release);
    }
}

// Waits until a worker that has begun is done.
void Pool::await(Worker& worker) {
    const int64_t limit = is_quiet(now_ns()) ? patience / 10 : patience;
    if (spun(worker.state, running, limit) < limit) return;
    uint32_t seen = running;
    if (!worker.state.compare_exchange_strong(seen, awaited, std::memory_order_acq_rel)) return;
    while (worker.state.load(std::memory_order_acquire) == awaited) sleep_on(worker.state, awaited);
}

// Small loops wake workers now and then, in case that calls follow each other closely.
bool Pool::may_try(int64_t now) const {
    return now >= wake_at_.load(std::memory_order_relaxed) && !is_quiet(now);
}

// Remembers loops that took long the last time: points alone do not tell what a loop takes.
void Pool::remember(LoopBody body, int64_t nanoseconds) {
    std::atomic<LoopBody>& place = place_of(body);
    const bool was_long = place.load(std::memory_order_relaxed) == body;
    if (was_long == (nanoseconds > long_enough)) return;
    place.store(was_long ? nullptr : body, std::memory_order_relaxed);
}

std::atomic<LoopBody>& Pool::place_of(LoopBody body) {
    return long_[reinterpret_cast<uintptr_t>(body) / 16 % std::size(long_)];
}

// --- workers ------------------------------------------------------------------------------------

// Waits while a state lasts, at most `limit` nanoseconds, and returns how long that was.
int64_t Pool::spun(std::atomic<uint32_t>& state, uint32_t while_state, int64_t limit) {
    const int64_t began = now_ns();
    int64_t now = began;
    for (int turn = 1; state.load(std::memory_order_acquire) == while_state; ++turn) {
        relax();
        if (turn % 8 != 0) continue;
        const int64_t last = now;
        now = now_ns();
        if (now - last > gap) note_busy();
        if (now - began >= limit) return limit;
    }
    return std::min(now - began, limit - 1);
}

void* Pool::live(void* given) {
    Worker& me = *static_cast<Worker*>(given);
    Pool& pool = *current.load(std::memory_order_acquire);
    for (int jobs = 0;; ++jobs) {
        pool.wait_for_job(me, jobs);
        Job& job = *me.job;
        wake_next(job, me.place);
        job.work(me.place);
        if (me.state.exchange(idle, std::memory_order_acq_rel) == awaited) wake(me.state);
    }
}

void Pool::wait_for_job(Worker& me, int& jobs) {
    for (;;) {
        uint32_t seen = me.state.load(std::memory_order_acquire);
        if (seen >= with_job) {
            if (me.state.compare_exchange_strong(seen, running, std::memory_order_acq_rel)) return;
        } else if (seen == asleep) {
            sleep_on(me.state, asleep);
            jobs = 0;
        } else if (seen == waking) {
            me.state.compare_exchange_strong(seen, idle, std::memory_order_acq_rel);
        } else if (is_quiet(now_ns()) || spun(me.state, idle, spin) == spin) {
            if (me.state.compare_exchange_strong(seen, asleep, std::memory_order_acq_rel)) {
                note_sleep(jobs);
            }
        }
    }
}

// A worker that had a few jobs since it woke was worth waking.
void Pool::note_sleep(int jobs) {
    const int64_t pause = jobs >= few_jobs ? 0 : pause_.load(std::memory_order_relaxed) * 2 + spin;
    pause_.store(std::min(pause, longest_pause), std::memory_order_relaxed);
    wake_at_.store(now_ns() + std::min(pause, longest_pause), std::memory_order_relaxed);
}

// A worker looked for a job and did not see one in time. A virtual machine pauses threads that spin, so
// only many of these in few calls say that other programs run.
void Pool::note_miss() {
    constexpr int weight = 8, most = 32;
    const int misses = misses_.load(std::memory_order_relaxed) + weight;
    misses_.store(misses > most ? 0 : misses, std::memory_order_relaxed);
    if (misses > most) note_busy();
}

void Pool::note_busy() {
    const int64_t now = now_ns();
    const int64_t until = quiet_until_.load(std::memory_order_relaxed);
    if (now < until) return;
    const bool is_again = now - until < 8 * longest_quiet;
    const int64_t quiet = is_again ? quiet_.load(std::memory_order_relaxed) * 2 : 1'000'000;
    quiet_.store(std::min(quiet, longest_quiet), std::memory_order_relaxed);
    quiet_until_.store(now + std::min(quiet, longest_quiet), std::memory_order_relaxed);
}

}  // namespace

void share_loop(int threads, int64_t count, int64_t most, int64_t points, LoopBody body,
                void* data) noexcept {
    const int64_t wanted = std::min({int64_t{threads}, most, count, int64_t{most_workers + 1}});
    Pool* pool = wanted > 1 ? the_pool() : nullptr;
    if (pool == nullptr) {
        if (count > 0) body(data, 0, count, 0);
        return;
    }
    pool->run(count, static_cast<int>(wanted), points, body, data);
}

int pool_size() noexcept {
    const Pool* pool = current.load(std::memory_order_acquire);
    return pool == nullptr ? 0 : pool->size();
}

}  // namespace fieldforge
