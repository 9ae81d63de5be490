"""Divide several numbers by one: a reciprocal serves all, and the quotients are those of `/`.

CUDA's `a / b` is a reciprocal, four or five steps of Newton and Markstein, and a test whether the
operands are too far from 1 for them; then it calls a function. The compiler cannot join two such
quotients across their calls. Here both take one reciprocal and one test; where it fails, they
are `a / b`. Within the ranges that the tests allow no step over- or underflows, and the
quotient is rounded as IEEE 754 says, as CUDA's is from the same steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ....ir.nests import Compute, Nest, Row

FUNCTION: Final = """\
#ifdef __CUDA_ARCH__
DEVICE bool reciprocal(f64 b, f64& r) {
  f64 e;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(b));
  r = __hiloint2double(__double2hiint(r), 1);
  e = fma(-b, r, 1.0), e = fma(e, e, e), r = fma(r, e, r);
  e = fma(-b, r, 1.0), r = fma(r, e, r);
  return fabsf(__int_as_float(__double2hiint(b))) < 1e38f;
}
DEVICE bool quotient(f64 a, f64 b, f64 r, f64& q) {
  q = a * r;
  q = fma(r, fma(-b, q, a), q);
  return (fabsf(__int_as_float(__double2hiint(a))) >= 6.5827683646048100446e-37f) &
         (fabsf(__int_as_float(__double2hiint(q))) > 1.469367938527859385e-39f);
}
DEVICE bool reciprocal(f32 b, f32& r) {
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(b));
  r = fmaf(r, fmaf(-b, r, 1.0f), r);
  return (fabsf(b) > 0x1p-60f) & (fabsf(b) < 0x1p60f);
}
DEVICE bool quotient(f32 a, f32 b, f32 r, f32& q) {
  q = a * r;
  q = fmaf(r, fmaf(-b, q, a), q);
  return (fabsf(a) > 0x1p-60f) & (fabsf(a) < 0x1p60f);
}
template <typename T, int N> DEVICE void divide(T (&q)[N], T b) {
  T r, found[N];
  bool fits = reciprocal(b, r);
#pragma unroll
  for (int i = 0; i < N; ++i) fits = fits & quotient(q[i], b, r, found[i]);
  if (!fits) {
#pragma unroll
    for (int i = 0; i < N; ++i) found[i] = q[i] / b;
  }
#pragma unroll
  for (int i = 0; i < N; ++i) q[i] = found[i];
}
#else
template <typename T, int N> DEVICE void divide(T (&q)[N], T b) {
  for (int i = 0; i < N; ++i) q[i] = q[i] / b;
}
#endif"""


def shared_divisions(nest: Nest) -> Mapping[Row, Sequence[Row]]:
    """Return the quotients by one number of each level: of the last of them, all.

    Quotients wait for the last of them, so nothing between may use them.
    """
    found: dict[tuple[Row, int, int, str], list[Row]] = {}
    for number, row in enumerate(nest.body):
        if isinstance(row, Compute) and row.op == "div" and row.dtype in ("float32", "float64"):
            found.setdefault((row.args[1], row.level, row.part, row.dtype), []).append(number)
    return {
        rows[-1]: rows
        for rows in found.values()
        if len(rows) > 1
        and not any(
            set(rows) & set(nest.body[between].operands)
            for between in range(rows[0] + 1, rows[-1] + 1)
        )
    }
