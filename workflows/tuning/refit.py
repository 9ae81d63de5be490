"""Fit the costs of a class of machines to pairs of predicted and measured times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...runtime.process import classes
from ...stages.codegen.plan.machine import CpuClass
from ...stages.codegen.plan.seconds import Facts, MachineClass, facts_of, seconds_of
from ...stages.ir.loops.reader import read
from .predicted import again

STEPS: Final = (2.0, 1.4, 1.15, 1.05)  # factors by which a cost changes
WHOLE: Final = 0.1  # what the seconds count for beside which plan is the fastest
AWAY: Final = 0.003  # what it costs to leave the constants that were there, by their logarithm


@classes.frozen
class Pair:
    """What a plan of a program does, and the seconds of a call of it."""

    program: str
    facts: Facts
    seconds: float


def pairs_of(rows: Iterable[Mapping[str, Any]], machine: MachineClass) -> Iterator[Pair]:
    """Yield the pairs of kept rows: a program, the listing of loops, sizes and seconds."""
    for row in rows:
        facts = facts_of(read(row["loops"]), again(row["sizes"]), machine)
        yield Pair(str(row["program"]), facts, row["seconds"])


def refitted(pairs: Sequence[Pair], machine: MachineClass) -> MachineClass:
    """Return the machine with the costs that fit best, one changed after the other."""
    best, start = machine, machine
    least = _loss(pairs, best, start)
    for factor in STEPS:
        improves = True
        while improves:
            improves = False
            for change in _changes(best):
                for each in (factor, 1 / factor):
                    loss = _loss(pairs, new := change(best, each), start)
                    if loss < least * 0.9995:
                        best, least, improves = new, loss, True
    return best


def errors_of(pairs: Sequence[Pair], machine: MachineClass) -> tuple[float, float]:
    """Return the mean error of seconds, and that beside the other plans of a program.

    Both are root mean squares of logarithms.
    """
    inside, whole = _residuals(pairs, machine)
    return float(np.sqrt(np.mean(whole**2))), float(np.sqrt(np.mean(inside**2)))


def costs_of(machine: MachineClass) -> dict[str, float]:
    """Return the numbers that a fit may change, by name."""
    if isinstance(machine, CpuClass):
        rates = {f"{link.name}.{n}": getattr(link, n) for link in machine.links for n in RATES}
        own = {name: getattr(machine, name) for name in ("barrier", "call", "overlap")}
        return dict(machine.costs) | {k: v for k, v in rates.items() if v} | own
    links = {"memory.one": machine.memory.one, "l2.one": machine.l2.one}
    return links | {name: getattr(machine, name) for name in OF_GPUS}


def with_costs(machine: MachineClass, costs: Mapping[str, float]) -> MachineClass:
    """Return a machine with other numbers.

    >>> from fieldforge.stages.codegen.plan.machine import EPYC
    >>> costs_of(with_costs(EPYC, {"rows": 1e-8}))["rows"]
    1e-08
    """
    if isinstance(machine, CpuClass):
        links = tuple(_with_rates(link, link.name, costs) for link in machine.links)
        own = {name: costs.get(name, cost) for name, cost in machine.costs.items()}
        names = ("barrier", "call", "overlap")
        rest: Any = {name: costs[name] for name in names if name in costs}
        return classes.evolve(machine, links=links, costs=own, **rest)
    changed: Any = {n: _with_rates(getattr(machine, n), n, costs) for n in ("memory", "l2")}
    changed |= {name: costs[name] for name in OF_GPUS if name in costs}
    return classes.evolve(machine, **changed)


RATES: Final = ("one", "every")
OF_ALL: Final = ("l1", "issue", "words")  # rates of a whole GPU
PLAIN: Final = ("overlap", "base", "idle", "ends")  # numbers without a unit
OF_GPUS: Final = (
    "l1", "issue", "words", "step", "wait", "launch", "idle", "ends", "base", "overlap",
)  # fmt: skip
_MOST: Final = {"overlap": 8.0, "base": 3.0, "idle": 3.0, "ends": 3.0}
_LEAST: Final = {"overlap": 1.0, "base": 1.0}


def _with_rates(link: Any, name: str, costs: Mapping[str, float]) -> Any:
    return classes.evolve(link, **{n: costs.get(f"{name}.{n}", getattr(link, n)) for n in RATES})


def _slower(machine: MachineClass, factor: float) -> MachineClass:
    """Return a machine on which all takes so much longer."""
    costs = costs_of(machine)
    rates = {name for name in costs if "." in name or name in OF_ALL}
    return with_costs(
        machine,
        {
            name: cost / factor if name in rates else cost * factor
            for name, cost in costs.items()
            if name not in PLAIN
        },
    )


def _changes(
    machine: MachineClass,
) -> Iterator[Callable[[MachineClass, float], MachineClass]]:
    yield _slower
    for name in costs_of(machine):

        def change(old: MachineClass, factor: float, name: str = name) -> MachineClass:
            new = costs_of(old)[name] * factor
            new = min(max(new, _LEAST.get(name, 0.0)), _MOST.get(name, float("inf")))
            return with_costs(old, {name: new})

        yield change


def _residuals(pairs: Sequence[Pair], machine: MachineClass) -> tuple[Any, Any]:
    """Return the logarithms of measured over predicted, without their mean in a program, and it."""
    logs: dict[str, list[float]] = {}
    for pair in pairs:
        ratio = pair.seconds / max(seconds_of(pair.facts, machine), 1e-9)
        logs.setdefault(pair.program, []).append(float(np.log(ratio)))
    inside = np.concatenate([np.array(own) - np.mean(own) for own in logs.values()])
    return inside, np.concatenate([np.array(own) for own in logs.values()])


def _loss(pairs: Sequence[Pair], machine: MachineClass, start: MachineClass) -> float:
    inside, whole = _residuals(pairs, machine)
    now, before = costs_of(machine), costs_of(start)
    away = sum(np.log(now[name] / before[name]) ** 2 for name in now)
    return float(np.mean(np.abs(inside)) + WHOLE * np.mean(np.abs(whole)) + AWAY * away / 10)
