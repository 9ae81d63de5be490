"""Transcendental functions as C++ without branches or tables, for loops that are vectorised."""

from __future__ import annotations

from typing import Final

from . import exponential, hyperbolic, inverse

# Numbers as bits and back, and the target's multiply-add: `fused` is the row `fma` of the IR. All
# are inlined, so that loops around them are vectorised.
_TOOLS: Final = """\
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__)
#error "Sums are not kept in the order written (-ffast-math?): choose mathematics='library'."
#endif
#define EACH static inline __attribute__((always_inline))
EACH f64 fused(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
EACH f32 fused(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
EACH u64 bits(f64 a) { u64 b; __builtin_memcpy(&b, &a, 8); return b; }
EACH u32 bits(f32 a) { u32 b; __builtin_memcpy(&b, &a, 4); return b; }
EACH f64 number(u64 a) { f64 b; __builtin_memcpy(&b, &a, 8); return b; }
EACH f32 number(u32 a) { f32 b; __builtin_memcpy(&b, &a, 4); return b; }
#define ALONE false
EACH f64 ratio(f64 a, f64 b) { return a / b; }"""
# The same tools where a branch is cheap; `ratio` needs none where b is near 1, and a 0 or near 1.
FOR_THREADS: Final = {
    "u16": "u32",  # only lanes of CPUs gain from integers of 16 bits; upper bits never count
    "#define ALONE false": "#define ALONE true",
    "EACH f64 ratio(f64 a, f64 b) { return a / b; }": """\
EACH f64 ratio(f64 a, f64 b) {  // the steps of CUDA's a / b, without its test
#ifdef __CUDA_ARCH__
  f64 r, e;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(b));
  r = __hiloint2double(__double2hiint(r), 1);
  e = fused(-b, r, 1.0), e = fused(e, e, e), r = fused(r, e, r), r = fused(r, fused(-b, r, 1.0), r);
  const f64 q = a * r;
  return fused(r, fused(-b, q, a), q);
#else
  return a / b;
#endif
}""",
}
# In float32 they round the result of the float64 function.
_ROUNDED: Final = (
    "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh",
    "arctan", "arcsin", "arccos", "cbrt",
)  # fmt: skip


# Each text with the names of those that it needs, which stand before it.
_TEXTS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "tools": (_TOOLS, ()), **exponential.FUNCTIONS, **hyperbolic.FUNCTIONS, **inverse.FUNCTIONS,
    **{
        f"{name}_f32": (
            f"EACH f32 {name}_f32(f32 a) {{ return f32({name}_f64(f64(a))); }}", (f"{name}_f64",)
        )
        for name in _ROUNDED
    },
}  # fmt: skip
NAMES: Final = tuple(name for name in _TEXTS if name.endswith(("_f32", "_f64")))


def function(name: str) -> tuple[tuple[str, str], ...]:
    """Return a function and those that it calls, by names that sort in the order of definition.

    >>> [name for name, _ in function("pow_f32")]
    ['00 tools', '05 power_cases', '07 pow_f32']
    >>> function("gamma_f64")  # is not here
    ()
    """
    found = {name}
    for each in reversed(_TEXTS):
        found.update(_TEXTS[each][1] if each in found else ())
    return tuple(
        (f"{at:02} {each}", text)
        for at, (each, (text, _)) in enumerate(_TEXTS.items())
        if each in found
    )
