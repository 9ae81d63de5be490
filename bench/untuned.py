"""Programs that no rule was made for, beside plain kernels by hand, in turns in one run.

    python bench/untuned.py --cpu --threads 1,2 --scale 0.1
    python bench/untuned.py --gpu --against ../before

Results are compared before anything is timed. `--against` takes another checkout with its `.venv`,
or a folder into which one was installed; it runs the same programs in a process of its own, in the
same turns. Cold builds are made in new processes on the host. A row goes to
`results/<machine>/untuned.json` as soon as it is there; Ctrl-C ends the run.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import click
import numpy as np
import untuned_by_hand
from cases import untuned
from native import use_threads
from peer.client import Peer, RefusedError
from peer.serving import serve
from peer.undisturbed import undisturbed
from results import Results
from rich.console import Console
from rich.table import Table
from run import RESULTS, machine
from untuned_memory import Device, Host, Simulated

import fieldforge as ff

DTYPES = ("float64", "float32")
OURS, SPLIT, BEFORE, BY_HAND = "fieldforge", "split", "before", "by hand: "
NEAR = {"float64": 1e-9, "float32": 1e-3}  # of the largest number: sums in another order
SWITCHED = 1e-5  # of all points may be far off, where a rounded comparison falls the other way
UNTOUCHED = 7.0  # what outputs hold before a call
PAUSE = 0.005  # lets the threads of the variant before fall asleep
VALUE = 0.02  # seconds that a value takes at least
BUILDS = 2  # cold builds, of which the fastest counts
SMALL = 0.004  # scale of cold builds

TimeCalls = Callable[[int], float]  # seconds that so many calls took


@attrs.frozen
class Place:
    """Where programs run: the backend, the memory, and what times calls there."""

    name: str
    backend: Any
    memory: Any
    hand: Callable[..., Mapping[str, Callable[[], None]]]
    timed: Callable[[Callable[[], object]], TimeCalls]


def place(name: str) -> Place:
    """Return the host, or the GPU that this process sees, if only a simulated one."""
    if name == "cpu":
        return Place("cpu", ff.cpu, Host(), untuned_by_hand.on_cpu, _timed_on_host)
    from fieldforge.runtime import gpu
    from fieldforge.workflows.backends.ready_made import BACKENDS

    if gpu.platform() == "null":
        backend = BACKENDS["gpu-host"].with_options(on_device=True)
        return Place("gpu", backend, Simulated(), untuned_by_hand.on_gpu, _timed_on_host)
    return Place("gpu", BACKENDS["gpu"], Device(), untuned_by_hand.on_gpu, _timed_on_device)


def _timed_on_host(call: Callable[[], object]) -> TimeCalls:
    def time_calls(loops: int) -> float:
        time.sleep(PAUSE)
        with undisturbed():
            call()
            begin = time.perf_counter()
            for _ in range(loops):
                call()
            return time.perf_counter() - begin

    return time_calls


def _timed_on_device(call: Callable[[], object]) -> TimeCalls:
    from fieldforge.runtime import gpu

    def time_calls(loops: int) -> float:
        first, last = gpu.Event(timing=True), gpu.Event(timing=True)
        call()
        first.record()
        for _ in range(loops):
            call()
        last.record()
        last.sync()
        return float(last - first) * 1e-3

    return time_calls


@contextlib.contextmanager
def stream(on: Place) -> Iterator[None]:
    """Let our calls and CuPy's work in one stream, where there is CuPy."""
    from fieldforge.runtime import gpu

    if on.name == "cpu" or isinstance(on.memory, Simulated):
        yield
        return
    import cupy

    with gpu.Stream() as ours, cupy.cuda.ExternalStream(ours.ptr):
        yield


@contextlib.contextmanager
def own_store() -> Iterator[None]:
    """Build into an empty store: two checkouts may have equal keys for unequal texts."""
    from fieldforge.cache.disk import Disk

    with tempfile.TemporaryDirectory() as scratch, ff.using(ff.Engine(Disk(Path(scratch)))):
        yield


# --- one program ----------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Built:
    """A program that has run once: its call, and its outputs then."""

    of: untuned.Described
    call: Callable[[], object]
    found: Mapping[str, Any]

    @property
    def digest(self) -> dict[str, int]:
        """A sum of the words of each output, equal where all bits are."""
        unsigned = {"float64": np.uint64, "float32": np.uint32}[self.of.dtype]
        return {
            name: int(array.view(unsigned).sum(dtype=np.uint64))
            for name, array in self.found.items()
        }


def build(name: str, dtype: str, on: Place, scale: float) -> Built:
    """Make a program's arguments and run it once."""
    of = untuned.described(name, dtype, untuned.space(name, on.name, scale), on.memory)
    program = of.program.with_backend(on.backend)
    call = partial(program, **of.arguments, offset_provider=of.tables)
    return Built(of, call, outputs(of, on, call))


def split(of: untuned.Described, on: Place) -> Callable[[], object]:
    """Return a call of the programs that compute the same one after the other."""
    known = {**of.arguments, **of.handed_on}
    calls = [
        partial(
            part.with_backend(on.backend),
            **{name: known[name] for name in untuned.wanted(part)},
            offset_provider=of.tables,
        )
        for part in of.split
    ]
    return lambda: [call() for call in calls]


def outputs(of: untuned.Described, on: Place, call: Callable[[], object]) -> dict[str, Any]:
    """Return copies of what a call writes."""
    views = {name: on.memory.view(of.arguments[name]) for name in of.outputs}
    for view in views.values():
        view[...] = UNTOUCHED
    call()
    return {name: on.memory.copied(view) for name, view in views.items()}


def far(built: Built, found: Mapping[str, Any]) -> float:
    """Return the largest share of points of an output that is not near ours, where NaN is far."""
    shares = []
    for name, ours in built.found.items():
        near = abs(found[name] - ours) <= NEAR[built.of.dtype] * float(abs(ours).max())
        shares.append(1.0 - float(near.mean()))
    return max(shares)


def variants(built: Built, on: Place) -> tuple[dict[str, TimeCalls], dict[str, str]]:
    """Return what times ours and the kernels by hand that agree, and why others are left out."""
    calls, refused = {OURS: on.timed(built.call)}, {}
    found = {BY_HAND + name: call for name, call in on.hand(built.of, on.memory).items()}
    found |= {SPLIT: split(built.of, on)} if built.of.split else {}
    for name, call in found.items():
        share = far(built, outputs(built.of, on, call))
        if share <= SWITCHED:
            calls[name] = on.timed(call)
        else:
            refused[name] = f"{share:.2g} of points differ"
    outputs(built.of, on, built.call)
    return calls, refused


def moved(of: untuned.Described) -> int:
    """Return the bytes of all fields and tables."""
    fields = sum(
        int(np.prod(each.shape)) * np.dtype(of.dtype).itemsize for each in of.fields.values()
    )
    return fields + sum(table.nbytes for table in of.space.tables.values())


# --- another checkout -----------------------------------------------------------------------------


def interpreter(path: Path) -> tuple[str, dict[str, str]]:
    """Return the Python of a checkout, or ours and where it is to look first."""
    own = path / ".venv" / "bin" / "python"
    if own.exists():
        return str(own), {}
    more = os.environ.get("PYTHONPATH", "")
    return sys.executable, {"PYTHONPATH": f"{path.resolve()}:{more}".rstrip(":")}


class Before:
    """The process of another checkout."""

    def __init__(self, path: Path, on: Place, threads: int, stack: contextlib.ExitStack) -> None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="before-")))
        python, settings = interpreter(path)
        worker = (python, str(Path(__file__).resolve()), f"--{on.name}", "--serve")
        self._peer = stack.enter_context(Peer(folder, threads, settings=settings, worker=worker))

    def variant(self, built: Built, scale: float) -> tuple[TimeCalls, bool]:
        """Build the same program there; return what times it, and whether its bits are ours."""
        answer = self._peer.ask(do="build", name=built.of.name, dtype=built.of.dtype, scale=scale)
        return self._seconds, answer["digest"] == built.digest

    def use_threads(self, count: int) -> None:
        """Use `count` threads from now on."""
        self._peer.ask(do="threads", count=count)

    def _seconds(self, loops: int) -> float:
        return float(self._peer.ask(do="run", loops=loops)["seconds"])


def serve_calls(on: Place) -> None:
    """Build and time programs as another process asks."""
    made: dict[str, Any] = {}

    def answer(request: Mapping[str, Any]) -> dict[str, Any]:
        match request["do"]:
            case "build":
                made.clear()
                built = build(request["name"], request["dtype"], on, request["scale"])
                made["call"] = on.timed(built.call)
                return {"digest": built.digest}
            case "threads":
                use_threads(request["count"])
                return {}
            case _:
                return {"seconds": made["call"](request["loops"])}

    with own_store(), stream(on):
        serve(answer)


# --- cold builds ----------------------------------------------------------------------------------


def cold(name: str, dtype: str, path: Path | None, on: Place) -> dict[str, float]:
    """Build a program in a new process with an empty store; the fastest of several."""
    python, settings = (sys.executable, {}) if path is None else interpreter(path)
    command = [python, str(Path(__file__).resolve()), f"--{on.name}", "--build", f"{name},{dtype}"]
    found = []
    for _ in range(BUILDS):
        done = subprocess.run(
            command, env=os.environ | settings, capture_output=True, text=True, check=True
        )
        found.append(json.loads(done.stdout.splitlines()[-1]))
    best: dict[str, float] = min(found, key=lambda each: each["processor_s"])
    return best


def build_once(name: str, dtype: str, on: Place) -> dict[str, float]:
    """Build a program that no store has, after another one; return seconds and bytes."""

    def first_call(name: str, dtype: str) -> tuple[float, float, int]:
        where = untuned.space(name, on.name, SMALL)
        of = untuned.described(name, dtype, where, on.memory)
        program = of.program.with_backend(on.backend)
        with own_store():
            begin, clock = _processor_seconds(), time.perf_counter()
            program(**of.arguments, offset_provider=of.tables)
            took = _processor_seconds() - begin, time.perf_counter() - clock
            trace = program.trace(until="codegen", offset_provider=of.tables)
            return *took, len(trace["codegen"].artifact.files()["source.txt"])

    first_call("showers", "float32" if dtype == "float64" else "float64")
    processor, wall, size = first_call(name, dtype)
    return {"processor_s": processor, "wall_s": wall, "source_bytes": size}


def _processor_seconds() -> float:
    """Return what this process and the compilers that it waited for have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


# --- the run --------------------------------------------------------------------------------------


def in_turns(calls: Mapping[str, TimeCalls], rounds: int) -> dict[str, dict[str, float]]:
    """Measure each variant once in a round, beginning with another one each time."""
    loops = max(2, round(VALUE / max(1e-6, calls[OURS](1))))
    found: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls.items())
    for turn in range(rounds):
        first = turn % len(order)
        for name, call in order[first:] + order[:first]:
            found[name].append(call(loops) / loops)
    return {
        name: {"least": min(each), "median": statistics.median(each), "values": len(each)}
        for name, each in found.items()
    }


@attrs.frozen
class Wish:
    """What to measure."""

    on: Place
    programs: Sequence[str]
    dtypes: Sequence[str]
    threads: Sequence[int | None]  # none on a GPU
    scale: float
    rounds: int
    against: Path | None
    builds: bool


def measured(wish: Wish, console: Console) -> Iterator[dict[str, Any]]:
    """Yield a row for each program, precision and number of threads."""
    with contextlib.ExitStack() as stack:
        before = None
        if wish.against is not None:
            before = Before(
                wish.against, wish.on, max(filter(None, wish.threads), default=1), stack
            )
        pairs = [(name, dtype) for name in wish.programs for dtype in wish.dtypes]
        for number, (name, dtype) in enumerate(pairs, 1):
            console.print(f"{number} of {len(pairs)}: {name} {dtype}", highlight=False)
            try:
                yield from _rows(name, dtype, wish, before)
            except (ff.errors.FieldforgeError, RefusedError) as error:
                console.print(f"{type(error).__name__}: {error}", markup=False)


def _rows(name: str, dtype: str, wish: Wish, before: Before | None) -> Iterator[dict[str, Any]]:
    built = build(name, dtype, wish.on, wish.scale)
    calls, refused = variants(built, wish.on)
    row: dict[str, Any] = {
        "program": name, "size": built.of.space.size, "dtype": dtype, "moved": moved(built.of),
        "taken": date.today().isoformat(), "refused": refused,
    }  # fmt: skip
    if before is not None:
        calls[BEFORE], row["same_bits"] = before.variant(built, wish.scale)
    if wish.builds:
        row["built"] = {OURS: cold(name, dtype, None, wish.on)}
        if wish.against is not None:
            row["built"][BEFORE] = cold(name, dtype, wish.against, wish.on)
    for count in wish.threads:
        if count is not None:
            use_threads(count)
            if before is not None:
                before.use_threads(count)
        times = in_turns(calls, wish.rounds)
        yield row | {"threads": count, "load": round(os.getloadavg()[0], 2), "times": times}


# --- the table ------------------------------------------------------------------------------------


def hand(row: Mapping[str, Any], kind: str) -> float | None:
    """Return the time of the fastest kernels by hand over ours."""
    times = [each[kind] for name, each in row["times"].items() if name.startswith(BY_HAND)]
    return min(times) / row["times"][OURS][kind] if times else None


def over_ours(name: str, row: Mapping[str, Any], kind: str) -> float | None:
    """Return the time of a variant over ours."""
    times = row["times"]
    return times[name][kind] / times[OURS][kind] if name in times else None


RATIOS = (hand, partial(over_ours, SPLIT), partial(over_ours, BEFORE))


def table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return ratios of least times and of medians, their means, and what builds take."""
    shown = Table(
        "program", "size", "type", "threads", "ms", "by hand / ours", "split / ours",
        "before / ours", "build, s", "source, kB",
    )  # fmt: skip
    for row in rows:
        ours = f"{1e3 * row['times'][OURS]['least']:.4g}"
        cells = [row["program"], row["size"], row["dtype"], str(row["threads"] or "")]
        shown.add_row(*cells, ours, *(_both([row], ratio) for ratio in RATIOS), *_builds(row))
    for dtype in DTYPES:
        own = [row for row in rows if row["dtype"] == dtype]
        for count in dict.fromkeys(row["threads"] for row in own):
            taken = [row for row in own if row["threads"] == count]
            means = [_both(taken, ratio) for ratio in RATIOS]
            shown.add_row("mean", "", dtype, str(count or ""), "", *means, "", "")
    return shown


def _both(rows: Sequence[Mapping[str, Any]], ratio: Callable[..., float | None]) -> str:
    """Return the geometric means of the ratios of least times and of medians."""
    cells = []
    for kind in ("least", "median"):
        found = [each for row in rows if (each := ratio(row, kind)) is not None]
        cells.append(f"{statistics.geometric_mean(found):.3f}" if found else "–")
    return "" if "–" in cells else " / ".join(cells)


def _builds(row: Mapping[str, Any]) -> tuple[str, str]:
    built = row.get("built", {})
    seconds = [f"{built[name]['processor_s']:.2f}" for name in (OURS, BEFORE) if name in built]
    sizes = [f"{built[name]['source_bytes'] / 1e3:.1f}" for name in (OURS, BEFORE) if name in built]
    return " for ".join(seconds), " for ".join(sizes)


def _folder(on: Place) -> Path:
    from fieldforge.runtime import gpu
    from fieldforge.runtime.calls.machine import processor

    if on.name == "gpu":
        return RESULTS / gpu.Device(0).name.replace(" ", "-").lower()
    return RESULTS / re.sub(r"[^A-Za-z0-9]+", "-", processor()).strip("-")


@click.command(help=__doc__)
@click.option("--cpu", "where", flag_value="cpu", default=True)
@click.option("--gpu", "where", flag_value="gpu")
@click.option("--programs", default=",".join(untuned.NAMES), help="names of programs")
@click.option("--dtypes", default=",".join(DTYPES))
@click.option("--threads", default="1,2", help="numbers of threads, on a CPU")
@click.option("--scale", default=1.0, help="share of the points")
@click.option("--rounds", default=9)
@click.option("--against", type=click.Path(exists=True, path_type=Path), help="another checkout")
@click.option("--builds/--no-builds", default=None, help="time cold builds; usual on CPUs")
@click.option("--output", type=click.Path(path_type=Path), help="the file of results")
@click.option("--serve", "serves", is_flag=True, hidden=True)
@click.option("--build", "only", hidden=True)
def main(
    where: str, programs: str, dtypes: str, threads: str, scale: float, rounds: int,
    against: Path | None, builds: bool | None, output: Path | None, serves: bool, only: str | None,
) -> None:  # fmt: skip
    """Measure, keep each row, and print the table."""
    on = place(where)
    if serves:
        serve_calls(on)
        return
    if only is not None:
        click.echo(json.dumps(build_once(*only.split(","), on)))
        return
    counts = [None] if where == "gpu" else [int(part) for part in threads.split(",")]
    wish = Wish(
        on, programs.split(","), dtypes.split(","), counts, scale, rounds, against,
        where == "cpu" if builds is None else builds,
    )  # fmt: skip
    path = output or _folder(on) / "untuned.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    kept, console, rows = Results(path, fresh=False), Console(width=150), []
    kept.describe(machine=machine())
    with contextlib.suppress(KeyboardInterrupt), own_store(), stream(on):
        for row in measured(wish, console):
            kept.add(row)
            rows.append(row)
    console.print(table(rows))


if __name__ == "__main__":
    main()
