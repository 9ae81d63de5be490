"""The whole C++ that every exported library has; the wrappers of its programs call it."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Final

from .aliasing import ALIASING
from .fields import FIELDS

_TABLES: Final = r"""
// --- neighbour tables -----------------------------------------------------------------------

// The valid entries of some rows and slots, remembered by each thread.
struct Look {
  const void* data;
  int64_t start, stop, row, slot;
  uint64_t slots;
  int64_t lowest, beyond;
  bool has_missing;
};
constexpr size_t looks_kept = 64;
std::mutex looks_lock;
std::vector<Look> looks;
size_t next_look = 0;

Look look(const Field& table, int64_t start, int64_t stop, uint64_t slots) {
  start = std::max(start, table.start[0]);
  stop = std::min(stop, stop_of(table, 0));
  Look found{table.data, start, stop, table.stride[0], table.stride[1], slots, 0, 0, false};
  const std::lock_guard guard(looks_lock);
  for (const Look& known : looks)
    if (known.data == found.data && known.start == start && known.stop == stop &&
        known.row == found.row && known.slot == found.slot && known.slots == slots)
      return known;
  int64_t lowest = std::numeric_limits<int64_t>::max(), beyond = 0;
  const auto* data = static_cast<const int32_t*>(table.data);
  for (int64_t row = start; row < stop; ++row)
    for (int64_t slot = 0; slot < table.extent[1]; ++slot) {
      if (!(slots >> slot & 1)) continue;
      const int64_t entry = data[(row - table.start[0]) * table.stride[0] + slot * table.stride[1]];
      if (entry < 0) found.has_missing = true;
      else lowest = std::min(lowest, entry), beyond = std::max(beyond, entry + 1);
    }
  if (beyond != 0) found.lowest = lowest, found.beyond = beyond;
  if (looks.size() < looks_kept) looks.push_back(found);
  else looks[next_look++ % looks_kept] = found;
  return found;
}

int32_t check_table(const char* program, const Argument& given, int64_t width, bool may_miss) {
  const Field& table = *given.field;
  if (table.extent[1] != width || table.start[1] != 0)
    return refuse(FIELDFORGE_TABLE,
                  "Neighbour table '%s' of '%s' must have slots 0:%lld, got %lld:%lld.", given.name,
                  program, (long long)width, (long long)table.start[1],
                  (long long)stop_of(table, 1));
  if (!may_miss && look(table, table.start[0], stop_of(table, 0), ~uint64_t{0}).has_missing)
    return refuse(FIELDFORGE_TABLE,
                  "Neighbour table '%s' has missing entries; '%s' was exported for one without.",
                  given.name, program);
  return FIELDFORGE_OK;
}
"""


_THREADS: Final = r"""
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


_WORKSPACE: Final = r"""
// --- memory for temporaries -----------------------------------------------------------------

// Kept by each thread for its next call.
struct Workspace {
  void* data = nullptr;
  int64_t size = 0;
  ~Workspace() { std::free(data); }

  bool has(int64_t wanted) {
    if (wanted <= size) return true;
    std::free(data);
    size = (wanted + 63) / 64 * 64;
    data = std::aligned_alloc(64, static_cast<size_t>(size));
    if (data == nullptr) size = 0;
    return data != nullptr;
  }
};
thread_local Workspace workspace;
"""


_NATIVE: Final = Path(__file__).parents[3] / "runtime" / "native"
# In the order in which they include each other; a wheel has them, see `pyproject.toml`.
FILES: Final = ("strided_sums.h", "pool.h", "futex.h", "worker.h", "pool.cpp")
_SYSTEM: Final = re.compile(
    r"^#if[^\n]*\n(?:#include <[^\n]*\n)+#endif\n|^#include <[^\n]*\n", re.MULTILINE
)
_OURS: Final = re.compile(r'^(?:#include "[^\n]*|#pragma once)\n', re.MULTILINE)


@functools.cache
def _core() -> tuple[str, str]:
    """Return what libraries share with the native core: overlaps of memory, the pool of threads.

    These are the headers of the system that its files include, and the rest of their text. A
    library has them in an unnamed namespace, so that none of their names meets those of another
    library or of the core in one process.
    """
    text = "\n".join((_NATIVE / name).read_text() for name in FILES)
    headers = "".join(dict.fromkeys(_SYSTEM.findall(text)))
    return headers, _OURS.sub("", _SYSTEM.sub("", text))


_HEADERS: Final = r"""
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <vector>
"""

_OPENING: Final = r"""
namespace {

constexpr int max_rank = FIELDFORGE_MAX_RANK;
"""

_CLOSING: Final = r"""
}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))
"""


def support() -> str:
    """Return the C++ before the functions of a library."""
    headers, shared = _core()
    parts = (_HEADERS, headers, _OPENING, shared, FIELDS, ALIASING, _TABLES, _THREADS, _WORKSPACE)
    return "".join([*parts, _CLOSING])


FUNCTIONS: Final = """\
EXPORTED const char* {library}_message(void) {{ return last_message; }}
EXPORTED void {library}_set_threads(int32_t count) {{ set_threads(count); }}
EXPORTED void {library}_forget_tables(void) {{
  const std::lock_guard guard(looks_lock);
  looks.clear();
}}
"""
