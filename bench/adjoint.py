"""Adjoints over their forward calls, in turns in one process, and beside JAX's adjoints.

    python bench/adjoint.py --threads 1,2 [--cases diffusion] [--scale 0.5] [--others]
    python bench/adjoint.py --gpu [--scale 8]

Each row is a program with the inputs whose adjoints it computes. Before it is timed, the adjoint of
one thread is compared with those of two and eight, bit by bit, and with JAX's (`--others`, in the
environment of `make bench-others`), to 1e-12 of the largest value; that of a GPU is compared with
that of a CPU. Seconds are those of the clock, the least of several; builds are from an empty store
to the first result, after the process has built another program. Writes
`results/<machine>/adjoint.json`.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import click
import numpy as np
from adjoint_step import NAME as STEP, SLOTS, prepared_step
from cases import chosen_cases
from cases.case import Case
from figures import Row, geometric_mean
from native import use_threads
from others import client
from peer.client import described
from peer.undisturbed import undisturbed
from programs import row_of
from results import KEY, Results
from run import machine
from timing import PAUSE
from untuned import folder
from untuned_calls import place

import fieldforge as ff
from fieldforge.runtime.process.settings import set_current

WANTED: Final[Sequence[tuple[str, tuple[str, ...]]]] = (
    ("diffusion", ("u",)),
    ("diffusion", ("u", "coeff")),
    ("vertical_advection", ("u", "w")),
    ("vertical_advection", ("u", "u_before", "w", "tendency")),
    ("tridiagonal", ("d",)),
    ("tridiagonal", ("a", "b", "c", "d")),
    ("nabla2", ("vn",)),
    (STEP, SLOTS),
)
FORWARD, ADJOINT, JAX = "forward", "adjoint", "JAX adjoint"
THREADS: Final = (1, 2, 8)  # that give the same bits
CLOSE: Final = 1e-12  # of the largest value
Call = Callable[[], object]
Line = ff.Field[ff.Dims[ff.Dimension("I")], ff.float64]


@ff.field_operator
def _twice(u: Line) -> Line:
    return 2.0 * u


@ff.program
def _doubled(u: Line, out: Line):
    _twice(u, out=out)


@attrs.frozen(eq=False)
class Ready:
    """An adjoint and its forward program, built, with the fields that the adjoint writes."""

    case: Case
    wrt: tuple[str, ...]
    calls: Mapping[str, Call]
    given: Mapping[str, Any]
    built: dict[str, float]
    end: Call

    def adjoints(self) -> dict[str, np.ndarray]:
        """Return the adjoints of the latest call."""
        return {name: self.given[f"{name}_b"].asnumpy().copy() for name in self.wrt}


@click.command(help=__doc__)
@click.option("--threads", default="1,2", help="numbers of threads")
@click.option("--cases", default="", help="names of programs; usually all that are wanted")
@click.option("--scale", default=1.0, help="share of the points")
@click.option("--rounds", default=15)
@click.option("--others/--no-others", "beside", default=False, help="measure JAX, too")
@click.option("--keep/--forget", default=True, help="write the results")
@click.option("--gpu", "where", flag_value="gpu", default="cpu", help="measure on a GPU")
def main(
    threads: str, cases: str, scale: float, rounds: int, beside: bool, keep: bool, where: str
) -> None:  # fmt: skip
    """Measure the wanted adjoints one after the other."""
    on = place(where)
    _first_build(on.backend if where == "gpu" else ff.cpu)
    kept = Results(folder(on) / "adjoint.json", fresh=False, key=(*KEY, "wrt")) if keep else None
    rows: list[Row] = []
    first: dict[tuple[str, ...], float] = {}  # seconds of builds; later cases find them
    for name, wrt in WANTED:
        if cases and name not in cases.split(","):
            continue
        on_cpu = _all_ready(name, wrt, scale, ff.cpu)
        for ready in on_cpu if where == "cpu" else _all_ready(name, wrt, scale, on.backend):
            for what, key in ((FORWARD, (name,)), (ADJOINT, (name, *wrt))):
                ready.built[what] = first.setdefault(key, ready.built[what])
            if where == "cpu":
                compare_bits(ready)
            else:
                compare_with_cpu(ready, next(on_cpu))
            for row in measured(ready, [*map(int, threads.split(","))], rounds, beside):
                rows.append(row)
                click.echo("  ".join(_cells(row)))
                if kept is not None:
                    kept.add(row)
    if kept is not None:
        kept.describe(machine=machine())
    mean = geometric_mean(ratio(row, JAX, ADJOINT) for row in rows)
    if mean is not None:
        click.echo(f"JAX's adjoint over ours: {mean:.1f} in the geometric mean")


def _first_build(backend: Any) -> None:
    """Build and call a program, with what the first build of a process does once."""
    given = [ff.ones({ff.Dimension("I"): 64}, allocator=backend) for _ in range(3)]
    program = _doubled.with_backend(backend)
    program(*given[:2])
    ff.adjoint(program)(*given)


def _all_ready(name: str, wrt: tuple[str, ...], scale: float, backend: Any) -> Iterator[Ready]:
    if name == STEP:
        case, calls, given, built = prepared_step(scale, backend)
        yield Ready(case, wrt, calls, given, built, _end_of(backend))
        return
    for make in chosen_cases([name]).values():
        case = make("float64", scale)
        yield prepared(case if backend is ff.cpu else _moved(case, backend), wrt, backend)


def _moved(case: Case, backend: Any) -> Case:
    """Return a case with its fields and tables on the GPU, laid out as the backend wants them."""
    arguments, tables = dict(case.arguments), dict(case.tables)
    for name, each in arguments.items():
        if hasattr(each, "asnumpy"):
            arguments[name] = ff.as_field(each.domain, each.asnumpy(), allocator=backend)
    for name, each in tables.items():
        ends, skip = (each.domain, each.codomain), each.skip_value
        tables[name] = ff.as_connectivity(*ends, each.asnumpy(), skip_value=skip, allocator=backend)
    return attrs.evolve(case, arguments=arguments, tables=tables)


def prepared(case: Case, wrt: tuple[str, ...], backend: Any = ff.cpu) -> Ready:
    """Build a program and its adjoint in an empty store."""
    program: Any = case.program
    forward = program.with_backend(backend)
    backward = ff.adjoint(forward, wrt=wrt)
    rng = np.random.default_rng(11)
    given: dict[str, Any] = {}
    for name in inspect.signature(backward.__definition__.function).parameters:
        own = case.arguments[name.removesuffix("_b")]
        numbers = rng.normal(size=own.shape).astype(case.dtype) if name.endswith("_b") else None
        given[name] = (
            own if numbers is None else ff.as_field(own.domain, numbers, allocator=backend)
        )
    calls = {
        FORWARD: lambda: forward(**case.arguments, offset_provider=case.tables),
        ADJOINT: lambda: backward(**given, offset_provider=case.tables),
    }
    built = {}
    for what, call in calls.items():
        began = time.perf_counter()
        call()
        built[what] = time.perf_counter() - began
    return Ready(case, wrt, calls, given, built, _end_of(backend))


def compare_bits(ready: Ready) -> None:
    """Compare the adjoints of several numbers of threads, bit by bit."""
    found = []
    for count in THREADS:
        use_threads(count)
        ready.calls[ADJOINT]()
        found.append({name: each.tobytes() for name, each in ready.adjoints().items()})
    assert found[0] == found[1] == found[2], f"threads change the adjoint of {ready.case.name}"


def compare_with_cpu(ready: Ready, other: Ready) -> None:
    """Compare the adjoint of a GPU with that of a CPU, bit by bit."""
    found = [each.calls[ADJOINT]() or each.adjoints() for each in (ready, other)]
    for name, array in found[0].items():
        assert array.tobytes() == found[1][name].tobytes(), f"a GPU changes '{name}_b'"


def measured(ready: Ready, threads: Sequence[int], rounds: int, beside: bool) -> Iterator[Row]:
    """Yield a row for each number of threads."""
    for count in threads:
        with contextlib.ExitStack() as stack:
            calls = {
                what: lambda loops, call=call: _seconds(call, loops, ready.end)
                for what, call in ready.calls.items()
            }
            apart: dict[str, float] = {}
            if beside and ready.case.name != STEP:  # `runs.py` compares it, in whole runs
                calls[JAX], apart = _in_jax(ready, count, stack)
            use_threads(count)
            times = _in_turns(calls, rounds)
            row = row_of(ready.case, count, times)
            yield row | {"wrt": list(ready.wrt), "built": dict(ready.built), "apart": apart}


def _in_turns(
    calls: Mapping[str, Callable[[int], float]], rounds: int
) -> dict[str, dict[str, float]]:
    seen: dict[str, list[float]] = {what: [] for what in calls}
    loops = {what: max(1, round(0.03 / max(1e-6, call(1)))) for what, call in calls.items()}
    for _ in range(rounds):
        for what, call in calls.items():
            time.sleep(PAUSE)
            seen[what].append(call(loops[what]) / loops[what])
    return {what: {"least": min(e), "median": float(np.median(e))} for what, e in seen.items()}


def _seconds(call: Call, loops: int, end: Call) -> float:
    with undisturbed():
        call()
        end()
        began = time.perf_counter()
        for _ in range(loops):
            call()
        end()
        return time.perf_counter() - began


def _end_of(backend: Any) -> Call:
    """Return what waits until all calls of a backend are done."""
    if backend is ff.cpu:
        return lambda: None
    from fieldforge.runtime import gpu

    return gpu.current_device().sync


def _in_jax(
    ready: Ready, threads: int, stack: contextlib.ExitStack
) -> tuple[Callable[[int], float], dict[str, float]]:
    """Start JAX with so many threads; return what times its adjoint, and how far ours is off."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fieldforge-adjoint-")))
    seeds = {name: each for name, each in ready.given.items() if name not in ready.case.arguments}
    told = described(attrs.evolve(ready.case, arguments={**ready.case.arguments, **seeds}), folder)
    peer = stack.enter_context(client.started("JAX", folder, threads))
    name = f"adjoint of {ready.case.name}"
    on, outputs = client.built(peer, "JAX", name, told | {"wrt": list(ready.wrt)})
    ready.calls[ADJOINT]()
    apart = {}
    for each, ours in ready.adjoints().items():
        apart[each] = float(np.abs(ours - outputs[each]).max() / np.abs(ours).max())
        assert apart[each] <= CLOSE, f"'{each}_b' of {ready.case.name} differs by {apart[each]:.1e}"
    return on(threads), apart


def ratio(row: Row, above: str, below: str) -> float | None:
    """Return the least time of one call over that of another."""
    times = row["times"]
    return times[above]["least"] / times[below]["least"] if above in times else None


def _cells(row: Row) -> Iterator[str]:
    yield from (row["program"], row["size"], ",".join(row["wrt"]), f"threads {row['threads']}")
    yield f"forward {1e3 * row['times'][FORWARD]['least']:.3g} ms"
    yield f"adjoint / forward {ratio(row, ADJOINT, FORWARD):.2f}"
    yield f"build / forward's {row['built'][ADJOINT] / row['built'][FORWARD]:.1f}"
    beside = ratio(row, JAX, ADJOINT)
    if beside is not None:
        yield f"JAX / ours {beside:.1f}, apart {max(row['apart'].values()):.0e}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="fieldforge-store-") as store:
        os.environ.setdefault("FIELDFORGE_CACHE_DIR", store)
        set_current(None)  # the definitions above have read the environment
        main()
