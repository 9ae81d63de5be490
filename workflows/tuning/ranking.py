"""Rank the changes of a plan by predicted seconds, so that a search builds the best ones first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...runtime.process import classes
from ...stages.codegen.cpu.options import CpuOptions
from ...stages.codegen.gpu.options import GpuOptions
from ...stages.codegen.plan.seconds import MachineClass
from ...stages.codegen.plan.sizes import Sizes
from ...stages.target import CpuTarget
from ..backends.backend import Backend
from ..options.schema import Option
from .alternatives import moves_of
from .bench import CODEGEN, RealBench
from .candidates import Choice, applied, changed, decided_names, values_of
from .node import GPUS, node
from .predicted import predicted


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
