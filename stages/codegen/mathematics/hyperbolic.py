"""Hyperbolic functions, from e^x - 1 in two numbers so that nothing cancels near 0.

Muller et al., "Handbook of Floating-Point Arithmetic", chapter 11.
"""

from __future__ import annotations

from typing import Final

# `scale` is 1 or 1/4: sinh x is a number where e^x is none.
EXPM1: Final = """\
EACH f64 expm1_of(f64 a, f64 scale, f64& low) {  // the result and `low` are (e^a - 1) scale
  const f64 shifted = fused(a, 0x1.71547652b82fep+0, 0x1.80000000003fdp+52);
  const f64 n = shifted - 0x1.80000000003fdp+52;
  const f64 rh = fused(n, -0x1.62e42fefa38p-1, a), rl = n * -0x1.ef35793c7673p-45;
  const f64 r = rh + rl, r2 = r * r, part = fused(exp_rest(r, r2), r2, (rh - r) + rl);
  const f64 q = r + part, e = (r - q) + part;
  const f64 unit = number(bits(shifted) << 52) * (4.0 * scale);
  const f64 more = unit - scale, much = unit * q;
  const f64 y = more + much;
  low = fused(unit, e, much - (y - more)) + ((unit - more) - scale);
  return y;
}"""

SINH_F64: Final = """\
EACH f64 sinh_f64(f64 a) {
  const f64 x = __builtin_fabs(a);
  f64 l;
  const f64 h = expm1_of(x, 0.25, l), v = 1.0 / fused(4.0, h, 1.0);
  const f64 y = 2.0 * (h + fused(h, v, fused(l * v, v, l)));
  const f64 most = x > 711.0 ? __builtin_inf() : y, all = x < 0x1p-28 ? x : most;
  return number(bits(all) | (bits(a) & 0x8000000000000000));
}"""

COSH_F64: Final = """\
EACH f64 cosh_f64(f64 a) {
  const f64 x = __builtin_fabs(a);
  f64 l;
  const f64 h = expm1_of(x, 0.25, l), e = h + 0.25, part = e - h;
  const f64 low = ((h - (e - part)) + (0.25 - part)) + l;
  const f64 y = 2.0 * (e + (0.0625 / e + low));
  return x > 711.0 ? __builtin_inf() : y;
}"""

TANH_F64: Final = """\
EACH f64 tanh_f64(f64 a) {
  const f64 x = __builtin_fabs(a);
  f64 l;
  const f64 h = expm1_of(2.0 * x, 1.0, l), d = h + 2.0, part = d - h;
  const f64 dl = ((h - (d - part)) + (2.0 - part)) + l;
  const f64 per = 1.0 / d, q = h * per, y = q + (fused(-q, d, h) + fused(-q, dl, l)) * per;
  const f64 most = x > 20.0 ? 1.0 : y, all = x < 0x1p-28 ? x : most;
  return number(bits(all) | (bits(a) & 0x8000000000000000));
}"""
