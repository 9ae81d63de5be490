"""C++ of exported libraries: how many threads a call has; the pool is that of the core."""

from __future__ import annotations

from typing import Final

THREADS: Final = r"""
// --- threads --------------------------------------------------------------------------------

constexpr int most_threads = 512;
std::atomic<int> asked{0};  // by 'set_threads'; 0: OMP_NUM_THREADS says how many

void set_threads(int count) { asked.store(std::clamp(count, 1, most_threads)); }

int usual_threads() {
  const char* const words = std::getenv("OMP_NUM_THREADS");
  const long count = words == nullptr ? 1 : std::strtol(words, nullptr, 10);
  return static_cast<int>(std::clamp<long>(count, 1, most_threads));
}

int thread_count() {
  static const int usual = usual_threads();
  const int count = asked.load();
  return count != 0 ? count : usual;
}

// A fork must not find the tables locked. The pool sees to its own threads.
void before_fork() { looks_lock.lock(); }
void after_fork() { looks_lock.unlock(); }
[[maybe_unused]] const int is_told_of_forks = pthread_atfork(before_fork, after_fork, after_fork);

using fieldforge::LoopBody;

void parallel_for(void*, int64_t count, int64_t most, int64_t points, LoopBody body, void* data) {
  fieldforge::share_loop(thread_count(), count, most, points, body, data);
}

struct Context {
  uint32_t version, size;
  int32_t device_type, device_id;
  void* stream;
  void (*parallel_for)(void*, int64_t, int64_t, int64_t, LoopBody, void*);
  void* pool;
  const void* machine;
  int32_t* status;
};

const Context context{2, sizeof(Context), 1, 0, nullptr, parallel_for, nullptr, nullptr, nullptr};
"""
