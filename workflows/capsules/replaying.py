"""Build the program of a capsule here, run it on the recorded arguments, compare the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...runtime import _core
from ...runtime.calls.refusals import reject
from ...runtime.process import classes
from ...stages.artifacts import Lowered, Parsed, Spans, Variant
from ...stages.gpu_target import GpuTarget
from ...stages.gtscript.parsed import ParsedStencil
from ..backends.backend import Backend
from ..backends.languages import for_stencils
from ..builds.building import ENTRY, beyond_fields, entry_flow, needs_beyond
from ..engine.engine import engine
from ..graph.graph import Workflow
from .backend_text import backend_of, options_text
from .capsule import Capsule
from .digests import digest_of
from .values import Array, CapsuleError, Reader, fields_of
from .written import is_written


@classes.frozen(eq=False)
class Replay:
    """What a replay found: where it differs from the record, and how its build differs.

    Attributes:
        backend: the backend that built the program here.
        differences: the fields whose values are not those of the record; empty if all agree.
        changed: options that are not those of the capture, as text.
        error: the error of the call here, empty without one.
        expected: the recorded error, empty without one.

    """

    backend: str
    differences: tuple[Difference, ...]
    changed: tuple[str, ...]
    error: str = ""
    expected: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the results, or the errors, are those of the record."""
        return not self.differences and self.error == self.expected

    @property
    def text(self) -> str:
        """The verdict, the differences and what was built in another way, one a line."""
        rows = [f"replayed on backend '{self.backend}'"]
        rows += [f"  built in another way: {row}" for row in self.changed]
        if self.error or self.expected:
            rows.append(f"raised: {self.error or 'nothing'}; recorded: {self.expected or 'none'}")
        rows += [f"differs: {each}" for each in self.differences]
        rows.append("The results agree." if self.agrees else "The results differ.")
        return "\n".join(rows)


def replay(
    capsule: Capsule, backend: Backend | str | None = None, tolerance: float = 0.0
) -> Replay:
    """Run a capsule with its own backend and options, or another, and compare with the record.

    Args:
        capsule: what `Capsule.load` read.
        backend: the backend; None takes that of the capsule with its options.
        tolerance: the relative difference that counts as equal; 0 compares bits.

    """
    used = chosen(capsule, backend)
    error = ""
    written: Mapping[str, Array] = {}
    try:
        written = execute(capsule, used)
    except CapsuleError:
        raise
    except Exception as raised:  # the recorded call may have raised too
        error = f"{type(raised).__name__}: {raised}"
    found = () if error else against_record(capsule, written, tolerance)
    return Replay(used.name, found, _changed(capsule, used), error, capsule.head["error"])


def chosen(capsule: Capsule, backend: Backend | str | None) -> Backend:
    """Return the backend of a replay."""
    if isinstance(backend, Backend):
        return backend
    if backend is not None:
        return backend_of(backend, {})
    return backend_of(capsule.head["backend"], capsule.head["options"])


def against_record(
    capsule: Capsule, written: Mapping[str, Array], tolerance: float = 0.0
) -> tuple[Difference, ...]:
    """Compare results with the recorded ones."""
    digests = capsule.head.get("digests")
    if digests is not None:
        return tuple(
            Difference.unknown(leaf)
            for leaf, array in written.items()
            if digest_of(array) != digests[leaf]
        )
    start = "after/"
    recorded = {
        name.removeprefix(start): array
        for name, array in capsule.arrays.items()
        if name.startswith(start)
    }
    return differences(recorded, written, tolerance)


def execute(
    capsule: Capsule,
    backend: Backend,
    parsed: Parsed | None = None,
    variant: Variant | None = None,
) -> dict[str, Array]:
    """Build and run on fresh arguments; return what was written by leaf name.

    `parsed` and `variant` are those of the capsule by default.
    """
    if isinstance(capsule.parsed, ParsedStencil):
        backend = for_stencils(backend)
    entry = _entry(capsule.name, backend, {
        "parsed": parsed or capsule.parsed,
        "spans": capsule.spans,
        "variant": variant or capsule.variant,
    })  # fmt: skip
    on_gpu = isinstance(backend.target, GpuTarget)
    return _run(capsule, entry, backend.allocator if on_gpu else None)


def interpret(capsule: Capsule, lowered: Lowered) -> dict[str, Array]:
    """Interpret a lowered program on fresh arguments."""
    from ...stages.interpret.stage import Entry

    return _run(capsule, Entry(lowered), None)


def _entry(
    name: str, backend: Backend, inputs: Mapping[str, Parsed | ParsedStencil | Spans | Variant]
) -> Any:
    flow = entry_flow(backend)
    rest = [node for node in flow.nodes if "definition" not in node[1].needs]
    names = {own for own, _ in rest}
    cut = Workflow(rest, [e for e in flow.edges if e.source in names and e.target in names])
    given = {need: inputs[need] for need in cut.inputs}
    results = engine().run(cut, given, program=name, deep=False)
    last = next(own for own, stage in rest if ENTRY in stage.provides)
    entry = results[last].outputs[ENTRY].get()
    variant = inputs["variant"]
    if isinstance(variant, Variant) and needs_beyond(entry):
        others = {**inputs, "variant": beyond_fields(variant)}
        entry.beyond = lambda: _entry(name, backend, others)
    return entry


def _run(capsule: Capsule, entry: Any, allocator: Any) -> dict[str, Array]:
    reader = Reader(capsule.arrays, allocator)
    head = capsule.head
    arguments = {name: reader.value(row) for name, row in head["arguments"].items()}
    provider = {name: reader.table(row) for name, row in head["tables"].items()}
    call = _native(capsule.name, tuple(arguments), entry)
    call(*arguments.values(), offset_provider=provider or None)
    return {
        leaf: field.asnumpy()
        for name, value in arguments.items()
        for leaf, field in fields_of(name, value)
        if is_written(leaf, head["written"])
    }


def _native(name: str, parameters: tuple[str, ...], entry: Any) -> Callable[..., Any]:
    """Return what calls an entry with the arguments in order."""
    if not isinstance(entry, _core.Entry):
        return entry  # type: ignore[no-any-return]  # a Python function of the reference backend

    def missed(*_: Any) -> None:
        raise CapsuleError(f"The arguments of the capsule do not fit the build of '{name}'.")

    program = _core.Program(name, parameters, missed, reject)
    program.add(entry, [])
    return program.call


def _changed(capsule: Capsule, backend: Backend) -> tuple[str, ...]:
    before, now = capsule.head["options"], options_text(backend)
    return tuple(
        f"{option} = {now[option]}, captured with {before[option]}"
        for option in now
        if option in before and now[option] != before[option]
    )


@classes.frozen
class Difference:
    """A field in which two executions differ: how many values, and the first of them."""

    leaf: str
    count: int = 0
    size: int = 0
    place: tuple[int, ...] = ()
    expected: str = ""
    found: str = ""
    largest: float = 0.0

    @classmethod
    def unknown(cls, leaf: str) -> Difference:
        """Return the difference of a field of which only a digest is known."""
        return cls(leaf)

    def __str__(self) -> str:
        if not self.size:
            return f"{self.leaf} has another digest than the record"
        where = ", ".join(map(str, self.place))
        return (
            f"{self.leaf}, {self.count} of {self.size} values, the first at array index ({where}): "
            f"{self.found} for {self.expected}; largest relative difference {self.largest:.3g}"
        )


def differences(
    expected: Mapping[str, Array], found: Mapping[str, Array], tolerance: float = 0.0
) -> tuple[Difference, ...]:
    """Return the fields that differ; not-a-number equals not-a-number.

    >>> one, two = np.array([1.0, 2.0]), np.array([1.0, 2.5])
    >>> str(*differences({"out": one}, {"out": two}))
    'out, 1 of 2 values, the first at array index (1): 2.5 for 2.0; largest relative difference 0.2'
    """
    each = (_difference(leaf, expected[leaf], found[leaf], tolerance) for leaf in expected)
    return tuple(one for one in each if one is not None)


def _difference(leaf: str, expected: Array, found: Array, tolerance: float) -> Difference | None:
    differs = ~_equal(expected, found)
    relative = _relative(expected, found, differs)
    if tolerance:
        differs &= ~(relative <= tolerance)
    count = int(differs.sum())
    if not count:
        return None
    place = tuple(int(at) for at in np.argwhere(differs)[0])
    return Difference(
        leaf, count, differs.size, place, str(expected[place]), str(found[place]),
        float(np.max(relative, where=differs, initial=0.0)),
    )  # fmt: skip


def _equal(one: Array, other: Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Compare bits, so that -0.0 is not 0.0; every not-a-number is the same."""
    if one.dtype.kind != "f":
        return np.asarray(one == other)
    same = (one == other) & (np.signbit(one) == np.signbit(other))
    return np.asarray(same | (np.isnan(one) & np.isnan(other)))


def _relative(one: Array, other: Array, differs: Array) -> np.ndarray[Any, Any]:
    with np.errstate(all="ignore"):
        apart = np.abs(one.astype(np.float64) - other.astype(np.float64))
        size = np.maximum(np.abs(one), np.abs(other)).astype(np.float64)
        found = np.where(apart == 0, 0.0, apart / np.where(size == 0, 1.0, size))
    return np.where(differs, found, 0.0)
