// A thread of the pool and the loop that it helps with.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "pool.h"

namespace fieldforge {

constexpr int most_workers = 511;

inline int64_t now_ns() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// A part of a loop; whoever adds to `next` has the indices up to the sum.
struct Share {
    std::atomic<int64_t> next{0};
    int64_t stop = 0;
};

struct Job;

// Who changes a state: the caller that has taken the worker gives it a job, by adding `with_job`, and
// takes the job of a late one back; the worker does the rest.
enum State : uint32_t {
    idle,     // looks for a job
    asleep,   // in the system, until somebody wakes it
    waking,   // somebody did
    with_job = 4,
    unwoken = asleep | with_job,
    woken = waking | with_job,
    running = 8,
    awaited,  // runs, and the caller sleeps until it is done
};

struct alignas(128) Worker {
    std::atomic<uint32_t> state{waking};
    int place = 0;  // in the job: the caller has place 0
    Job* job = nullptr;
    Share share;
};

// One loop on its way; it lies on the stack of the caller.
struct Job {
    LoopBody body;
    void* data;
    int64_t piece;
    int members = 1;
    Share own;
    Worker* workers[most_workers + 1];  // by place; none for the caller

    Share& share(int place) { return place == 0 ? own : workers[place]->share; }

    void divide(int64_t count) {
        constexpr int64_t pieces = 4;  // of a share
        piece = std::max<int64_t>(1, count / (members * pieces));
        for (int place = 0; place < members; ++place) {
            Share& part = share(place);
            part.next.store(count * place / members, std::memory_order_relaxed);
            part.stop = count * (place + 1) / members;
        }
    }

    // Runs the pieces of one's own share, then those that others have not begun.
    void work(int place) {
        for (int i = 0; i < members; ++i) {
            Share& part = share((place + i) % members);
            while (part.next.load(std::memory_order_relaxed) < part.stop) {
                const int64_t begin = part.next.fetch_add(piece, std::memory_order_relaxed);
                if (begin >= part.stop) break;
                body(data, begin, std::min(begin + piece, part.stop), place);
            }
        }
    }
};

}  // namespace fieldforge
