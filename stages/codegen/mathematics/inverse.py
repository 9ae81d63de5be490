"""Arc tangent, arc sine, arc cosine and the cube root.

atan x is a polynomial of x, of (x - 1) / (x + 1) or of -1 / x, whichever is smallest, after Cody
and Waite (1980); the quotient has a second number for what its rounding lost. asin x is a
polynomial up to 0.5 and pi / 2 - 2 asin sqrt((1 - x) / 2) beyond. The cube root begins with a
polynomial, then takes a step of Halley's method and one of Newton's whose residual is exact
(Muller et al., "Handbook of Floating-Point Arithmetic", chapter 4).
"""

from __future__ import annotations

from typing import Final

FUNCTIONS: Final = {
    "arc_rest": ("""\
EACH f64 arc_rest(f64 z) {  // of which asin x = x + x z rest
  const f64 z2 = z * z, z4 = z2 * z2, z8 = z4 * z4;
  const f64 p0 = fused(0x1.333333332df7ep-4, z, 0x1.5555555555578p-3);
  const f64 p1 = fused(0x1.f1c71a8dc0acbp-6, z, 0x1.6db6db7226116p-5);
  const f64 p2 = fused(0x1.1c49e2b567bb1p-6, z, 0x1.6e8bdfa6bf8c5p-6);
  const f64 p3 = fused(0x1.757b753ab38f2p-7, z, 0x1.ca20cea45776ep-7);
  const f64 p4 = fused(0x1.e2bcfcad89bdep-9, z, 0x1.61740ea0dfabdp-7);
  const f64 p5 = fused(-0x1.59552a5dc3570p-6, z, 0x1.6493273705c85p-6);
  const f64 pa0 = fused(p1, z2, p0);
  const f64 pa1 = fused(p3, z2, p2);
  const f64 pa2 = fused(p5, z2, p4);
  const f64 pb0 = fused(pa1, z4, pa0);
  const f64 pb1 = fused(0x1.0bb0970aff0a7p-5, z4, pa2);
  const f64 p = fused(pb1, z8, pb0);
  return p;
}""", ("tools",)),
    "arctan_f64": ("""\
EACH f64 arctan_f64(f64 a) {
  const f64 x = __builtin_fabs(a);
  const f64 over = x > 0x1.3504f333f9de6p+1 ? -1.0 : x - 1.0;
  const f64 under = x > 0x1.3504f333f9de6p+1 ? x : x + 1.0;
  const f64 first = x > 0x1.3504f333f9de6p+1 ? 0x1.921fb54442d18p+0 : 0x1.921fb54442d18p-1;
  const f64 more = x > 0x1.3504f333f9de6p+1 ? 0x1.1a62633145c07p-54 : 0x1.1a62633145c07p-55;
  const bool small = x < 0x1.a827999fcef32p-2;
  const f64 num = small ? x : over, den = small ? 1.0 : under, base = small ? 0.0 : first;
  const f64 lost = base == 0x1.921fb54442d18p-1 ? x - (over + 1.0) : 0.0;
  const f64 tail = base == 0x1.921fb54442d18p-1 ? x - (under - 1.0) : 0.0;
  const f64 per = 1.0 / den, uh = num * per;
  const f64 rest = small ? 0.0 : (fused(den, -uh, num) + (lost - uh * tail)) * per + more;
  const f64 u = den == __builtin_inf() ? 0.0 : uh, ul = den == __builtin_inf() ? more : rest;
  const f64 z = u * u, z2 = z * z, z4 = z2 * z2, z8 = z4 * z4;
  const f64 p0 = fused(0x1.99999999958ebp-3, z, -0x1.555555555553dp-2);
  const f64 p1 = fused(0x1.c71c70e7a2326p-4, z, -0x1.24924922b1204p-3);
  const f64 p2 = fused(0x1.3b111c6468d57p-4, z, -0x1.745cf90b18bc3p-4);
  const f64 p3 = fused(0x1.df1167586898cp-5, z, -0x1.10ebdd9c78d0fp-4);
  const f64 p4 = fused(0x1.37ed3d111a89bp-5, z, -0x1.9cdc25e97fda5p-5);
  const f64 pa0 = fused(p1, z2, p0);
  const f64 pa1 = fused(p3, z2, p2);
  const f64 pa2 = fused(-0x1.259d405dad99fp-6, z2, p4);
  const f64 pb0 = fused(pa1, z4, pa0);
  const f64 p = fused(pa2, z8, pb0);
  const f64 s = base + u, e = u - (s - base);
  const f64 y = s + (e + fused(u * z, p, ul));
  return number(bits(y) | (bits(a) & 0x8000000000000000));
}""", ("tools",)),
    "arcsin_f64": ("""\
EACH f64 arcsin_f64(f64 a) {
  const f64 x = __builtin_fabs(a), far = 0.5 * (1.0 - x);
  const f64 z = x > 0.5 ? far : x * x, root = __builtin_sqrt(far), s = x > 0.5 ? root : x;
  const f64 part = s * z * arc_rest(z);
  const f64 lost = fused(-root, root, far) / root;  // twice what the root is short of
  const f64 near = s + part, most = 0x1.921fb54442d18p+0 - 2.0 * root;
  const f64 e = (0x1.921fb54442d18p+0 - most) - 2.0 * root;
  const f64 less = far > 0.0 ? 2.0 * part + lost : 0.0;
  const f64 y = x > 0.5 ? most + (e - (less - 0x1.1a62633145c07p-54)) : near;
  return number(bits(y) | (bits(a) & 0x8000000000000000));
}""", ("arc_rest",)),
    "arccos_f64": ("""\
EACH f64 arccos_f64(f64 a) {
  const f64 x = __builtin_fabs(a), far = 0.5 * (1.0 - x);
  const f64 z = x > 0.5 ? far : x * x, root = __builtin_sqrt(far), s = x > 0.5 ? root : a;
  const f64 part = s * z * arc_rest(z), lost = fused(-root, root, far) / root;
  const f64 low = far > 0.0 ? 2.0 * part + lost : 0.0;
  const f64 above = 2.0 * root + low;
  const f64 turn = 0x1.921fb54442d18p+1 - 2.0 * root;
  const f64 back = (0x1.921fb54442d18p+1 - turn) - 2.0 * root;
  const f64 below = turn + (back - (low - 0x1.1a62633145c07p-53));
  const f64 most = 0x1.921fb54442d18p+0 - s, e = (0x1.921fb54442d18p+0 - most) - s;
  const f64 near = most + (e - (part - 0x1.1a62633145c07p-54)), other = a > 0.0 ? above : below;
  return x > 0.5 ? other : near;
}""", ("arc_rest",)),
    "cbrt_f64": ("""\
EACH f64 cbrt_f64(f64 a) {
  const f64 size = __builtin_fabs(a);
  const f64 unit = size < 0x1p-1022 ? 0x1p+54 : 1.0;
  const f64 bias = size < 0x1p-1022 ? 0x1.0000000000435p+52 : 0x1.00000000003ffp+52;
  const f64 x = size * unit, k = number(bits(x) >> 52 | 0x4330000000000000) - bias;
  const f64 third = fused(k, 0x1.5555555555555p-2, 0x1.80000000003ffp+52);
  const f64 n = third - 0x1.80000000003ffp+52;
  const f64 left = fused(n, -3.0, k);  // -1, 0 or 1
  const f64 m = number((bits(x) & 0x000fffffffffffff) | (bits(left + 0x1.80000000003ffp+52) << 52));
  const f64 m2 = m * m, m4 = m2 * m2;
  const f64 p0 = fused(0x1.aba5768879310p-1, m, 0x1.dd2b9ee265940p-2);
  const f64 p1 = fused(0x1.3a834de1e979dp-3, m, -0x1.b56433fc68061p-2);
  const f64 p2 = fused(0x1.25689fd474e1fp-9, m, -0x1.e051e4a621000p-6);
  const f64 pa0 = fused(p1, m2, p0);
  const f64 p = fused(p2, m4, pa0);
  const f64 cube = p * p * p, q = p * fused(2.0, m, cube) / fused(2.0, cube, m);
  const f64 square = q * q, rest = fused(-square, q, m) - fused(q, q, -square) * q;
  const f64 y = fused(rest, q / (3.0 * m), q) * number(bits(third) << 52);
  const f64 some = size < __builtin_inf() ? y : size, all = size == 0.0 ? 0.0 : some;
  return number(bits(all) | (bits(a) & 0x8000000000000000));
}""", ("tools",)),
}  # fmt: skip
