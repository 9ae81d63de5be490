"""Hyperbolic functions, from e^x - 1 as a sum of two numbers, so that no digits cancel near 0.

Muller et al., "Handbook of Floating-Point Arithmetic", chapter 11.
"""

from __future__ import annotations

from typing import Final

FUNCTIONS: Final = {
    # `scale` is 1 or 1/4: sinh x is a number where e^x is none.
    "expm1": ("""\
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
}""", ("exp_f64",)),
    "sinh_f64": ("""\
EACH f64 sinh_f64(f64 a) {
  const f64 x = __builtin_fabs(a);
  f64 l;
  const f64 h = expm1_of(x, 0.25, l), v = 1.0 / fused(4.0, h, 1.0);
  const f64 y = 2.0 * (h + fused(h, v, fused(l * v, v, l)));
  const f64 most = x > 710.5 ? __builtin_inf() : y, all = x < 0x1p-28 ? x : most;
  return number(bits(all) | (bits(a) & 0x8000000000000000));
}""", ("expm1",)),
    "cosh_f64": ("""\
EACH f64 cosh_f64(f64 a) {
  const f64 x = __builtin_fabs(a);
  f64 l;
  const f64 h = expm1_of(x, 0.25, l), e = h + 0.25, part = e - h;
  const f64 low = ((h - (e - part)) + (0.25 - part)) + l;
  const f64 y = 2.0 * (e + (0.0625 / e + low));
  return x > 710.5 ? __builtin_inf() : y;
}""", ("expm1",)),
    "tanh_f64": ("""\
EACH f64 tanh_f64(f64 a) {
  const f64 x = __builtin_fabs(a);
  f64 l;
  const f64 h = expm1_of(2.0 * x, 1.0, l), d = h + 2.0, part = d - h;
  const f64 dl = ((h - (d - part)) + (2.0 - part)) + l;
  const f64 per = 1.0 / d, q = h * per, y = q + (fused(-q, d, h) + fused(-q, dl, l)) * per;
  const f64 most = x > 20.0 ? 1.0 : y, all = x < 0x1p-28 ? x : most;
  return number(bits(all) | (bits(a) & 0x8000000000000000));
}""", ("expm1",)),
    # The logarithm of `exponential.py` with what 1 + u lost, so that it is right near u = 0 too.
    "log1p": ("""\
EACH f64 log1p_of(f64 u, f64 more) {  // log(1 + u) + more ln 2, u >= 0
  const f64 a = 1.0 + u, part = a - u, lost = ((u - (a - part)) + (1.0 - part)) / a;
  const u64 ia = bits(a), ik = ia + 0x00095f619980c433;
  const f64 k = number(ik >> 52 | 0x4330000000000000) - 0x1.00000000003ffp+52 + more;
  const f64 f = number(ia - (ik & 0xfff0000000000000) + 0x3ff0000000000000) - 1.0;
  const f64 s = f / (2.0 + f), z = s * s, h = 0.5 * f * f, p = log_rest(z) * z;
  const f64 rest = (h - fused(s, h + p, fused(k, 0x1.ef35793c7673p-45, lost))) - f;
  return u < __builtin_inf() ? fused(k, 0x1.62e42fefa38p-1, -rest) : u;
}""", ("log_f64",)),
    "arcsinh_f64": ("""\
EACH f64 arcsinh_f64(f64 a) {
  const f64 x = __builtin_fabs(a), square = x * x, root = __builtin_sqrt(1.0 + square);
  const f64 small = x + square / (1.0 + root), u = x > 0x1p+28 ? x - 1.0 : small;
  const f64 y = log1p_of(u, x > 0x1p+28 ? 1.0 : 0.0);
  return number(bits(y) | (bits(a) & 0x8000000000000000));
}""", ("log1p",)),
    "arccosh_f64": ("""\
EACH f64 arccosh_f64(f64 a) {
  const f64 t = a - 1.0, small = t + __builtin_sqrt(fused(t, t, 2.0 * t));
  const f64 y = log1p_of(a > 0x1p+28 ? t : small, a > 0x1p+28 ? 1.0 : 0.0);
  return a < 1.0 ? __builtin_nan("") : y;
}""", ("log1p",)),
    "arctanh_f64": ("""\
EACH f64 arctanh_f64(f64 a) {
  const f64 x = __builtin_fabs(a), y = 0.5 * log1p_of(2.0 * x / (1.0 - x), 0.0);
  const f64 all = x > 1.0 ? __builtin_nan("") : y;
  return number(bits(all) | (bits(a) & 0x8000000000000000));
}""", ("log1p",)),
}  # fmt: skip
