"""Programs that take many fields and do next to nothing, for us and for gt4py, and their calls."""

from __future__ import annotations

import importlib.util
import timeit
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

COUNTS = (1, 5, 15, 30)
SCALARS = ("factor", "low", "high")
HOWS = ("positional", "keyword", "dictionary")
UNROLLED = 50  # calls in one round of the loop, so that the loop does not count

HEAD = '''
"""Written by bench/call_programs.py."""
import {package} as ff
I = ff.Dimension("I")
Line = ff.Field[ff.Dims[I], ff.float64]


@ff.field_operator
def first(a: Line, x: ff.float64) -> Line:
    return a * x
'''
PROGRAM = """

@ff.program(backend={backend}{static})
def {name}({fields}, factor: ff.float64, low: ff.int32, high: ff.int32):
    first(f0, factor, out=f{last}, domain={{I: (low, high)}})
"""


def write_module(folder: Path, package: str, backend: str) -> ModuleType:
    """Write the programs `fields_<n>`, and `static_<n>` with `factor` compiled in."""
    text = HEAD.format(package=package)
    for count in COUNTS:
        for name, static in (("fields", ""), ("static", ', static_params=("factor",)')):
            text += PROGRAM.format(
                backend=backend, static=static, name=f"{name}_{count}", last=count - 1,
                fields=", ".join(f"f{n}: Line" for n in range(count)),
            )  # fmt: skip
    path = folder / "many_fields.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("many_fields", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments(fields: list[Any]) -> dict[str, Any]:
    """Return the arguments of a program by name: the fields, and three numbers."""
    named = {f"f{n}": field for n, field in enumerate(fields)}
    return {**named, "factor": 1.0, "low": 0, "high": 1}


def repeated(
    function: Any, given: Mapping[str, Any], how: str, more: Mapping[str, Any]
) -> Callable[[], None]:
    """Return a function that calls `function` so many times, written out, in one of three ways."""
    names = [*given]
    fixed = "".join(f", {name}={name}" for name in more)
    call = {
        "positional": f"function({', '.join(names)}{fixed})",
        "keyword": f"function({', '.join(f'{n}={n}' for n in names)}{fixed})",
        "dictionary": f"function(**given{fixed})",
        "nothing": "function()",
    }[how]
    scope = {"function": function, "given": dict(given), **given, **more}
    local = ", ".join(f"{name}={name}" for name in scope)
    body = "\n    ".join([call] * UNROLLED)
    exec(f"def rounds({local}):\n    {body}\n", scope)
    rounds: Callable[[], None] = scope["rounds"]
    return rounds


def nanoseconds(rounds: Callable[[], None], seconds: float = 0.02) -> float:
    """Return the time of one call, averaged over a short while."""
    loops = max(1, round(seconds / max(timeit.timeit(rounds, number=1), 1e-9)))
    return 1e9 * timeit.timeit(rounds, number=loops) / loops / UNROLLED
