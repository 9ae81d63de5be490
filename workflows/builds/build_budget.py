"""Warn when a build exceeds its time budget, and name the slowest stage and its work."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ...runtime.process import classes
from ..engine.handle import Result

_NEST: Final = r"(?m)^ +nest n\d+ "
_ROW: Final = r"(?m)^ +%\d+ "


@classes.frozen
class Excess:
    """A build that exceeded its budget: its slowest stage, and the warning."""

    stage: str
    message: str


def excess(program: str, results: Mapping[str, Result], budget: float | None) -> Excess | None:
    """Return the warning for a build, or None; stages found in the store count no time."""
    ran = [result for result in results.values() if result.outcome == "ran"]
    total = sum(result.seconds for result in ran)
    if budget is None or total <= budget:
        return None
    slowest = max(ran, key=lambda result: result.seconds)
    return Excess(
        slowest.name,
        f"'{program}' took {total:.2f} s to build, {budget:g} s are its budget: stage "
        f"'{slowest.name}' took {slowest.seconds:.2f} s{_size(slowest, results)}.",
    )


def _size(slowest: Result, results: Mapping[str, Result]) -> str:
    """Describe the work of a stage: values, or loop nests and lines of generated code."""
    artifacts = [_artifact(slowest)]
    if slowest.name == "compile" and "codegen" in results:
        artifacts = [_artifact(results["codegen"])]
    for artifact in artifacts:
        if hasattr(artifact, "source") and hasattr(artifact, "loops"):
            return _size_of_code(artifact.source, artifact.loops)
        values = getattr(getattr(artifact, "program", None), "values", None)
        if values is not None:
            return f" on {_many(len(values), 'value')}"
    return ""


def _size_of_code(source: str, loops: str) -> str:
    from ...stages.units import count_units  # few builds take so long

    starts = [found.start() for found in re.finditer(_NEST, loops)]
    lines, nests = source.count("\n"), _many(len(starts), "nest")
    units = count_units(source)
    where = "a translation unit" if units == 1 else f"{units} translation units"
    text = f" on {where} of {lines} lines with {nests}"
    if not starts:
        return text
    ends = [*starts[1:], len(loops)]
    rows = [len(re.findall(_ROW, loops[a:b])) for a, b in zip(starts, ends, strict=True)]
    largest = max(range(len(rows)), key=rows.__getitem__)
    return f"{text}, the largest of them nest {largest} with {_many(rows[largest], 'value')}"


def _artifact(result: Result) -> Any:
    return next((handle.get() for handle in result.outputs.values()), None)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
