"""Transcendental functions as C++ without branches or tables, for loops that are vectorised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from . import exponential as e
from . import hyperbolic as h
from . import inverse as i
from . import tools

_ROUNDED: Final = (
    "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh",
    "arctan", "arcsin", "arccos", "cbrt",
)  # fmt: skip


def _in_float64(name: str) -> tuple[str, tuple[str, ...]]:
    """Return a function of float32 that rounds the result of the float64 function."""
    return f"EACH f32 {name}_f32(f32 a) {{ return f32({name}_f64(f64(a))); }}", (f"{name}_f64",)


_TEXTS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "tools": (tools.TOOLS, ()),
    "exp_f64": (e.EXP_F64, ("tools",)),
    "exp_f32": (e.EXP_F32, ("tools",)),
    "log_f64": (e.LOG_F64, ("tools",)),
    "log_f32": (e.LOG_F32, ("tools",)),
    "power_cases": (e.POWER_CASES, ("tools",)),
    "pow_f64": (e.POW_F64, ("exp_f64", "power_cases")),
    "pow_f32": (e.POW_F32, ("power_cases",)),
    "expm1": (h.EXPM1, ("exp_f64",)),
    "sinh_f64": (h.SINH_F64, ("expm1",)),
    "cosh_f64": (h.COSH_F64, ("expm1",)),
    "tanh_f64": (h.TANH_F64, ("expm1",)),
    "log1p": (h.LOG1P, ("log_f64",)),
    "arcsinh_f64": (h.ARCSINH_F64, ("log1p",)),
    "arccosh_f64": (h.ARCCOSH_F64, ("log1p",)),
    "arctanh_f64": (h.ARCTANH_F64, ("log1p",)),
    "arc_rest": (i.ARC_SERIES, ("tools",)),
    "arctan_f64": (i.ARCTAN_F64, ("tools",)),
    "arcsin_f64": (i.ARCSIN_F64, ("arc_rest",)),
    "arccos_f64": (i.ARCCOS_F64, ("arc_rest",)),
    "cbrt_f64": (i.CBRT_F64, ("tools",)),
    **{f"{name}_f32": _in_float64(name) for name in _ROUNDED},
}
NAMES: Final = tuple(name for name in _TEXTS if name.endswith(("_f32", "_f64")))
_PLACES: Final = {name: place for place, name in enumerate(_TEXTS)}


def is_written(name: str) -> bool:
    """Tell whether there is a function of that name.

    >>> is_written("exp_f64"), is_written("gamma_f64")
    (True, False)
    """
    return name in _TEXTS


def function(name: str) -> tuple[tuple[str, str], ...]:
    """Return a function and those that it calls, by names that sort in the order of definition.

    >>> [name for name, _ in function("pow_f32")]
    ['00 tools', '05 power_cases', '07 pow_f32']
    """
    found = {name}
    waiting: Sequence[str] = (name,)
    while waiting:
        waiting = tuple(need for each in waiting for need in _TEXTS[each][1] if need not in found)
        found.update(waiting)
    return tuple(
        (f"{_PLACES[each]:02} {each}", _TEXTS[each][0])
        for each in sorted(found, key=_PLACES.__getitem__)
    )
