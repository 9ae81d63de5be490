// Several threads share loops on the pool at once: every index runs once, and its caller sees it.
// The sanitizer sees both ends, which the stress test of generated code does not.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "pool.h"
#include "wishes.h"

constinit thread_local fieldforge::Wishes fieldforge::wishes;  // nobody has any

using fieldforge::share_loop;

struct Loop {
    std::vector<int> runs;  // not atomic: two threads at one index are a race
    int64_t most;
};

static void body(void* data, int64_t begin, int64_t end, int64_t place) {
    Loop& loop = *static_cast<Loop*>(data);
    if (place < 0 || place >= loop.most) std::abort();
    for (int64_t i = begin; i < end; ++i) ++loop.runs[i];
}

static void call(int seed, int rounds) {
    std::mt19937 chance(seed);
    for (int round = 0; round < rounds; ++round) {
        const int64_t count = chance() % 300;
        const int threads = static_cast<int>(chance() % 6) + 1;
        Loop loop{std::vector<int>(count), static_cast<int64_t>(chance() % 8) + 1};
        share_loop(threads, count, loop.most, chance() % 4 == 0 ? 1 << 20 : 1, body, &loop);
        for (int runs : loop.runs) {
            if (runs != 1) std::abort();
        }
        if (chance() % 16 == 0) usleep(chance() % 200);
    }
}

int main(int, char** given) {
    const int callers = std::atoi(given[1]), rounds = std::atoi(given[2]);
    std::vector<std::thread> threads;
    for (int i = 0; i < callers; ++i) threads.emplace_back(call, i, rounds);
    for (auto& thread : threads) thread.join();
    std::printf("%d loops\n", callers * rounds);
}
