"""Tools that the functions share: numbers as bits and back, and the target's multiply-add."""

from __future__ import annotations

from typing import Final

FUNCTIONS: Final = {
    # `fused` is the row `fma` of the IR; all are inlined, so that loops around them are vectorised
    "tools": ("""\
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__)
#error "Sums are not kept in the order written (-ffast-math?): choose mathematics='library'."
#endif
#define EACH static inline __attribute__((always_inline))
EACH f64 fused(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
EACH f32 fused(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
EACH u64 bits(f64 a) { u64 b; __builtin_memcpy(&b, &a, 8); return b; }
EACH u32 bits(f32 a) { u32 b; __builtin_memcpy(&b, &a, 4); return b; }
EACH f64 number(u64 a) { f64 b; __builtin_memcpy(&b, &a, 8); return b; }
EACH f32 number(u32 a) { f32 b; __builtin_memcpy(&b, &a, 4); return b; }""", ()),
}  # fmt: skip
