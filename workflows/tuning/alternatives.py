"""What the cost model did not choose: predicted seconds of a program with one decision changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from ...runtime.process import classes
from ...runtime.process.errors import FieldforgeError
from ...stages.codegen.plan.seconds import MachineClass
from ...stages.codegen.plan.sizes import Sizes
from ...stages.codegen.plan.text_seconds import text_seconds
from .predicted import predicted

MOST: Final = 16  # values that are turned
_DECIDED: Final = re.compile(r"(%\d+) is (an array|computed in place)")
# The source and the listing of the loops of a program with other options.
Generate = Callable[[dict[str, tuple[str, ...]]], tuple[str, str]]


@classes.frozen
class Alternative:
    """A plan: the seconds of a call and of a build; `name` is the value that it turns."""

    name: str
    now: str
    other: str
    seconds: float
    build: float


def alternatives(
    generate: Generate, sizes: Sizes, machine: MachineClass
) -> tuple[Alternative, tuple[Alternative, ...]]:
    """Return the present plan, and those in which one value is an array or computed in place."""
    source, loops = generate({})
    now = Alternative("", "", "", predicted(loops, sizes, machine), text_seconds(len(source)))
    return now, tuple(_turned(generate, loops, sizes, machine))


def _turned(
    generate: Generate, loops: str, sizes: Sizes, machine: MachineClass
) -> Iterator[Alternative]:
    for name, what in list(dict.fromkeys(_DECIDED.findall(loops)))[:MOST]:
        option = "inline" if what == "an array" else "arrays"
        try:
            source, other = generate({option: (name,)})
        except FieldforgeError:  # not every value can be an array
            continue
        if other and other != loops:
            seconds = predicted(other, sizes, machine)
            words = ("array", "in place") if what == "an array" else ("in place", "array")
            yield Alternative(name, *words, seconds, text_seconds(len(source)))


def told(now: Alternative, others: tuple[Alternative, ...], where: str) -> str:
    """Return a line for the present plan and one for each value.

    >>> now = Alternative("", "", "", 1.29e-3, 0.6)
    >>> print(told(now, (Alternative("%34", "in place", "array", 1.34e-3, 0.7),), "epyc"))
    predicted: 1.29 ms a call, 0.6 s to build (epyc)
      %34 in place 1.29 ms; array 1.34 ms
    """
    lines = [f"predicted: {_time(now.seconds)} a call, {now.build:.1f} s to build ({where})"]
    lines += [
        f"  {each.name} {each.now} {_time(now.seconds)}; {each.other} {_time(each.seconds)}"
        for each in others
    ]
    return "\n".join(lines)


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.3g} us"
