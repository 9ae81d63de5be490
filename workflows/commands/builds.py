"""The commands that build, check and compare: `build`, `check`, `diff`, `audit`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import click

from ..batches.addresses import find
from ..batches.lock_file import Locked, read
from ..batches.orders import orders_of, why, with_some_backend
from ..builds.order import Order
from ..builds.pool import BuildPool, shown
from ..engine.policy import policy
from ..entries.bound_program import BoundProgram
from .arguments import find_program, known_tables, report_errors, tables_option, with_tables

LOCK = ".lock"
what_argument = click.argument(
    "what", nargs=-1, required=True, metavar="LOCKFILE|MODULE:PROGRAM..."
)


@click.command(epilog="Example: fieldforge build programs.lock --jobs 8 --trace build.json")
@what_argument
@click.option(
    "--jobs", type=click.IntRange(1), help="Number of concurrent builds, compilers included."
)
@click.option("--trace", type=click.Path(dir_okay=False), help="Write a Chrome trace to this file.")
@click.option("--mpi", is_flag=True, help="Share the builds among the ranks of an MPI job.")
@click.option("--dask", metavar="ADDRESS", help="Build on the workers of this dask scheduler.")
@click.option("--load", is_flag=True, help="Also load each result, to test that it loads.")
@tables_option
@report_errors
def build(
    what: tuple[str, ...],
    jobs: int | None,
    trace: str | None,
    mpi: bool,
    dask: str | None,
    load: bool,
    tables: str | None,
) -> None:
    """Build the programs of lock files, or programs by name, into the store.

    It neither loads nor runs the programs, so you can build on another machine.
    """
    from ...runtime.process.settings import current
    from ..engine.trace_file import tracing

    with ExitStack() as stack:
        if trace:
            stack.enter_context(tracing(trace))
        wanted = list(_orders(what, tables))
        if not load:
            stack.enter_context(policy("build_only"))
        if mpi:
            _build_together(wanted, jobs)
            return
        executor = stack.enter_context(_dask_executor(dask)) if dask else None
        progress = stack.enter_context(shown("auto", len(wanted)))
        with (
            _told_together(),
            BuildPool(jobs or current().jobs, progress, executor, len(wanted)) as builds,
        ):
            for order in wanted:
                builds.add_order(order)


@click.command(epilog="Example: fieldforge check programs.lock")
@what_argument
@tables_option
@report_errors
def check(what: tuple[str, ...], tables: str | None) -> None:
    """List the builds that are missing from the store, and why; exit with 1 if any is."""
    total, missing = 0, 0
    for order in _orders(what, tables):
        total += 1
        refused = order.missing()
        if refused is not None:
            missing += 1
            click.echo(f"{order.name}: stage '{refused.stage}' would run. {why(order, refused)}")
    click.echo(f"{total - missing} of {total} builds are in the store.")
    if missing:
        sys.exit(1)


@click.command(epilog="Example: fieldforge diff programs.lock new.lock")
@click.argument("old", type=click.Path(exists=True, dir_okay=False))
@click.argument("new", type=click.Path(exists=True, dir_okay=False), required=False)
@report_errors
def diff(old: str, new: str | None) -> None:
    """Compare two lock files, or a lock file with the programs as they are now."""
    if new is not None:
        _compare(read(old), read(new))
        return
    rows = read(old)
    changed = [(row, order) for row, order in _located(old, rows) if _key(order) != row.key]
    for row, order in changed:
        refused = order.missing()
        said = f"would be rebuilt. {why(order, refused)}" if refused else "has been rebuilt."
        click.echo(f"{row.program}: {said}")
    seconds = sum(row.seconds or 0.0 for row, _ in changed)
    known = f", about {seconds:.1f} s of work" if seconds else ""
    click.echo(f"{len(changed)} of {len(rows)} builds have changed{known}.")


@click.command(epilog="Example: fieldforge audit examples/terrain.py:smooth --runs 3")
@click.argument("programs", nargs=-1, required=True, metavar="MODULE:PROGRAM...")
@click.option("--runs", type=click.IntRange(2), default=2, help="Number of processes to compare.")
@click.option("--compile", "libraries", is_flag=True, help="Also compare the compiled libraries.")
@tables_option
@report_errors
def audit(programs: tuple[str, ...], runs: int, libraries: bool, tables: str | None) -> None:
    """Lower programs in several processes that have different hash seeds, imports and paths.

    Print the first stage that differs, with a diff, and exit with 1.
    """
    from ..batches.audit import audit as compare

    known = [known_tables(find_program(each, None), tables, each) for each in programs]
    found = compare(programs, runs=runs, libraries=libraries, tables=known)
    for each in found:
        click.echo(str(each))
    if found:
        sys.exit(1)
    count = f"{len(programs)} program{'s' * (len(programs) != 1)}"
    click.echo(f"{count} gave the same bytes in {runs} processes.")


def _orders(what: Sequence[str], tables: str | None) -> Iterator[Order]:
    for each in what:
        if each.endswith(LOCK):
            yield from (order for _, order in _located(each, read(each)))
        elif ":" not in each:
            raise click.ClickException(
                f"Expected a lock file 'NAME{LOCK}' or MODULE:PROGRAM, got '{each}'."
            )
        else:
            program = find(each)
            if not isinstance(program, BoundProgram) or program.program.backend is None:
                entry = with_some_backend(program)
                if entry is None:
                    raise click.BadParameter(f"'{each}' is not a program or operator.")
                program = with_tables(entry, tables, each)
            yield from orders_of(program)


def _located(path: str, rows: Sequence[Locked]) -> Iterator[tuple[Locked, Order]]:
    for row in rows:
        yield row, row.order(os.path.dirname(path) or ".")


def _key(order: Order) -> str | None:
    look = order.look()
    return look.key if look else None


def _compare(old: Sequence[Locked], new: Sequence[Locked]) -> None:
    before, after = ({(row.label, row.workflow): row for row in rows} for rows in (old, new))
    for mark, rows in (("-", before.keys() - after.keys()), ("+", after.keys() - before.keys())):
        for (program, backend, variant, grid), workflow in sorted(rows):
            words = [*variant.splitlines(), *([f"{grid} grid"] if grid else [])]
            facts = "; ".join(words) or "any arguments"
            click.echo(f"{mark} {program} ({backend}; {facts})\n    {workflow}")
    both = before.keys() & after.keys()
    changed = sorted(label for label in both if before[label].key != after[label].key)
    for (program, *_), _ in changed:
        click.echo(f"! {program}: its source, options or tools have changed")
    click.echo(f"{len(both) - len(changed)} builds are the same in both.")


def _build_together(wanted: Sequence[Order], jobs: int | None) -> None:
    from mpi4py import MPI

    from ..batches.collective import Collective

    together = Collective(MPI.COMM_WORLD, jobs, "auto")
    for order in wanted:
        together.add_order(order)
    with _told_together():
        together.wait()


@contextmanager
def _dask_executor(address: str) -> Iterator[Any]:
    from distributed import Client

    with Client(address) as client:  # type: ignore[no-untyped-call]
        yield client.get_executor()


@contextmanager
def _told_together() -> Iterator[None]:
    """Turn an `ExceptionGroup` into one message with all errors."""
    try:
        yield
    except ExceptionGroup as group:
        lines = [group.message]
        for error in group.exceptions:
            lines += [str(error), *getattr(error, "__notes__", ())]
        raise click.ClickException("\n".join(lines)) from group
