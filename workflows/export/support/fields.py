"""C++ of exported libraries: fields that C describes, the checks of them, and error messages.

The checks are those of the native core.
"""

from __future__ import annotations

from typing import Final

FIELDS: Final = r"""
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

int32_t check_alike(const char* program, const Argument& one, int axis, const Argument& other,
                    int along) {
  const Field &first = *one.field, &second = *other.field;
  if (first.start[axis] == second.start[along] && first.extent[axis] == second.extent[along])
    return FIELDFORGE_OK;
  if (first.extent[axis] > second.extent[along])
    return check_alike(program, other, along, one, axis);
  return refuse(FIELDFORGE_DOMAIN,
                "Field '%s' is too small: along '%s' it covers %lld:%lld, but '%s' covers "
                "%lld:%lld, and '%s' writes both on the same range.",
                one.name, one.dims[axis], (long long)first.start[axis],
                (long long)stop_of(first, axis), other.name, (long long)second.start[along],
                (long long)stop_of(second, along), program);
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
"""
