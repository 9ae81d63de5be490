"""Run generated programs for as long as one likes: `python -m tests.generated.fuzz 10000`.

Every worker takes the next batch when it is done with one. A program is known by the seed, and by
the numbers of its batch and of its place in it; `--seed 7400 --only 5/63` runs one again. Ctrl-C
and `timeout` end the run early, with the same summary, which says how many did not run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import select
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import Value
from pathlib import Path
from typing import Any, Final, TypeAlias

import attrs

from .case import Case
from .features import EVERY, supported
from .gtscript.work import work as stencils
from .isolation import check_apart
from .pieces import Draw
from .printing import as_test
from .programs import program
from .running import Disagreement, schedule_of
from .shrinking import shrink

Work: TypeAlias = Callable[["Options", Callable[[], int]], Iterator[dict[str, Any]]]

BATCH: Final = 64
BACKENDS: Final = ("cpu", "rows", "dace_cpu", "gpu-host", "dace_gpu-host")
MOST_OF_A_SORT: Final = 2  # disagreements of one sort that a worker makes small


@attrs.frozen
class Options:
    """What is run; equal options draw equal programs."""

    count: int
    seed: int = 0
    jobs: int = 2
    shrinking: float = 60.0
    features: frozenset[str] = frozenset()
    backend: str = "cpu"
    only: tuple[int, int] | None = None
    optimise: str | None = None  # None: '-O3' in one batch of eight, '-O1' in the others
    oracle: str | None = None  # of stencils of GTScript: the Python of gt4py's environment

    def level(self, batch: int) -> str:
        """Return how a batch is optimised."""
        return self.optimise or ("-O3" if batch % 8 == 7 else "-O1")


def draw_batch(seed: int, batch: int, count: int, features: frozenset[str]) -> list[Case]:
    """Draw the programs of one batch."""
    return [
        program(Draw(random.Random(f"{seed}/{batch}/{place}").randrange), features)
        for place in range(count)
    ]


def turns() -> Callable[[], int]:
    """Return a function that gives the numbers from 0 on, each to one process that asks."""
    following = Value("q", 0)

    def take() -> int:
        with following.get_lock():
            following.value += 1
            return following.value - 1

    return take


def work(options: Options, take: Callable[[], int]) -> Iterator[dict[str, Any]]:
    """Run the batches that this worker takes; yield what happened in each."""
    shrunk: Counter[str] = Counter()
    batches = -(-options.count // BATCH)
    if options.only:
        yield from _again(options, *options.only)
        return
    while (batch := take()) < batches:
        size = min(BATCH, options.count - batch * BATCH)
        began = time.monotonic()
        level = options.level(batch)
        try:
            cases = draw_batch(options.seed, batch, size, options.features)
            schedules = [schedule_of(case, options.backend) for case in cases]
            found = check_apart(cases, schedules, optimise=level)
        except Exception:
            yield _lost(options, batch, traceback.format_exc())
            continue
        yield {"count": size, "seconds": time.monotonic() - began, "found": len(found)}
        places = [next(i for i, case in enumerate(cases) if case is each.case) for each in found]
        for each, place in zip(found, places, strict=True):  # at once, because shrinking takes long
            yield {"seen": f"--seed {options.seed} --only {batch}/{place}: {each.sort}"}
        for each, place in zip(found, places, strict=True):
            shrunk[each.sort] += 1
            small = _small(each, options, level) if shrunk[each.sort] <= MOST_OF_A_SORT else each
            name = f"test_seed_{options.seed}_batch_{batch}_program_{place}"
            yield {"sort": small.sort, "source": as_test(small, name), "name": name}


def _again(options: Options, batch: int, place: int) -> Iterator[dict[str, Any]]:
    """Run one program of a batch and print it as it is."""
    case = draw_batch(options.seed, batch, place + 1, options.features)[place]
    level = options.level(batch)
    found = check_apart([case], [schedule_of(case, options.backend)], optimise=level)
    yield {"count": 1, "found": len(found)}
    for each in found:
        small = _small(each, options, level) if options.shrinking else each
        yield {"sort": small.sort, "source": as_test(small), "name": "test_again"}


def _lost(options: Options, batch: int, report: str) -> dict[str, Any]:
    """Tell that a batch could not be run; that is no disagreement, but no success either."""
    name = f"seed_{options.seed}_batch_{batch}"
    comment = "".join(f"# {line}\n" for line in report.splitlines())
    return {"sort": "the fuzzer itself failed", "source": f"# {name}\n{comment}", "name": name}


def _small(found: Disagreement, options: Options, level: str) -> Disagreement:
    def fails(cases: Sequence[Case]) -> list[Case]:
        again = check_apart(cases, [found.schedule] * len(cases), level, until=found.stage)
        return [each.case for each in again if _alike(each, found)]

    case = shrink(found.case, fails, options.shrinking)
    again = check_apart([case], [found.schedule], level)
    return again[0] if again else found


def _alike(one: Disagreement, other: Disagreement) -> bool:
    """Tell whether two disagreements are of one sort; which field differs does not count."""
    if other.what.startswith("'"):
        return one.stage == other.stage and one.what.startswith("'")
    return one.sort == other.sort


# --- workers ----------------------------------------------------------------------------------


@attrs.frozen
class Worker:
    """A process and the pipe through which it reports, one line of JSON for each event."""

    process: int
    pipe: int


def start(options: Options, take: Callable[[], int], work: Work) -> Worker:
    """Begin to work in another process, which leads a group of its own."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return Worker(process, reading)
    os.close(reading)
    os.setpgid(0, 0)
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    status = 1
    try:
        with os.fdopen(writing, "w") as pipe:
            for event in work(options, take):
                print(json.dumps(event), file=pipe, flush=True)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def events(workers: Sequence[Worker]) -> Iterator[dict[str, Any]]:
    """Yield what the workers report, until all have ended."""
    rest = {worker.pipe: b"" for worker in workers}
    while rest:
        ready, _, _ = select.select(list(rest), [], [])
        for pipe in ready:
            part = os.read(pipe, 1 << 16)
            *lines, rest[pipe] = (rest[pipe] + part).split(b"\n")
            yield from (json.loads(line) for line in lines)
            if not part:
                del rest[pipe]


def stop(workers: Sequence[Worker]) -> None:
    """End the workers with all that they started."""
    for worker in workers:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker.process, signal.SIGKILL)
        os.waitpid(worker.process, 0)


# --- the run ----------------------------------------------------------------------------------


@attrs.define
class Tally:
    """What has happened so far."""

    began: float = attrs.field(factory=time.monotonic)
    programs: int = 0
    found: int = 0
    sorts: Counter[str] = attrs.field(factory=Counter)

    def summary(self, options: Options) -> str:
        """Say all of it in one line."""
        seconds = time.monotonic() - self.began
        features = ", ".join(sorted(options.features)) or "cartesian only"
        rate = f"{self.programs / seconds:.1f} a second"
        missing = options.count - self.programs
        rest = f"; {missing} programs did NOT run" if missing else ""
        return (
            f"{self.programs} programs in {seconds:.0f} s ({rate}), {self.found} disagreements "
            f"of {len(self.sorts)} sorts, seed {options.seed}, {features}{rest}"
        )


def run(options: Options, folder: Path | None, work: Work = work) -> Tally:
    """Run all programs; print each disagreement as a test, and write it to `folder`."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    tally, take = Tally(), turns()
    workers = [start(options, take, work) for _ in range(options.jobs)]
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    console = Console()
    try:
        with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
            task = progress.add_task("programs", total=options.count)
            for event in events(workers):
                if "seen" in event:
                    console.print(event["seen"], markup=False, highlight=False, soft_wrap=True)
                    continue
                if "source" in event:
                    tally.sorts[event["sort"]] += 1
                    _show(event, console, folder)
                    continue
                tally.programs += event["count"]
                tally.found += event["found"]
                words = f"programs, {tally.found} disagreements"
                progress.update(task, completed=tally.programs, description=words)
                if not console.is_terminal and tally.programs % (4 * BATCH) < event["count"]:
                    console.print(f"{tally.programs} {words}", highlight=False)
    except KeyboardInterrupt:
        console.print("Ended early.")
    finally:
        stop(workers)
    for sort, count in tally.sorts.most_common():
        console.print(f"{count:5}  {sort}", markup=False, highlight=False)
    console.print(tally.summary(options), markup=False, highlight=False, soft_wrap=True)
    return tally


def _show(event: dict[str, Any], console: Any, folder: Path | None) -> None:
    console.rule(event["sort"], align="left")
    console.print(event["source"], markup=False, highlight=False, soft_wrap=True)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{event['name']}.py").write_text(event["source"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and run; 1 says that programs disagree, or did not run."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("count", type=int, nargs="?", default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="other seeds draw other programs")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes")
    parser.add_argument("--shrink", type=float, default=60.0, help="seconds to make one small")
    parser.add_argument(
        "--features", help="'every', 'supported' (the default), or names with commas"
    )
    parser.add_argument("--backend", choices=BACKENDS, default="cpu")
    parser.add_argument("--output", type=Path, help="a folder for the disagreements, as test files")
    parser.add_argument("--only", type=_place, help="one program, as BATCH/PLACE")
    parser.add_argument("--optimise", help="compile all programs with this option, such as -O0")
    parser.add_argument("--language", choices=("gt4py", "gtscript"), default="gt4py")
    parser.add_argument("--oracle", help="of 'gtscript': a Python that has gt4py 1.2.3")
    given = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell may have had the first one ignored
        signal.signal(number, signal.default_int_handler)
    features = _features(given.features)
    count, jobs = (1, 1) if given.only else (given.count, given.jobs)
    options = Options(
        count, given.seed, jobs, given.shrink, features, given.backend, given.only, given.optimise
    )
    options = attrs.evolve(options, oracle=given.oracle)
    tally = run(options, given.output, stencils if given.language == "gtscript" else work)
    return 1 if tally.found or tally.programs < count else 0


def _place(text: str) -> tuple[int, int]:
    batch, place = map(int, text.split("/"))
    return batch, place


def _features(text: str | None) -> frozenset[str]:
    if text in (None, "supported"):
        return supported()
    return EVERY if text == "every" else frozenset(name for name in text.split(",") if name)


if __name__ == "__main__":
    sys.exit(main())
