"""Rank the changes of a plan by predicted seconds, so that a search builds the best ones first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...runtime.process import FieldforgeError, classes
from ...stages import CpuTarget, Stage
from ...stages.codegen.cpu.options import CpuOptions
from ...stages.codegen.cpu.planning import moves
from ...stages.codegen.gpu.options import GpuOptions
from ...stages.codegen.plan.moves import Move, value_moves
from ...stages.codegen.plan.seconds import MachineClass
from ...stages.codegen.plan.sizes import Sizes
from ...stages.codegen.plan.text_seconds import text_seconds
from ...stages.ir.loops.reader import read
from ..backends.backend import Backend
from ..options.schema import Option
from .bench import CODEGEN, RealBench
from .candidates import Choice, applied, changed, decided_names, values_of
from .refit import GPUS, node, predicted


@classes.frozen(eq=False)
class Ranking:
    """The changes that options allow, in the order of predicted seconds of a call.

    Attributes:
        bench: generates the code of choices.
        options: those that may change.
        sizes: of the call.
        machine: what predictions are for.

    """

    bench: RealBench
    options: Sequence[Option]
    sizes: Sizes
    machine: MachineClass

    def __call__(self, choice: Choice) -> list[Choice]:
        """Return changes of a choice, the best predictions first."""
        found: dict[Choice, float] = {}
        for change in dict.fromkeys(self._changes(choice)):
            if self.bench.is_over():
                break
            seconds = self.seconds(changed(choice, change))
            if seconds is not None:
                found[change] = seconds
        return sorted(found, key=found.__getitem__)

    def seconds(self, choice: Choice) -> float | None:
        """Return the predicted seconds of a call; None where no code is generated."""
        loops = self.bench.loops(choice)
        name = f"{CODEGEN}.stream_from"
        own = classes.evolve(self.sizes, stream_from=dict(choice).get(name))
        return predicted(loops, own, self.machine) if loops else None

    def _changes(self, choice: Choice) -> Iterator[Choice]:
        backend = applied(self.bench.backend, choice)
        stage, loops = dict(backend.workflow.nodes)[CODEGEN], self.bench.loops(choice)
        allowed = {option.name for option in self.options}
        for move in moves_of(loops, stage) if loops else ():
            change = _named(move.changes(stage), stage)
            if change and allowed.issuperset(dict(change)):
                yield change
        for option in self.options:
            now = backend.options[option.name]
            for value in values_of(option, now, decided_names(loops)):
                yield ((option.name, value),)


def _named(changes: Mapping[str, Any], stage: Any) -> Choice:
    """Return the options that a move really changes, with the name of their stage."""
    return tuple(
        (f"{CODEGEN}.{name}", value)
        for name, value in sorted(changes.items())
        if value != getattr(stage, name)
    )


def machine_of(backend: Backend) -> MachineClass | None:
    """Return what calls of a backend are predicted for; None where nothing is."""
    stage = dict(backend.workflow.nodes).get(CODEGEN)
    if not isinstance(stage, CpuOptions | GpuOptions):
        return None
    return node(None if isinstance(backend.target, CpuTarget) else GPUS)


# The source and the listing of the loops of a program with other options.
Generate = Callable[[Mapping[str, Any]], tuple[str, str]]


@classes.frozen
class Alternative:
    """A plan: the seconds of a call and of a build; `name` is the decision that it changes."""

    name: str
    now: str
    other: str
    seconds: float
    build: float


def moves_of(loops: str, stage: Stage) -> list[Move]:
    """Return what may be decided otherwise in the plan that a listing of loops shows."""
    kernel = read(loops)
    return list(moves(kernel, stage) if isinstance(stage, CpuOptions) else value_moves(kernel))


def alternatives(
    generate: Generate, stage: Stage, sizes: Sizes, machine: MachineClass
) -> tuple[Alternative, tuple[Alternative, ...]]:
    """Return the present plan, and those in which one decision of a code generator differs."""
    source, loops = generate({})
    now = Alternative("", "", "", predicted(loops, sizes, machine), text_seconds(len(source)))
    return now, tuple(_turned(generate, stage, loops, sizes, machine))


def _turned(
    generate: Generate, stage: Stage, loops: str, sizes: Sizes, machine: MachineClass
) -> Iterator[Alternative]:
    for move in moves_of(loops, stage):
        changes = dict(move.changes(stage))
        try:
            source, other = generate(changes)
        except FieldforgeError:  # not every value can be an array
            continue
        if other and other != loops:
            own = classes.evolve(sizes, stream_from=changes.get("stream_from", sizes.stream_from))
            seconds = predicted(other, own, machine)
            yield Alternative(move.name, move.now, move.other, seconds, text_seconds(len(source)))


def told(now: Alternative, others: tuple[Alternative, ...], where: str) -> str:
    """Return a line for the present plan and one for each decision, the nearest first.

    >>> now = Alternative("", "", "", 1.29e-3, 0.6)
    >>> print(told(now, (Alternative("%34", "in place", "array", 1.34e-3, 0.7),), "epyc"))
    predicted: 1.29 ms a call, 0.6 s to build (epyc)
      %34 in place 1.29 ms; array 1.34 ms
    """
    lines = [f"predicted: {_time(now.seconds)} a call, {now.build:.1f} s to build ({where})"]
    lines += [
        f"  {each.name} {each.now} {_time(now.seconds)}; {each.other} {_time(each.seconds)}"
        for each in sorted(others, key=lambda each: each.seconds)
    ]
    return "\n".join(lines)


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.3g} us"
