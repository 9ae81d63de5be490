// Lists of patches of a mesh, as `runtime/native/patches.h` describes them, read by kernels by hand.

#pragma once

#include <stdint.h>

template <int NESTS>
struct Lists {
  const uint32_t* words;
  explicit Lists(const uint32_t* words) : words(words) {}

  int64_t per_patch() const { return words[3 * NESTS]; }
  int64_t parts() const { return words[3 * NESTS + 1]; }
  int64_t patches() const { return (parts() + per_patch() - 1) / per_patch(); }
  int64_t most(int nest) const { return words[3 * nest + 2]; }

  // Call body(part) for the portions of a patch, in order.
  template <class Body>
  void portions(int64_t patch, Body body) const {
    const uint32_t* firsts = words + 3 * NESTS + 2;
    const int64_t stop = (patch + 1) * per_patch();
    for (int64_t p = patch * per_patch(); p < (stop < parts() ? stop : parts()); ++p)
      body(firsts + p * NESTS);
  }

  // Call body(element, near, next) for the elements of a nest in a portion, with `COLUMNS` near
  // indices; `next` comes `ahead` places later in the list, in which portions follow each other.
  template <int NEST, int COLUMNS, class Body>
  void each(const uint32_t* part, int64_t ahead, Body body) const {
    const uint32_t end = words[3 * NESTS + 2 + parts() * NESTS + NEST] - 1;
    const uint16_t* near = reinterpret_cast<const uint16_t*>(words + words[3 * NEST]);
    const uint32_t base = words[3 * NEST + 1];
    for (uint32_t q = part[NEST]; q < part[NEST + NESTS]; ++q)
      body(static_cast<int64_t>(words[q]), near + (q - base) * COLUMNS,
           static_cast<int64_t>(words[q + ahead < end ? q + ahead : end]));
  }
};
