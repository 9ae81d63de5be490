// The threads of the core: loops of generated code are shared among them.
//
// A call takes the workers that are free, gives each a share of the loop, and works itself. Who has
// finished his share takes pieces of the others' shares, so a worker that comes late costs nothing:
// the call takes its part back and never waits for a thread that has not begun.
#pragma once

#include <cstdint>

namespace fieldforge {

// What `Context::pool` points to.
struct Crew {
    int threads;  // what the option `threads` of the backend says; 0: nothing
};

using LoopBody = void (*)(void* data, int64_t begin, int64_t end, int64_t place);

// Runs a loop on at most so many `threads`; see `Context::parallel_for`.
void share_loop(int threads, int64_t count, int64_t most, int64_t points, LoopBody body,
                void* data) noexcept;

// Number of threads in the pool of this process.
int pool_size() noexcept;

}  // namespace fieldforge
