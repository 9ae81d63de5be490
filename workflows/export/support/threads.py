"""C++ of exported libraries: a pool of threads, because Python's is not there."""

from __future__ import annotations

from typing import Final

THREADS: Final = r"""
// --- threads --------------------------------------------------------------------------------

using Body = void (*)(void* data, int64_t begin, int64_t end, int64_t place);

// One loop at a time on threads that sleep in between; a loop inside a loop runs on its thread.
class Pool {
 public:
  ~Pool() { resize(1); }

  void resize(int64_t count) {
    const std::lock_guard one(using_);
    {
      const std::lock_guard guard(lock_);
      ends_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    ends_ = false;
    round_ = 0;
    for (int64_t place = 1; place < count; ++place)
      threads_.emplace_back([this, place] { work(place); });
  }

  void run(int64_t count, int64_t most, Body body, void* data) {
    const std::unique_lock one(using_, std::try_to_lock);
    const int64_t all = static_cast<int64_t>(threads_.size()) + 1;
    const int64_t parts = one.owns_lock() ? std::min({all, most, count}) : 1;
    if (parts <= 1) {
      body(data, 0, count, 0);
      return;
    }
    {
      const std::lock_guard guard(lock_);
      count_ = count, parts_ = parts, body_ = body, data_ = data;
      left_ = static_cast<int64_t>(threads_.size());
      ++round_;
    }
    wake_.notify_all();
    part(0);
    std::unique_lock guard(lock_);
    done_.wait(guard, [this] { return left_ == 0; });
  }

 private:
  void part(int64_t place) {
    if (place < parts_) {
      const int64_t begin = count_ * place / parts_, end = count_ * (place + 1) / parts_;
      if (begin < end) body_(data_, begin, end, place);
    }
  }

  void work(int64_t place) {
    uint64_t seen = 0;
    for (;;) {
      {
        std::unique_lock guard(lock_);
        wake_.wait(guard, [&] { return ends_ || round_ != seen; });
        if (ends_) return;
        seen = round_;
      }
      part(place);
      const std::lock_guard guard(lock_);
      if (--left_ == 0) done_.notify_one();
    }
  }

  std::vector<std::thread> threads_;
  std::mutex using_, lock_;
  std::condition_variable wake_, done_;
  int64_t count_ = 0, parts_ = 0, left_ = 0;
  Body body_ = nullptr;
  void* data_ = nullptr;
  uint64_t round_ = 0;
  bool ends_ = false;
};

constexpr int most_threads = 1024;
// Never destroyed: threads may sleep in it when a library is unloaded.
std::atomic<Pool*> current{nullptr};
std::atomic<int> asked{0};  // by 'set_threads'; 0: OMP_NUM_THREADS says how many

int thread_count() {
  if (const int count = asked.load()) return count;
  const char* const words = std::getenv("OMP_NUM_THREADS");
  const long count = words == nullptr ? 1 : std::strtol(words, nullptr, 10);
  return static_cast<int>(std::clamp<long>(count, 1, most_threads));
}

Pool& pool() {
  Pool* found = current.load();
  if (found != nullptr) return *found;
  auto* const made = new Pool;
  if (!current.compare_exchange_strong(found, made)) {
    delete made;
    return *found;
  }
  made->resize(thread_count());
  return *made;
}

void set_threads(int count) {
  asked.store(std::clamp(count, 1, most_threads));
  pool().resize(asked.load());
}

// The threads stay in the parent, and locks of its pool may be held: a child makes its own pool.
void before_fork() { looks_lock.lock(); }
void after_fork() { looks_lock.unlock(); }
void after_fork_in_child() {
  after_fork();
  current.store(nullptr);
}
[[maybe_unused]] const int is_told_of_forks =
    pthread_atfork(before_fork, after_fork, after_fork_in_child);

void parallel_for(void*, int64_t count, int64_t most, int64_t, Body body, void* data) {
  pool().run(count, most, body, data);
}

struct Context {
  uint32_t version, size;
  int32_t device_type, device_id;
  void* stream;
  void (*parallel_for)(void*, int64_t, int64_t, int64_t, Body, void*);
  void* pool;
  const void* machine;
  int32_t* status;
};

const Context context{2, sizeof(Context), 1, 0, nullptr, parallel_for, nullptr, nullptr, nullptr};
"""
