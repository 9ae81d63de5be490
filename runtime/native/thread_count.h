// How many threads a call may use.
#pragma once

namespace fieldforge {

// The number of threads of a call by this thread, of a program whose backend asks for `of_backend`
// (0: for none). The first of these that names a number decides:
//
// 1. `program.with_threads(n)` and the block `with threads(n)`, of which the inner one counts: both
//    set `Wishes::threads` of this thread;
// 2. the option `threads` of the backend;
// 3. OMP_NUM_THREADS, at most OMP_THREAD_LIMIT;
// 4. the processors that this process may use: its affinity, at most the CPU quota of its container
//    and OMP_THREAD_LIMIT.
//
// A loop takes fewer where it has fewer points than `parallel_from`, or the pool no free worker.
int threads_of_call(int of_backend) noexcept;

// Rules 3 and 4; read once, when the first call asks.
int default_threads() noexcept;

}  // namespace fieldforge
