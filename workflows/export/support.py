"""The C++ that every exported library has: errors, checks, threads and memory for temporaries.

The wrappers of the programs (`wrapper.py`) call it. It has the checks of the native core for fields
that C describes, and its own threads, because Python's are not there.
"""

from __future__ import annotations

from typing import Final

SUPPORT: Final = r"""
#include <algorithm>
#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace {

constexpr int max_rank = FIELDFORGE_MAX_RANK;

// --- errors ---------------------------------------------------------------------------------

thread_local char last_message[1024] = "";

__attribute__((format(printf, 2, 3))) int32_t refuse(int32_t code, const char* format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(last_message, sizeof last_message, format, values);
  va_end(values);
  return code;
}

// --- fields ---------------------------------------------------------------------------------

using Field = fieldforge_field;

const char* const dtype_names[] = {"bool", "int8", "uint8", "int16", "uint16", "int32", "uint32",
                                   "int64", "uint64", "float32", "float64"};
const int64_t item_sizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8};

struct Range {
  int64_t start, stop;
};

// An argument, and the hull of what a call touches of it.
struct Argument {
  const char* name;
  const Field* field;
  int32_t dtype;
  int32_t rank;
  const char* const* dims;
  bool is_touched;
  Range hull[max_rank];
};

int64_t stop_of(const Field& field, int axis) { return field.start[axis] + field.extent[axis]; }

const void* origin(const Field& field) {
  auto at = reinterpret_cast<uintptr_t>(field.data);
  for (int axis = 0; axis < field.rank; ++axis)
    at -= static_cast<uintptr_t>(field.start[axis] * field.stride[axis] * item_sizes[field.dtype]);
  return reinterpret_cast<const void*>(at);
}

bool has_unit(const Field& field, int axis) {
  return field.stride[axis] == 1 || field.extent[axis] <= 1;
}

int32_t check_argument(const char* program, const Argument& given) {
  const Field* field = given.field;
  if (field == nullptr)
    return refuse(FIELDFORGE_ARGUMENT, "Argument '%s' of '%s' is a null pointer.", given.name,
                  program);
  if (field->rank != given.rank)
    return refuse(FIELDFORGE_ARGUMENT, "Argument '%s' of '%s' must have %d dimensions, got %d.",
                  given.name, program, given.rank, field->rank);
  if (field->dtype != given.dtype) {
    const bool is_known = field->dtype >= 0 && field->dtype < 11;
    return refuse(FIELDFORGE_ARGUMENT, "Argument '%s' of '%s' must be a field of %s, got %s.",
                  given.name, program, dtype_names[given.dtype],
                  is_known ? dtype_names[field->dtype] : "an unknown type");
  }
  int64_t count = 1;
  for (int axis = 0; axis < given.rank; ++axis) {
    if (field->extent[axis] < 0)
      return refuse(FIELDFORGE_ARGUMENT, "Argument '%s' of '%s' has a negative extent along '%s'.",
                    given.name, program, given.dims[axis]);
    count *= field->extent[axis];
  }
  if (count != 0 && field->data == nullptr)
    return refuse(FIELDFORGE_ARGUMENT, "The data of argument '%s' of '%s' is a null pointer.",
                  given.name, program);
  if (count != 0 && reinterpret_cast<uintptr_t>(field->data) % item_sizes[given.dtype] != 0)
    return refuse(FIELDFORGE_ARGUMENT, "The data of argument '%s' of '%s' is not aligned.",
                  given.name, program);
  return FIELDFORGE_OK;
}

bool is_empty(const Range* box, int rank) {
  for (int axis = 0; axis < rank; ++axis)
    if (box[axis].start >= box[axis].stop) return true;
  return false;
}

bool lies_inside(const Field& field, const Range* box) {
  for (int axis = 0; axis < field.rank; ++axis)
    if (box[axis].start < field.start[axis] || box[axis].stop > stop_of(field, axis)) return false;
  return true;
}

int32_t check_box(const char* program, Argument& given, const char* done, const Range* box) {
  const Field& field = *given.field;
  if (is_empty(box, given.rank)) return FIELDFORGE_OK;
  for (int axis = 0; axis < given.rank; ++axis) {
    if (box[axis].start < field.start[axis] || box[axis].stop > stop_of(field, axis))
      return refuse(FIELDFORGE_DOMAIN,
                    "Field '%s' is too small: along '%s' '%s' %s %lld:%lld, but '%s' covers "
                    "%lld:%lld.",
                    given.name, given.dims[axis], program, done, (long long)box[axis].start,
                    (long long)box[axis].stop, given.name, (long long)field.start[axis],
                    (long long)stop_of(field, axis));
    Range& hull = given.hull[axis];
    hull = given.is_touched ? Range{std::min(hull.start, box[axis].start),
                                    std::max(hull.stop, box[axis].stop)}
                            : box[axis];
  }
  given.is_touched = true;
  return FIELDFORGE_OK;
}

// --- memory that arguments share ------------------------------------------------------------

struct Term {
  int64_t stride, first, last, low, high;
};

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  const int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}
int64_t floor_mod(int64_t a, int64_t b) { return b == 0 ? 0 : a - floor_div(a, b) * b; }
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

// Is there a sum of terms k, k + 1, ... in low..high?
bool reaches(const std::vector<Term>& terms, size_t k, int64_t low, int64_t high, int& budget) {
  if (k == terms.size()) return low <= 0 && 0 <= high;
  const Term& term = terms[k];
  if (low > term.high || high < term.low) return false;
  const int64_t rest_low = k + 1 < terms.size() ? terms[k + 1].low : 0;
  const int64_t rest_high = k + 1 < terms.size() ? terms[k + 1].high : 0;
  const int64_t first = std::max(term.first, ceil_div(low - rest_high, term.stride));
  const int64_t last = std::min(term.last, floor_div(high - rest_low, term.stride));
  for (int64_t q = first; q <= last; ++q) {
    if (--budget < 0) return true;
    if (reaches(terms, k + 1, low - q * term.stride, high - q * term.stride, budget)) return true;
  }
  return false;
}

// The lowest address of what is touched; adds the steps from it to all other elements.
int64_t steps(const Argument& given, bool is_subtracted, std::vector<Term>& terms) {
  const Field& field = *given.field;
  const int64_t size = item_sizes[field.dtype];
  auto low = reinterpret_cast<int64_t>(field.data);
  for (int axis = 0; axis < given.rank; ++axis) {
    const int64_t stride = field.stride[axis] * size;
    const Range& hull = given.hull[axis];
    const int64_t last = hull.stop - hull.start - 1;
    low += (hull.start - field.start[axis]) * stride + (stride < 0 ? last * stride : 0);
    if (last == 0 || stride == 0) continue;
    const int64_t wide = stride < 0 ? -stride : stride;
    terms.push_back(is_subtracted ? Term{wide, -last, 0, 0, 0} : Term{wide, 0, last, 0, 0});
  }
  return low;
}

bool share_memory(const Argument& a, const Argument& b) {
  if (!a.is_touched || !b.is_touched) return false;
  std::vector<Term> terms;
  const int64_t between = steps(a, false, terms) - steps(b, true, terms);
  std::sort(terms.begin(), terms.end(),
            [](const Term& x, const Term& y) { return x.stride > y.stride; });
  for (size_t k = terms.size(); k-- > 0;) {
    const bool is_last = k + 1 == terms.size();
    terms[k].low = (is_last ? 0 : terms[k + 1].low) + terms[k].first * terms[k].stride;
    terms[k].high = (is_last ? 0 : terms[k + 1].high) + terms[k].last * terms[k].stride;
  }
  int budget = 4096;
  return reaches(terms, 0, 1 - item_sizes[a.field->dtype] - between,
                 item_sizes[b.field->dtype] - 1 - between, budget);
}

bool are_same(const Field& a, const Field& b) {
  if (a.data != b.data || a.dtype != b.dtype || a.rank != b.rank) return false;
  for (int axis = 0; axis < a.rank; ++axis)
    if (a.start[axis] != b.start[axis] || a.extent[axis] != b.extent[axis] ||
        a.stride[axis] != b.stride[axis])
      return false;
  return true;
}

int32_t check_memory(const char* program, const Argument& written, const Argument& other,
                     bool is_pointwise) {
  if (!share_memory(written, other)) return FIELDFORGE_OK;
  if (is_pointwise && are_same(*written.field, *other.field)) return FIELDFORGE_OK;
  return refuse(FIELDFORGE_OVERLAP,
                "'%s' writes '%s', which shares memory with '%s'; pass a copy of one of them.",
                program, written.name, other.name);
}

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

Pool& pool() {
  static Pool* const made = [] {
    auto* const own = new Pool;  // never destroyed: a library may be unloaded while threads sleep
    const char* const words = std::getenv("OMP_NUM_THREADS");
    const long count = words == nullptr ? 1 : std::strtol(words, nullptr, 10);
    own->resize(std::clamp<long>(count, 1, 1024));
    return own;
  }();
  return *made;
}

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

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))
"""

FUNCTIONS: Final = """\
EXPORTED const char* {library}_message(void) {{ return last_message; }}
EXPORTED void {library}_set_threads(int32_t count) {{ pool().resize(std::clamp(count, 1, 1024)); }}
EXPORTED void {library}_forget_tables(void) {{
  const std::lock_guard guard(looks_lock);
  looks.clear();
}}
"""
