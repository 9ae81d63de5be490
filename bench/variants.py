"""The ways to run one case: ours, by hand, in NumPy, by the peer; built, checked, ready to time.

Each variant is compared with ours after its first call. What cannot be built, or computes
something else, stays in the table with the reason.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
from agreement import compared, flat
from cases.case import Case
from figures import BY_HAND, DACE, GTFN, KEPT, NUMPY, OURS
from peer.client import Peer, RefusedError, described
from peer.peak import peak_growth
from timing import TimeCalls, timed

import fieldforge as ff

OURS_DACE = "fieldforge DaCe"
LAYOUTS = ("own layout", "C order")  # theirs; all fields with the last dimension contiguous
PEERS = {  # name -> its backend, the layout of its fields, whether freed memory is kept
    GTFN: ("gtfn_cpu", LAYOUTS[0], False),
    DACE: ("dace_cpu", LAYOUTS[0], False),
    **{KEPT + layout: ("dace_cpu", layout, True) for layout in LAYOUTS},
}


@attrs.define
class Variants:
    """The builds of one case, with their properties beside the times."""

    calls: dict[str, TimeCalls] = attrs.field(factory=dict)
    agrees: dict[str, str] = attrs.field(factory=dict)
    refused: dict[str, str] = attrs.field(factory=dict)
    built: dict[str, float] = attrs.field(factory=dict)  # seconds from nothing to the first result
    temporary: dict[str, int] = attrs.field(factory=dict)  # bytes

    def keep(self, name: str, call: TimeCalls, verdict: tuple[bool, str]) -> None:
        """Take a variant that agrees with ours; remember of another why it was left out."""
        agrees, how = verdict
        if agrees:
            self.calls[name] = call
            self.agrees[name] = how
        else:
            self.refused[name] = f"computes something else: {how}"


@attrs.frozen
class Prepared:
    """A case in its first state: its description for the peer, and our first result."""

    case: Case
    folder: Path
    described: dict[str, Any] | str  # or why the peer cannot be told
    expected: Mapping[str, Any]
    local: Variants


def prepared(case: Case, folder: Path) -> Prepared:
    """Write the arrays for the peer, build ours, and run each variant of this process once."""
    try:
        told: dict[str, Any] | str = described(case, folder)
    except RefusedError as error:
        told = str(error)
    found = Variants()
    program: Any = case.program
    begin = time.perf_counter()
    first = program.with_backend(ff.cpu)
    first(**case.arguments, offset_provider=case.tables)
    found.built[OURS] = time.perf_counter() - begin
    outputs = flat(case.arguments, case.outputs)
    expected = {name: array.copy() for name, array in outputs.items()}
    again = program.with_backend(ff.cpu)  # built already; its workspace is not there yet
    found.temporary[OURS] = peak_growth(
        lambda: again(**case.arguments, offset_provider=case.tables)
    )
    ours = lambda: first(**case.arguments, offset_provider=case.tables)  # noqa: E731
    found.keep(OURS, timed(ours), (True, "it is what the others are compared with"))
    _add_dace(found, case, expected)
    others: dict[str, Callable[[], Mapping[str, Any]]] = {
        BY_HAND + name: call for name, call in case.by_hand.items()
    }
    for name, call in (others | {NUMPY: case.in_numpy}).items():
        verdict = compared(expected, flat(call(), case.outputs), case.dtype)
        found.keep(name, timed(call), verdict)
    return Prepared(case, folder, told, expected, found)


def _add_dace(found: Variants, case: Case, expected: Mapping[str, Any]) -> None:
    """Add our programs by DaCe, if it is installed."""
    program: Any = case.program
    built = program.with_backend(ff.dace_cpu)
    begin = time.perf_counter()
    try:
        built(**case.arguments, offset_provider=case.tables)
    except ff.errors.FieldforgeError as error:
        found.refused[OURS_DACE] = f"{type(error).__name__}: {error}"
        return
    found.built[OURS_DACE] = time.perf_counter() - begin
    verdict = compared(expected, flat(case.arguments, case.outputs), case.dtype)
    call = lambda: built(**case.arguments, offset_provider=case.tables)  # noqa: E731
    found.keep(OURS_DACE, timed(call), verdict)


def with_peers(
    ready: Prepared, threads: int, stack: contextlib.ExitStack, say: Callable[[str], None]
) -> Variants:
    """Add the peer's variants, each in a process of its own that ends with `stack`."""
    local = ready.local
    calls, agrees, refused = dict(local.calls), dict(local.agrees), dict(local.refused)
    found = attrs.evolve(local, calls=calls, agrees=agrees, refused=refused)
    for name in PEERS:
        say(f"{threads} threads: build {name}")
        try:
            _add(found, ready, name, threads, stack)
        except RefusedError as error:
            found.refused[name] = str(error)
    return found


def _add(
    found: Variants, ready: Prepared, name: str, threads: int, stack: contextlib.ExitStack
) -> None:
    if isinstance(ready.described, str):
        raise RefusedError(ready.described)
    backend, layout, kept = PEERS[name]
    peer = stack.enter_context(Peer(ready.folder, threads, kept=kept))
    seconds, outputs = peer.build(name, ready.described, backend, layout)
    if not kept:
        found.built.setdefault(name, seconds)  # the second time it comes from the peer's cache
        found.temporary.setdefault(name, peer.temporary_bytes(name))
    verdict = compared(ready.expected, outputs, ready.case.dtype)
    found.keep(name, lambda loops: peer.seconds(name, loops), verdict)
