/* A model in C: it steps a diffusion, and looks at the code that each call returns.
 *
 *     cc from_c.c -Ilib -Llib -lsmall -Wl,-rpath,lib -o from_c && ./from_c
 */
#include <stdio.h>
#include <stdlib.h>

#include "small.h"

enum { N = 8, HALO = 1, WIDE = N + 2 * HALO };

/* An array with a halo: indices -1 to N along both dimensions, the first one contiguous. */
static fieldforge_field with_halo(double *data) {
  fieldforge_field field = {.data = data, .dtype = FIELDFORGE_FLOAT64, .rank = 2};
  for (int axis = 0; axis < 2; ++axis) {
    field.start[axis] = -HALO;
    field.extent[axis] = WIDE;
  }
  field.stride[0] = 1;
  field.stride[1] = WIDE;
  return field;
}

/* The part of it without the halo: the same memory, other indices. */
static fieldforge_field inside(fieldforge_field field) {
  field.data = (double *)field.data + HALO * field.stride[0] + HALO * field.stride[1];
  for (int axis = 0; axis < 2; ++axis) {
    field.start[axis] = 0;
    field.extent[axis] = N;
  }
  return field;
}

static void check(int32_t code) {
  if (code == FIELDFORGE_OK) return;
  fprintf(stderr, "code %d: %s\n", (int)code, small_message());
  exit(1);
}

int main(void) {
  static double now[WIDE * WIDE], new[WIDE * WIDE];
  for (int j = 0; j < N; ++j)
    for (int i = 0; i < N; ++i) now[(j + HALO) * WIDE + i + HALO] = (i * 7 + j * 3) % 5 - 1.0;
  fieldforge_field from = with_halo(now), to = with_halo(new);
  small_set_threads(2);

  for (int step = 0; step < 4; ++step) {
    const fieldforge_field result = inside(to);
    check(small_diffuse(&from, 0.1, step % 2 == 1, &result));
    const fieldforge_field swapped = from;
    from = to;
    to = swapped;
  }
  const double *values = from.data;
  for (int j = 0; j < N; ++j)
    for (int i = 0; i < N; ++i) printf("%a\n", values[(j + HALO) * WIDE + i + HALO]);

  const fieldforge_field small = inside(from);
  const int32_t code = small_diffuse(&small, 0.1, false, &to); /* it has no halo */
  printf("code %d: %s\n", (int)code, small_message());
  return 0;
}
