"""Transcendental functions as C++ without branches or tables, for loops that are vectorised."""

from __future__ import annotations

from typing import Final

from . import exponential, hyperbolic, inverse, tools

_ROUNDED: Final = (
    "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh",
    "arctan", "arcsin", "arccos", "cbrt",
)  # fmt: skip


def _in_float64(name: str) -> tuple[str, tuple[str, ...]]:
    """Return a function of float32 that rounds the result of the float64 function."""
    return f"EACH f32 {name}_f32(f32 a) {{ return f32({name}_f64(f64(a))); }}", (f"{name}_f64",)


# Each text with the names of those that it needs, which stand before it.
_TEXTS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    **tools.FUNCTIONS, **exponential.FUNCTIONS, **hyperbolic.FUNCTIONS, **inverse.FUNCTIONS,
    **{f"{name}_f32": _in_float64(name) for name in _ROUNDED},
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
    numbered = enumerate(_TEXTS.items())
    return tuple((f"{at:02} {each}", text) for at, (each, (text, _)) in numbered if each in found)
