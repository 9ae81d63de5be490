"""Exponential, logarithm and power.

x = n ln 2 + r is the reduction of Cody and Waite (1980, "Software Manual for the Elementary
Functions"): ln 2 in two numbers, the first so short that its product with n is exact. Adding
1.5 * 2^52 rounds to an integer in the low bits; AVX2 has no conversion to 64-bit integers.
The logarithm is the series of (m - 1) / (m + 1) of Tang (1990, "Table-driven implementation of the
logarithm function in IEEE floating-point arithmetic"), without the table. `bench/coefficients.py`
computes the polynomials; the code evaluates them by Estrin's scheme.

The code adds exponents in integers of half the width, so compilers process two registers of
numbers at a time, and the latencies of the two chains overlap. Code that has one number at a time
(`ALONE`, on GPUs) adds an exponent as it is where the sum is one.
"""

from __future__ import annotations

from typing import Final

FUNCTIONS: Final = {
    "exp_f64": ("""\
EACH f64 exp_rest(f64 r, f64 r2) {  // of which e^r = 1 + r + r^2 rest
  const f64 r4 = r2 * r2;
  const f64 a = fused(0x1.5555555555561p-3, r, 0x1.000000000000bp-1);
  const f64 b = fused(0x1.111111110d642p-7, r, 0x1.5555555550030p-5);
  const f64 c = fused(0x1.a01a01badf284p-13, r, 0x1.6c16c185a75bep-10);
  const f64 d = fused(0x1.71dddfd30448dp-19, r, 0x1.a0199693b2f78p-16);
  const f64 e = fused(0x1.af857c2f3a743p-26, r, 0x1.28b0491bc5d45p-22);
  return fused(fused(e, r4, fused(d, r2, c)), r4, fused(b, r2, a));
}
EACH f64 scaled(f64 a, f64 shifted) {  // by 2^n in two steps: n may lie beyond the exponents
  const u32 n = u32(bits(shifted)), half = n >> 1;
  return a * number(u64(half << 20) << 32) * number(u64((n - half) << 20) << 32);
}
EACH f64 exp_f64(f64 a) {
  const f64 shifted = fused(a, 0x1.71547652b82fep+0, 0x1.80000000007fep+52);
  const f64 n = shifted - 0x1.80000000007fep+52;
  const f64 r = fused(n, -0x1.ef35793c7673p-45, fused(n, -0x1.62e42fefa38p-1, a)), r2 = r * r;
  const f64 x = 1.0 + fused(exp_rest(r, r2), r2, r);
  if (ALONE && __builtin_fabs(a) < 708.0)
    return number(bits(x) + (bits(shifted) << 52) - 0x7fe0000000000000);
  const f64 y = scaled(x, shifted);
  const f64 z = a > 710.0 ? __builtin_inf() : y;
  return a < -746.0 ? 0.0 : z;
}""", ("tools",)),
    "exp_f32": ("""\
EACH f32 scaled(f32 a, f32 shifted) {
  const u16 n = u16(bits(shifted)), half = u16(n >> 1);
  return a * number(u32(u16(half << 7)) << 16) * number(u32(u16((n - half) << 7)) << 16);
}
EACH f32 exp_f32(f32 a) {
  const f32 shifted = fused(a, 0x1.715476p+0f, 0x1.8001fcp+23f), n = shifted - 0x1.8001fcp+23f;
  const f32 r = fused(n, -0x1.7f7d1cp-20f, fused(n, -0x1.62e4p-1f, a)), r2 = r * r;
  const f32 b = fused(0x1.123b56p-7f, r, 0x1.55545ep-5f);
  const f32 p = fused(fused(0x1.6db42ap-10f, r2, b), r2, fused(0x1.55548ep-3f, r, 0x1p-1f));
  const f32 x = 1.0f + fused(p, r2, r);
  if (ALONE && __builtin_fabsf(a) < 87.0f)
    return number(bits(x) + (bits(shifted) << 23) - 0x7f000000);
  const f32 y = scaled(x, shifted);
  const f32 z = a > 89.0f ? __builtin_inff() : y;
  return a < -104.0f ? 0.0f : z;
}""", ("tools",)),
    "log_f64": ("""\
EACH f64 log_rest(f64 z) {  // of which log(1 + f) = 2 s + s z rest
  const f64 z2 = z * z;
  const f64 b = fused(0x1.c71c52060f474p-3, z, 0x1.24924941f4f0cp-2);
  const f64 c = fused(0x1.39a1a7119f29ep-3, z, 0x1.74663fa0e78d3p-3);
  const f64 d = fused(fused(0x1.2f0633aca8089p-3, z2, c), z2, b);
  return fused(d, z2, fused(0x1.999999997fd78p-2, z, 0x1.5555555555592p-1));
}
EACH f64 log_f64(f64 a) {
  const f64 unit = a < 0x1p-1022 ? 0x1p+54 : 1.0;
  const f64 bias = a < 0x1p-1022 ? 0x1.0000000000435p+52 : 0x1.00000000003ffp+52;
  const u64 ia = bits(a * unit), ik = ia + 0x00095f619980c433;
  const f64 k = number(u64(u32(ik >> 52)) | 0x4330000000000000) - bias;
  const f64 f = number(ia - (ik & 0xfff0000000000000) + 0x3ff0000000000000) - 1.0;
  const f64 s = f / (2.0 + f), z = s * s, h = 0.5 * f * f;
  const f64 p = log_rest(z) * z;
  const f64 rest = (h - fused(s, h + p, k * 0x1.ef35793c7673p-45)) - f;
  const f64 y = a < __builtin_inf() ? fused(k, 0x1.62e42fefa38p-1, -rest) : a;
  const f64 n = a == 0.0 ? -__builtin_inf() : __builtin_nan("");
  return a > 0.0 ? y : n;
}""", ("tools",)),
    "log_f32": ("""\
EACH f32 log_f32(f32 a) {
  const f32 unit = a < 0x1p-126f ? 0x1p+25f : 1.0f, bias = a < 0x1p-126f ? 152.0f : 127.0f;
  const u32 ia = bits(a * unit), ik = ia + 0x004afb0d;
  const f32 k = f32(s32(u16(ik >> 23))) - bias;
  const f32 f = number(ia - (ik & 0xff800000) + 0x3f800000) - 1.0f, f2 = f * f, f4 = f2 * f2;
  const f32 b = fused(-0x1.ffffeep-3f, f, 0x1.555546p-2f);
  const f32 c = fused(-0x1.5562e4p-3f, f, 0x1.99a546p-3f);
  const f32 d = fused(-0x1.fb4328p-4f, f, 0x1.2332cp-3f);
  const f32 e = fused(-0x1.e2e9cp-4f, f, 0x1.e650a4p-4f);
  const f32 p = fused(fused(fused(0x1.1b42c8p-4f, f2, e), f2, d), f4, fused(c, f2, b)) * f;
  const f32 rest = fused(p, f2, fused(-0.5f, f2, k * 0x1.7f7d1cp-20f));
  const f32 y = a < __builtin_inff() ? fused(k, 0x1.62e4p-1f, f + rest) : a;
  const f32 n = a == 0.0f ? -__builtin_inff() : __builtin_nanf("");
  return a > 0.0f ? y : n;
}""", ("tools",)),
    # The special cases of C99, annex F.9.4.4; `r` is the power of the absolute value of the base.
    "power_cases": ("""\
EACH f64 power_cases(f64 a, f64 b, f64 r) {
  const f64 size = __builtin_fabs(b), e = size > 0x1p+52 ? 0x1p+52 : size;
  const f64 less = size > 0x1p+53 ? 0x1p+53 : size, half = 0.5 * less;
  const f64 part = (e + 0x1p+52) - 0x1p+52 - e;  // 0 if b is an integer
  const f64 odd = (half + 0x1p+52) - 0x1p+52 - half;  // and this if it is an even one
  const u64 flips = odd != 0.0 ? 0x8000000000000000 : 0, flip = part == 0.0 ? flips : 0;
  const f64 s = number(bits(r) | (bits(a) & flip)), none = part == 0.0 ? s : __builtin_nan("");
  const f64 below = a < 0.0 ? none : s, y = a == -__builtin_inf() ? s : below;
  const f64 turn = size == __builtin_inf() ? 1.0 : y, one = a == -1.0 ? turn : y;
  const f64 same = a == 1.0 ? 1.0 : one;
  return b == 0.0 ? 1.0 : same;
}""", ("tools",)),
    # The logarithm is a sum of two numbers, with an error of 2^-65; so are s and its series
    # up to s^3.
    "pow_f64": ("""\
EACH f64 pow_f64(f64 a, f64 b) {
  const f64 size = __builtin_fabs(a);
  const bool small = size < 0x1p-1022;
  const f64 unit = small ? 0x1p+54 : 1.0;
  const f64 bias = small ? 0x1.0000000000435p+52 : 0x1.00000000003ffp+52;
  const u64 ia = bits(size * unit), ik = ia + 0x00095f619980c433;
  const f64 k = number(ik >> 52 | 0x4330000000000000) - bias;
  const f64 m = number(ia - (ik & 0xfff0000000000000) + 0x3ff0000000000000), f = m - 1.0;
  const f64 th = m + 1.0, tl = m - (th - 1.0), per = 1.0 / th;
  const f64 sh = f * per, sl = (fused(-sh, th, f) - sh * tl) * per;
  const f64 zh = sh * sh, zl = fused(2.0 * sh, sl, fused(sh, sh, -zh)), z2 = zh * zh;
  const f64 p0 = fused(0x1.2492492493036p-2, zh, 0x1.9999999999996p-2);
  const f64 p1 = fused(0x1.745d18326255cp-3, zh, 0x1.c71c71c58047ap-3);
  const f64 p2 = fused(0x1.1120b63e16ba7p-3, zh, 0x1.3b1362b1eda44p-3);
  const f64 p3 = fused(0x1.eb11ebfb887e0p-4, zh, 0x1.de33581c8d58dp-4);
  const f64 u = fused(fused(p3, z2, p2), z2 * z2, fused(p1, z2, p0)) * zh;
  const f64 vh = 0x1.5555555555555p-1 + u;
  const f64 vl = (u - (vh - 0x1.5555555555555p-1)) + 0x1.5555555555555p-55;
  const f64 wh = zh * vh, wl = fused(zh, vl, fused(zl, vh, fused(zh, vh, -wh)));
  const f64 xh = sh * wh, xl = fused(sh, wl, fused(sl, wh, fused(sh, wh, -xh)));
  const f64 mh = 2.0 * sh + xh, ml = (xh - (mh - 2.0 * sh)) + fused(2.0, sl, xl);
  const f64 kh = k * 0x1.62e42fefa38p-1, yh = kh + mh;
  const f64 yl = (mh - (yh - kh)) + fused(k, 0x1.ef35793c7673p-45, ml);
  const f64 some = size < __builtin_inf() ? yh : size, lh = size == 0.0 ? -__builtin_inf() : some;
  const f64 ph = b * lh, pl = fused(b, yl, fused(b, yh, -ph));
  const f64 shifted = fused(ph, 0x1.71547652b82fep+0, 0x1.80000000007fep+52);
  const f64 n = shifted - 0x1.80000000007fep+52;
  const f64 rh = fused(n, -0x1.62e42fefa38p-1, ph), rl = fused(n, -0x1.ef35793c7673p-45, pl);
  const f64 r = rh + rl, r2 = r * r, e = r + fused(exp_rest(r, r2), r2, (rh - r) + rl);
  const f64 x = scaled(1.0 + e, shifted), y = ph > 710.0 ? __builtin_inf() : x;
  return power_cases(a, b, ph < -746.0 ? 0.0 : y);
}""", ("exp_f64", "power_cases")),
    # In float64: a logarithm with 45 correct bits and a power with 34 suffice for float32.
    "pow_f32": ("""\
EACH f32 pow_f32(f32 a, f32 b) {
  const f64 size = f64(__builtin_fabsf(a)), c = f64(b);
  const u64 ia = bits(size), ik = ia + 0x00095f619980c433;
  const f64 k = number(ik >> 52 | 0x4330000000000000) - 0x1.00000000003ffp+52;
  const f64 m = number(ia - (ik & 0xfff0000000000000) + 0x3ff0000000000000);
  const f64 s = ratio(m - 1.0, m + 1.0), z = s * s, z2 = z * z;
  const f64 l0 = fused(0x1.ec709dc53dd64p-1, z, 0x1.71547652b8250p+1);
  const f64 l1 = fused(0x1.a61a2feb5230bp-2, z, 0x1.2776c291b8d47p-1);
  const f64 l2 = fused(0x1.21b33edc32041p-2, z, 0x1.47952a4eeb0c5p-2);
  const f64 y = fused(s, fused(fused(l2, z2, l1), z2, l0), k);
  const f64 some = size < __builtin_inf() ? y : size;
  const f64 p = c * (size == 0.0 ? -__builtin_inf() : some);
  const f64 shifted = p + 0x1.80000000003ffp+52, r = p - (shifted - 0x1.80000000003ffp+52);
  const f64 r2 = r * r;
  const f64 e0 = fused(0x1.62e42fef6ccf9p-1, r, 0x1.ffffffffa70c6p-1);
  const f64 e1 = fused(0x1.c6b08e06f991fp-5, r, 0x1.ebfbe0aa0b7f9p-3);
  const f64 e2 = fused(0x1.5d8715aa5b42dp-10, r, 0x1.3b29d8b5f51d7p-7);
  const f64 e3 = fused(0x1.00f7b681fe252p-16, r, 0x1.446c7d566ffc0p-13);
  const f64 e = fused(fused(e3, r2, e2), r2 * r2, fused(e1, r2, e0));
  const f64 x = e * number(bits(shifted) << 52), most = p > 300.0 ? __builtin_inf() : x;
  return f32(power_cases(f64(a), c, p < -300.0 ? 0.0 : most));
}""", ("power_cases",)),
}  # fmt: skip
