"""`precompile`: build many programs at once, and report each error with the program's name."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor
from contextlib import ExitStack
from typing import Any

from ...cache.store import Store
from ...runtime.process import ArgumentError, classes, current
from ..builds.pool import BuildPool, Progress
from ..engine.engine import engine, using
from .collective import Collective, build_together
from .orders import orders_of


@classes.define(eq=False)
class Precompilation(BuildPool):
    """Programs that are being built; leaving the `with` block waits for all of them."""

    def add(self, program: Any, offset_provider: Any = None, **static: Any) -> None:
        """Start to build a program, with the arguments of its `compile`."""
        for order in orders_of(program, offset_provider, **static):
            self.add_order(order)


def precompile(
    programs: Iterable[Any] = (),
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    store: Store | None = None,
    comm: Any = None,
    progress: Progress = "auto",
) -> Precompilation | Collective:
    """Build many programs, several at a time.

    With programs, the call waits for all of them. Without, use the result in a `with` statement and
    `add` programs. A program may be a pair of the program and the arguments of its `compile`. All
    errors are raised in one `ExceptionGroup`, each with a note that names its program.

        precompile([diffusion, (advection, {"n": [1, 2]})], jobs=8)
        with precompile(jobs=8) as builds:
            builds.add(diffusion)

    In an MPI job every rank calls this with the communicator:

        precompile([diffusion, advection], comm=MPI.COMM_WORLD)

    The ranks share the missing builds, the longest first. Results reach the other ranks through a
    shared store, or else by broadcast. An error on one rank is raised on all.

    Args:
        programs: programs and operators, or pairs as above; with `comm` each rank may have its own.
        jobs: the number of concurrent builds, compilers included; the settings have the default.
            With `comm`, those of this rank; by default the ranks of a host share its processors.
        executor: runs the builds instead of this process: any executor of `concurrent.futures`,
            such as `dask.distributed.Client.get_executor()` or `mpi4py.futures.MPIPoolExecutor`.
        store: receives the results instead of the engine's store; only for `programs`.
        comm: a communicator of mpi4py, or anything with its lower-case methods; every rank calls.
        progress: a function, called with each finished program by the thread that built it;
            'auto' draws a bar on a terminal and otherwise prints one line per program to standard
            error; None shows nothing. With `comm`, on rank 0 only.

    Raises:
        ArgumentError: `comm` is given with an executor or a store.
        ExceptionGroup: all errors, each with a note that names its program.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator(backend=ff.cpu)
    ... def doubled(u: Line) -> Line:
    ...     return u + u
    >>> builds = precompile([doubled], progress=None)
    >>> print(doubled.variants)
    doubled: variants of backend 'cpu'
      0  unit stride of u: I; unit stride of out: I  (asked for by 'build')
    """
    if comm is not None:
        if executor is not None or store is not None:
            raise ArgumentError(
                "'precompile' takes 'comm' without 'executor' and 'store'.",
                hint="The ranks build; what they build goes to the store of their engine.",
            )
        return build_together(comm, programs, jobs, progress)
    given: list[tuple[Any, Any]] = [
        item if isinstance(item, tuple) else (item, {}) for item in programs
    ]
    jobs = current().jobs if jobs is None else jobs
    if not given:
        return Precompilation(jobs, progress, executor)
    with ExitStack() as stack:
        if store is not None:
            stack.enter_context(using(classes.evolve(engine(), store=store)))
        wanted = [order for program, static in given for order in orders_of(program, **static)]
        made = stack.enter_context(Precompilation(jobs, progress, executor, len(wanted)))
        for order in wanted:
            made.add_order(order)
    return made
