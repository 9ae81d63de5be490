"""C++ of exported libraries: neighbour tables, and the range of the indices in their rows."""

from __future__ import annotations

from typing import Final

TABLES: Final = r"""
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
