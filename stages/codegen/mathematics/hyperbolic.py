"""Hyperbolic functions, from e^x - 1 in two numbers: nothing cancels near 0 (Muller et al., chapter 11)."""

from __future__ import annotations

from typing import Final

# `scale` is 1 or 1/4: sinh x is a number where e^x is none. The exponent of `unit` has 2 less to begin with.
EXPM1: Final = """\
EACH f64 expm1_of(f64 a, f64 scale, f64& low) {  // (e^a - 1) * scale, a >= 0, is what is returned and `low`
  const f64 shifted = held(fused(a, 0x1.71547652b82fep+0, 0x1.80000000003fdp+52));
  const f64 n = held(shifted - 0x1.80000000003fdp+52);
  const f64 rh = fused(n, -0x1.62e42fefa38p-1, a), rl = held(n * -0x1.ef35793c7673p-45);
  const f64 r = held(rh + rl), r2 = r * r, part = fused(exp_rest(r, r2), r2, held(held(rh - r) + rl));
  const f64 q = held(r + part), e = held(held(r - q) + part);
  const f64 unit = held(number(bits(shifted) << 52) * (4.0 * scale));
  const f64 more = held(unit - scale), much = held(unit * q);
  const f64 y = held(more + much);
  low = fused(unit, e, held(much - held(y - more))) + held(held(unit - more) - scale);
  return y;
}"""

SINH_F64: Final = """\
EACH f64 sinh_f64(f64 a) {
  const f64 x = __builtin_fabs(a);
  f64 l;
  const f64 h = expm1_of(x, 0.25, l), v = 1.0 / fused(4.0, h, 1.0);
  const f64 y = 2.0 * held(h + fused(h, v, fused(held(l * v), v, l)));
  const f64 most = x > 711.0 ? __builtin_inf() : y, all = x < 0x1p-28 ? x : most;
  return number(bits(all) | (bits(a) & 0x8000000000000000));
}"""

COSH_F64: Final = """\
EACH f64 cosh_f64(f64 a) {
  const f64 x = __builtin_fabs(a);
  f64 l;
  const f64 h = expm1_of(x, 0.25, l), e = held(h + 0.25), part = held(e - h);
  const f64 low = held(held(h - held(e - part)) + held(0.25 - part)) + l;
  const f64 y = 2.0 * held(e + (0.0625 / e + low));
  return x > 711.0 ? __builtin_inf() : y;
}"""

TANH_F64: Final = """\
EACH f64 tanh_f64(f64 a) {
  const f64 x = __builtin_fabs(a);
  f64 l;
  const f64 h = expm1_of(2.0 * x, 1.0, l), d = held(h + 2.0), part = held(d - h);
  const f64 dl = held(held(h - held(d - part)) + held(2.0 - part)) + l;
  const f64 per = 1.0 / d, q = held(h * per), y = held(q + held(precise(-q, d, h) + fused(-q, dl, l)) * per);
  const f64 most = x > 20.0 ? 1.0 : y, all = x < 0x1p-28 ? x : most;
  return number(bits(all) | (bits(a) & 0x8000000000000000));
}"""
