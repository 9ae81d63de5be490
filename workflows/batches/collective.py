"""Build each program once in an MPI job; all ranks get the results, or the errors."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self

from ...runtime.process import FieldforgeError, classes, current, warn_of_old
from ...stages.parse.free_names import callees_of
from ..builds.order import Order
from ..builds.pool import BuildPool, Progress, named, shown
from ..engine.request import pack, portable, unpack
from .orders import orders_of

FIRST_PAUSE: Final = 0.0005  # seconds
LONGEST_PAUSE: Final = 0.02


class RankError(FieldforgeError, RuntimeError):
    """Another rank failed before the collective build."""


@classes.frozen
class Want:
    """One build that a rank wants: its key, and an estimate of its size."""

    key: str
    program: str
    size: int
    is_stored: bool


@classes.frozen
class Failure:
    """A failure on one rank, sent to all; without a program, the rank itself has failed."""

    key: str
    program: str
    error: Exception


def deal(wants: Sequence[Sequence[Want]]) -> dict[str, int]:
    """Assign each key to a rank, given the wants of all ranks in order.

    A rank that has the result sends it. Missing builds go, the longest first, to the rank with the
    least work among those that want them. Every rank computes the same assignment.

    >>> a, b, c = (Want(key, key, size, False) for key, size in (("a", 5), ("b", 3), ("c", 1)))
    >>> deal([[a, b, c], [a, b, c]])
    {'a': 0, 'b': 1, 'c': 1}
    """
    askers: dict[str, list[int]] = {}
    holders: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for rank, own in enumerate(wants):
        for want in own:
            askers.setdefault(want.key, []).append(rank)
            sizes[want.key] = max(want.size, sizes.get(want.key, 0))
            if want.is_stored:
                holders.setdefault(want.key, rank)
    dealt = dict(holders)
    load = [0] * len(wants)
    for key in sorted(askers.keys() - holders.keys(), key=lambda key: (-sizes[key], key)):
        rank = min(askers[key], key=lambda rank: (load[rank], rank))
        load[rank] += sizes[key]
        dealt[key] = rank
    return dealt


@classes.define(eq=False)
class Collective:
    """The programs that the ranks of a communicator need; leaving the `with` block builds them.

    Every rank enters and leaves the block, whatever it adds; equal builds have equal keys. An error
    inside the block is sent to the other ranks.
    """

    comm: Any
    jobs: int | None = None
    progress: Progress = None
    _orders: list[Order] = classes.field(factory=list, init=False, repr=False)
    _keyed: list[tuple[str | None, Order]] = classes.field(factory=list, init=False, repr=False)

    def add(self, program: Any, offset_provider: Any = None, **static: Any) -> None:
        """Add a program, with the arguments of its `compile`."""
        for order in orders_of(program, offset_provider, **static):
            self.add_order(order)

    def add_order(self, order: Order) -> None:
        """Add one variant of a program."""
        self._orders.append(order)

    def wait(self) -> None:
        """Build what is missing, share the results, and raise the failures of all ranks on each."""
        whole = self._orders
        self._orders = [classes.evolve(order, is_alone=True) for order in whole]
        failures = self._meet([])
        if not failures:  # on all ranks
            others = (order.beyond() for order in whole)
            self._orders = [order for order in others if order is not None]
            failures = self._meet([])
        if failures:
            errors = [
                named(failure.error, failure.program) if failure.program else failure.error
                for failure in failures
            ]
            raise ExceptionGroup(f"{len(errors)} builds failed in this job", errors)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.wait()
        elif isinstance(error, Exception):
            rank = self.comm.Get_rank()
            self._orders.clear()
            self._meet([Failure("", "", RankError(f"Rank {rank} has failed before: {error!r}"))])

    def _meet(self, failures: list[Failure]) -> list[Failure]:
        """Run all collective steps and return the failures of all ranks."""
        wanted = self._look_up(failures)
        wants = self._gather([want for want, _ in wanted.values()])
        told = self._tell(failures)
        if any(not failure.program for failure in told):
            return told
        dealt, rank = deal(wants), self.comm.Get_rank()
        mine = [(key, order) for key, (want, order) in wanted.items()
                if dealt[key] == rank and not want.is_stored]  # fmt: skip
        told += self._tell(self._build(mine))
        failed = {failure.key for failure in told}
        self._share({key: rank for key, rank in dealt.items() if key not in failed}, wanted)
        here = [(key, order) for key, order in self._keyed if key not in failed]
        return told + self._tell(_load(here))

    def _look_up(self, failures: list[Failure]) -> dict[str, tuple[Want, Order]]:
        """Look up all builds; rank 0 goes first and caches what it learns about the compiler."""
        rank = self.comm.Get_rank()
        if rank != 0:
            self._gather(None)
        wanted: dict[str, tuple[Want, Order]] = {}
        self._keyed = []
        for order in self._orders:
            try:
                found = order.look()
                # a build without a key for other processes is built here, in '_load'
                self._keyed.append((found.key if found else None, order))
                if found is not None:
                    want = Want(found.key, order.name, _size(order), bool(found.results))
                    wanted.setdefault(found.key, (want, order))
            except Exception as error:
                failures.append(Failure("", order.name, error))
        if rank == 0:
            self._gather(None)
        return wanted

    def _tell(self, failures: list[Failure]) -> list[Failure]:
        """Send the failures of this rank to all ranks; return all failures, each once."""
        told = self._gather([portable(failure) for failure in failures])
        once: dict[tuple[str, str, str], Failure] = {}
        for failure in (failure for each in told for failure in each):
            once.setdefault((failure.key, failure.program, repr(failure.error)), failure)
        return list(once.values())

    def _build(self, mine: Sequence[tuple[str, Order]]) -> list[Failure]:
        hosts = self._gather(os.uname().nodename)
        share = max(current().jobs // hosts.count(os.uname().nodename), 1)
        with shown(self.progress if self.comm.Get_rank() == 0 else None, len(mine)) as progress:
            builds = BuildPool(self.jobs or share, progress, expected=len(mine))
            for _, order in mine:
                builds.add_order(order)
            errors = builds.settle()
        return [
            Failure(key, order.name, error)
            for (key, order), error in zip(mine, errors, strict=True)
            if isinstance(error, Exception)
        ]

    def _share(self, dealt: Mapping[str, int], wanted: Mapping[str, tuple[Want, Order]]) -> None:
        """Send the results that some rank lacks in its store; a shared store lacks none."""
        stores = {key: order.engine.store for key, (_, order) in wanted.items()}
        lacking = [key for key in dealt if key in stores and stores[key].find(key) is None]
        missed = {key for each in self._gather(lacking) for key in each}
        for key in sorted(missed):
            root, store = dealt[key], stores.get(key)
            is_root = root == self.comm.Get_rank()
            content = pack(store, key) if is_root and store else None
            content = self.comm.bcast(content, root=root)
            if content is not None and store is not None and not is_root:
                unpack(store, content)

    def _gather(self, value: Any) -> list[Any]:
        """Exchange values; a waiting rank sleeps, because spinning would slow the other ranks."""
        begin = getattr(self.comm, "Ibarrier", None)
        request = begin() if begin is not None else None
        pause = FIRST_PAUSE
        while request is not None and not request.Test():
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        found: list[Any] = self.comm.allgather(value)
        return found


def collective(
    comm: Any,
    programs: Iterable[Any] = (),
    *,
    jobs: int | None = None,
    progress: Progress = "auto",
) -> Collective:
    """Build programs once in an MPI job; deprecated: `precompile(programs, comm=comm)`."""
    instead = "'precompile(programs, comm=comm)'"
    warn_of_old(f"'collective(comm, programs)' is deprecated; use {instead}.")
    return build_together(comm, programs, jobs, progress)


def build_together(
    comm: Any, programs: Iterable[Any], jobs: int | None, progress: Progress
) -> Collective:
    """Build programs, or pairs of programs and arguments, on all ranks; see `precompile`."""
    made = Collective(comm, jobs, progress)
    given = tuple(programs)
    if given:
        with made:
            for item in given:
                program, arguments = item if isinstance(item, tuple) else (item, {})
                made.add(program, **arguments)
    return made


def _load(orders: Sequence[tuple[str | None, Order]]) -> list[Failure]:
    """Load all entries from the store; build those that are missing."""
    failures = []
    for key, order in orders:
        try:
            order.build()
        except Exception as error:
            failures.append(Failure(key or "", order.name, error))
    return failures


def _size(order: Order) -> int:
    """Estimate the duration of a build from the length of the source of all callees."""
    reached = {id(order.definition): order.definition}
    waiting = [order.definition]
    for each in waiting:  # grows during the loop
        for callee in callees_of(each):
            if id(callee) not in reached:
                reached[id(callee)] = callee
                waiting.append(callee)
    return sum(len(each.source.text) for each in waiting)
