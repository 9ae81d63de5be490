"""Predict the seconds of calls, and fit the costs of machines to predicted and measured times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...runtime.calls.machine import machine_file, processor, read_machine
from ...runtime.fields import Connectivity, Field
from ...runtime.language import leaves_of
from ...runtime.process import classes
from ...stages.codegen.plan.machine import CLASSES, CpuClass, class_of
from ...stages.codegen.plan.seconds import Facts, MachineClass, facts_of, seconds_of
from ...stages.codegen.plan.sizes import Sizes, Table
from ...stages.ir.loops.reader import read
from ..variants.naming import leaf_name

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


WINDOWS: Final = (32, 1024, 32768)  # rows in order, for a block, a first and a second cache
SAMPLES: Final = 8  # windows of each length


def predicted(loops: str, sizes: Sizes, machine: MachineClass) -> float:
    """Return the seconds of a call of the code that a listing of loops is for."""
    return seconds_of(facts_of(read(loops), sizes, machine), machine)


def sizes_of(
    arguments: Mapping[str, Any], tables: Mapping[str, Any] | None, threads: int = 1
) -> Sizes:
    """Return the sizes of a call with arguments by name, and the locality of its tables.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> sizes_of({"u": ff.zeros({I: 64}), "n": 3}, None).ranges
    {('u', 'I'): (0, 64)}
    """
    ranges: dict[tuple[str, str], tuple[int, int]] = {}
    scalars: dict[str, int] = {}
    for name, value in arguments.items():
        for path, leaf in leaves_of(value):
            own = leaf_name(name, path)
            if isinstance(leaf, Field):
                pairs = zip(leaf.domain.dims, leaf.domain.ranges, strict=True)
                for dim, each in pairs:
                    if isinstance(each.start, int) and isinstance(each.stop, int):
                        ranges[own, dim.value] = each.start, each.stop
            elif isinstance(leaf, int | np.integer):
                scalars[own] = int(leaf)
    known = {
        name: locality(each.asnumpy())
        for name, each in (tables or {}).items()
        if isinstance(each, Connectivity)
    }
    return Sizes(ranges, scalars, known, threads)


def locality(entries: Any) -> Table:
    """Return the size of a neighbour table, and how many rows neighbouring ones lead to.

    >>> table = locality(np.arange(64, dtype=np.int32).reshape(32, 2))
    >>> table.rows, table.sources, table.distinct
    (32, 64, ((32, 64.0),))
    """
    rows = len(entries)
    distinct = []
    for window in (each for each in WINDOWS if each <= rows):
        starts = np.linspace(0, rows - window, SAMPLES).astype(int)
        counts = [len(np.unique(entries[first : first + window])) for first in starts]
        distinct.append((window, float(np.mean(counts))))
    sources = int(entries.max(initial=0)) + 1
    return Table(rows, sources, entries.shape[1], tuple(distinct))


def plain(sizes: Sizes) -> dict[str, Any]:
    """Return sizes as JSON has them.

    >>> again(plain(Sizes(ranges={("u", "I"): (0, 4)}))) == Sizes(ranges={("u", "I"): (0, 4)})
    True
    """
    return {
        "ranges": [[*key, *value] for key, value in sizes.ranges.items()],
        "scalars": dict(sizes.scalars),
        "tables": {
            name: [each.rows, each.sources, each.wide, each.distinct]
            for name, each in sizes.tables.items()
        },
        "threads": sizes.threads,
        "stream_from": sizes.stream_from,
    }


def again(document: Mapping[str, Any]) -> Sizes:
    """Return the sizes that JSON has."""
    tables = {
        name: Table(rows, sources, wide, tuple((n, rate) for n, rate in distinct))
        for name, (rows, sources, wide, distinct) in document["tables"].items()
    }
    ranges = {(field, dim): (start, stop) for field, dim, start, stop in document["ranges"]}
    return Sizes(
        ranges, document["scalars"], tables, document["threads"], document.get("stream_from")
    )


COSTS: Final = "costs"  # in the file of the node
GPUS: Final = "h200"  # the class that stands for all GPUs


def node(name: str | None = None) -> MachineClass:
    """Return the class of this node, or a named one, with the costs that were measured here."""
    machine = class_of(processor()) if name is None else CLASSES[name]
    known = read_machine(machine_file()).get(COSTS, {})
    own = {each: cost for each, cost in known.items() if each in costs_of(machine)}
    return with_costs(machine, own) if isinstance(machine, CpuClass) and name is None else machine
