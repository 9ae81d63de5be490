"""The shared memory of a block on the host, as C++, with a shadow that finds races.

For each word the shadow keeps the last writer and the readers since, each with its phase: how many
barriers it had passed. Two uses of a word by different threads, one of them a write, need a
barrier between them (of the block, or of the warp where both are of one warp). A word that was
never written may not be read, nor one that an asynchronous copy still fills. What breaks these
rules, and an index outside an array, ends the grid with a report.
"""

from __future__ import annotations

from typing import Final

# Follows FIBRES of `host_block`.
SHARED: Final = """\
namespace ff_host {
// A word is 4 bytes; smaller values have a cell for each byte.
static bool is_ordered(const Block& b, unsigned other, unsigned phase, unsigned warp_phase) {
  return other == b.me || phase < b.phase ||
         (other / warp == b.me / warp && warp_phase < b.warp_phase[b.me / warp]);
}
static const char* how(bool writes) { return writes ? "writes" : "reads"; }
static void tell_race(const Block& b, size_t byte, bool writes, int line, bool wrote, int other,
                      int at) {
  report("Race in shared memory at byte %zu in block (%u, %u, %u): thread %u %s in line %d what "
         "%s %d %s in line %d, without a barrier between.", byte, blockIdx.x, blockIdx.y,
         blockIdx.z, b.me, how(writes), line, other < 0 ? "another thread than" : "thread",
         other < 0 ? int(b.me) : other, wrote ? "wrote" : "read", at);
}
static bool looks_right(Block& b, Cell& c, size_t byte, bool writes, int line) {
  if (c.block != b.serial) {
    c.block = b.serial, c.writer = c.reader = -1, c.pending = false;
  }
  if (c.pending) {
    report("Thread %u %s in line %d byte %zu of shared memory, which the asynchronous copy of "
           "thread %d in line %d still fills: wait for it first.", b.me, how(writes), line, byte,
           c.writer, c.write_line);
    return false;
  }
  if (c.writer < 0 && !writes) {
    report("Thread %u reads in line %d byte %zu of shared memory, which no thread of block "
           "(%u, %u, %u) has written so far.", b.me, line, byte, blockIdx.x, blockIdx.y,
           blockIdx.z);
    return false;
  }
  if (c.writer >= 0 && !is_ordered(b, unsigned(c.writer), c.write_phase, c.write_warp_phase)) {
    tell_race(b, byte, writes, line, true, c.writer, c.write_line);
    return false;
  }
  if (!writes || c.reader == -1) return true;
  // Several readers: -2 - w, all of warp w, or -1000, of several warps.
  bool ordered = c.read_phase < b.phase;
  if (c.reader > -999) {
    const unsigned another = unsigned(-2 - c.reader) * warp + (b.me + 1) % warp;
    ordered = is_ordered(b, c.reader >= 0 ? unsigned(c.reader) : another, c.read_phase,
                         c.read_warp_phase);
  }
  if (!ordered) tell_race(b, byte, true, line, false, c.reader, c.read_line);
  return ordered;
}
static void remember_read(Block& b, Cell& c, int line) {
  const int own = int(b.me), mine = int(b.me / warp);
  int reader = own;
  if (c.reader != -1 && c.read_phase == b.phase && c.reader != own) {
    const int theirs = c.reader >= 0 ? c.reader / int(warp) : c.reader > -999 ? -2 - c.reader : -1;
    reader = theirs == mine ? -2 - mine : -1000;
  }
  c.reader = reader, c.read_line = line;
  c.read_phase = b.phase, c.read_warp_phase = b.warp_phase[mine];
}
static void remember_write(Block& b, Cell& c, int line, bool pending) {
  c.writer = int(b.me), c.reader = -1, c.write_line = line, c.pending = pending;
  c.write_phase = b.phase, c.write_warp_phase = b.warp_phase[b.me / warp];
}
static void look(size_t byte, unsigned size, bool writes, int line, bool pending = false) {
  Block& b = *here;
  const unsigned step = size < 4 ? 1 : 4;
  for (size_t i = byte; i < byte + size; i += step) {
    Cell& c = b.cells[step == 1 ? i : i & ~(size_t)3];
    if (!looks_right(b, c, i, writes, line)) return;
    if (writes) remember_write(b, c, line, pending);
    else remember_read(b, c, line);
  }
}
struct Place {  // an index, and the line that it stands in
  long long index;
  int line;
  Place(long long index, int line = __builtin_LINE()) : index(index), line(line) {}
};
template <typename T> struct Reference {
  T* const at;  // null outside the array
  const int line;
  size_t byte() const { return size_t((char*)at - here->shared); }
  operator T() const {
    if (at == nullptr) return T();
    look(byte(), sizeof(T), false, line);
    return *at;
  }
  T operator=(T value) const {
    if (at == nullptr) return value;
    look(byte(), sizeof(T), true, line);
    return *at = value;
  }
  T operator=(const Reference& other) const { return *this = T(other); }
  T operator+=(T value) const { return *this = T(*this) + value; }
};
}  // namespace ff_host
namespace ff {
template <typename T> struct shared_array {
  T* data;
  long long count;
  shared_array(unsigned first_byte, long long count, int line = __builtin_LINE()) : count(count) {
    ff_host::Block& b = *ff_host::here;
    data = (T*)(b.shared + first_byte);
    if (first_byte % sizeof(T) == 0 && first_byte + count * sizeof(T) <= b.shared_bytes) return;
    ff_host::report("The array of shared memory in line %d takes bytes %u to %llu, in steps of "
                    "%zu, and the launch gives %u bytes.", line, first_byte,
                    (unsigned long long)(first_byte + count * sizeof(T)), sizeof(T),
                    b.shared_bytes);
    this->count = 0;
  }
  T* address(ff_host::Place place, long long many = 1) const {
    if (place.index >= 0 && place.index + many <= count) return data + place.index;
    if (many != 0) {
      ff_host::report("Thread %u uses in line %d element %lld of an array of shared memory that "
                      "has %lld.", ff_host::here->me, place.line,
                      place.index < 0 ? place.index : place.index + many - 1, count);
    }
    return nullptr;
  }
  ff_host::Reference<T> operator[](ff_host::Place place) const {
    return {address(place), place.line};
  }
};
template <typename T, int N> struct alignas(N * sizeof(T)) pack {
  T value[N];
  T& operator[](int i) { return value[i]; }
  const T& operator[](int i) const { return value[i]; }
};
static inline bool is_aligned(const void* p, size_t bytes, int line) {
  if ((size_t)p % bytes == 0) return true;
  ff_host::report("Thread %u uses in line %d %zu bytes at once at an address that is no multiple "
                  "of it.", ff_host::here->me, line, bytes);
  return false;
}
template <int N, typename T> static pack<T, N> load(const T* from, int line = __builtin_LINE()) {
  pack<T, N> made;
  is_aligned(from, sizeof made, line);
  memcpy(&made, from, sizeof made);
  return made;
}
template <int N, typename T>
static void store(T* to, const pack<T, N>& values, int line = __builtin_LINE()) {
  is_aligned(to, sizeof values, line);
  memcpy(to, &values, sizeof values);
}
template <int N, typename T>
static pack<T, N> load(const shared_array<T>& from, ff_host::Place place) {
  pack<T, N> made;
  const T* at = from.address(place, N);
  is_aligned(at, sizeof made, place.line);
  for (int i = 0; i < N; ++i) made[i] = from[{place.index + i, place.line}];
  return made;
}
template <int N, typename T>
static void store(const shared_array<T>& to, ff_host::Place place, const pack<T, N>& values) {
  is_aligned(to.address(place, N), sizeof values, place.line);
  for (int i = 0; i < N; ++i) to[{place.index + i, place.line}] = values[i];
}
template <int N, typename T>
static void async_copy(const shared_array<T>& to, ff_host::Place place, const T* from) {
  constexpr unsigned bytes = N * sizeof(T);
  static_assert(bytes == 4 || bytes == 8 || bytes == 16, "a copy has 4, 8 or 16 bytes");
  ff_host::Block& b = *ff_host::here;
  T* const at = to.address(place, N);
  if (at == nullptr || !is_aligned(at, bytes, place.line)) return;
  if (!is_aligned(from, bytes, place.line)) return;
  ff_host::look(size_t((char*)at - b.shared), bytes, true, place.line, true);
  ff_host::Thread& mine = b.thread[b.me];
  if (mine.copies == mine.room) {
    mine.room = mine.room == 0 ? 8 : 2 * mine.room;
    mine.copy = (ff_host::Copy*)realloc(mine.copy, mine.room * sizeof *mine.copy);
  }
  mine.copy[mine.copies++] = {(char*)at, (const char*)from, bytes, mine.groups, place.line};
}
static inline void async_commit() { ++ff_host::here->thread[ff_host::here->me].groups; }
template <int N> static void async_wait() {
  ff_host::Block& b = *ff_host::here;
  ff_host::Thread& mine = b.thread[b.me];
  unsigned kept = 0;
  for (unsigned i = 0; i < mine.copies; ++i) {
    const ff_host::Copy each = mine.copy[i];
    if (each.group + N >= mine.groups) { mine.copy[kept++] = each; continue; }
    memcpy(each.to, each.from, each.bytes);
    for (unsigned k = 0; k < each.bytes; k += 4) {
      ff_host::remember_write(b, b.cells[size_t(each.to - b.shared) + k], each.line, false);
    }
  }
  mine.copies = kept;
}
}  // namespace ff
"""
