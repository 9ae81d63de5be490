"""What the functions share: bits of numbers, products without rounding, sums in the order written."""

from __future__ import annotations

from typing import Final

# `held` keeps a sum as it is written where `numerics="fast"` lets the compiler reorder sums, `fused` is
# the multiply-add of the target: of the instruction set if it has one, rounded twice if not.
TOOLS: Final = """\
#define EACH static inline __attribute__((always_inline))
#if defined(__clang__) && defined(__has_builtin)
#if __has_builtin(__arithmetic_fence)
#define held(a) __arithmetic_fence(a)
#endif
#elif defined(__GNUC__) && __GNUC__ >= 12
#define held(a) __builtin_assoc_barrier(a)
#endif
#if !defined(held) && defined(__ASSOCIATIVE_MATH__)
EACH f64 held(f64 a) { asm("" : "+m"(a)); return a; }
EACH f32 held(f32 a) { asm("" : "+m"(a)); return a; }
#elif !defined(held)
#define held(a) (a)
#endif
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
EACH f64 fused(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
EACH f32 fused(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
#else
EACH f64 fused(f64 a, f64 b, f64 c) { return held(held(a * b) + c); }
EACH f32 fused(f32 a, f32 b, f32 c) { return held(held(a * b) + c); }
#endif
EACH u64 bits(f64 a) { u64 b; __builtin_memcpy(&b, &a, 8); return b; }
EACH u32 bits(f32 a) { u32 b; __builtin_memcpy(&b, &a, 4); return b; }
EACH f64 number(u64 a) { f64 b; __builtin_memcpy(&b, &a, 8); return b; }
EACH f32 number(u32 a) { f32 b; __builtin_memcpy(&b, &a, 4); return b; }"""

# The error of a product after Dekker (1971), "A floating-point technique for extending the available
# precision", where there is no multiply-add.
PRECISE: Final = """\
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
EACH f64 precise(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
#else
EACH f64 precise(f64 a, f64 b, f64 c) {  // `a` may be so large that its split is not a number
  const f64 unit = __builtin_fabs(a) > 0x1p+900 ? 0x1p-100 : 1.0, back = __builtin_fabs(a) > 0x1p+900 ? 0x1p+100 : 1.0;
  const f64 x = a * unit, p = held(x * b), u = held(x * 0x1.0000002p+27), v = held(b * 0x1.0000002p+27);
  const f64 xh = held(u - held(u - x)), xl = held(x - xh);
  const f64 bh = held(v - held(v - b)), bl = held(b - bh);
  const f64 lost = held(held(held(held(xh * bh) - p) + held(xh * bl)) + held(xl * bh)) + held(xl * bl);
  return held(held(p + held(c * unit)) + held(lost)) * back;
}
#endif"""
