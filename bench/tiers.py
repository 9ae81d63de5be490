"""Both tiers of all bench cases in turns in one process, and NumPy: what the first tier costs.

    python bench/tiers.py --threads 1,2 [--cases diffusion,nabla2] [--seconds 600]

Writes `results/<machine>/tiers.json` and the summary of all machines. A row is added only if both
tiers give the same bits. One thread is measured in seconds of the processor, several in seconds of
the clock. NumPy is our embedded execution.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import click
import numpy as np
import page
from agreement import flat
from cases import MakeCase, chosen_cases
from cases.case import Case
from figures import Row, geometric_mean
from machine_tables.starts import COMPILED, EMBEDDED, PAIRS, ROWS, over
from native import use_threads
from peer.undisturbed import undisturbed
from programs import DTYPES, row_of
from results import Results
from run import machine, place
from timing import PAUSE

import fieldforge as ff

VALUE: Final = 0.02  # seconds that a value takes at least
Call = Callable[[], None]


@click.command(help=__doc__)
@click.option("--threads", default="1,2", help="numbers of threads")
@click.option("--cases", default="", help="names of cases; usually all")
@click.option("--dtypes", default=",".join(DTYPES))
@click.option("--scale", default=1.0, help="share of the points")
@click.option("--rounds", default=7)
@click.option("--seconds", default=3600.0, help="no new case after so many")
@click.option("--numpy/--no-numpy", "with_numpy", default=True, help="time embedded execution, too")
@click.option("--keep/--forget", default=True, help="write the results")
def main(
    threads: str, cases: str, dtypes: str, scale: float, rounds: int, seconds: float,
    with_numpy: bool, keep: bool,
) -> None:  # fmt: skip
    """Measure the chosen cases one after the other."""
    end = time.monotonic() + seconds
    kept = Results(place() / "tiers.json", fresh=False)
    made: list[Row] = []
    for make in chosen_cases(cases.split(",") if cases else []).values():
        for dtype in dtypes.split(","):
            if time.monotonic() > end:
                break
            for row in measured(make, dtype, scale, [*map(int, threads.split(","))], rounds):
                full = row | {"times": row["times"] | embedded(make, dtype, scale, with_numpy)}
                made.append(full)
                click.echo("  ".join(_cells(full)))
                if keep:
                    kept.add(full)
    if keep:
        kept.describe(machine=machine())
        page.write()
    click.echo("\n".join(_means(made)))


def measured(
    make: MakeCase, dtype: str, scale: float, threads: Sequence[int], rounds: int
) -> Iterator[Row]:
    """Yield a row for each number of threads."""
    case = make(dtype, scale)
    calls = {tier: call_of(case, ff.cpu.with_options(tiers=tier)) for tier in (COMPILED, ROWS)}
    found = {}
    for tier, call in calls.items():
        call()
        found[tier] = {
            name: each.copy() for name, each in flat(case.arguments, case.outputs).items()
        }
    for name, array in found[COMPILED].items():
        assert array.tobytes() == found[ROWS][name].tobytes(), f"'{name}' of {case.name} differs"
    for count in threads:
        use_threads(count)
        clock = time.process_time if count == 1 else time.perf_counter
        loops = {
            tier: max(1, round(VALUE / max(1e-6, seconds_of(call, 1, clock))))
            for tier, call in calls.items()
        }
        seen: dict[str, list[float]] = {tier: [] for tier in calls}
        for turn in range(rounds):
            for tier in sorted(calls, reverse=bool(turn % 2)):
                time.sleep(PAUSE)
                seen[tier].append(seconds_of(calls[tier], loops[tier], clock))
        times = {
            tier: {"least": min(each), "median": float(np.median(each))}
            for tier, each in seen.items()
        }
        yield row_of(case, count, times)


def embedded(make: MakeCase, dtype: str, scale: float, wanted: bool) -> Mapping[str, Any]:
    """Return the time of embedded execution, the least of three, in seconds of the clock."""
    if not wanted:
        return {}
    case = make(dtype, scale)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call = call_of(case, None)
        seconds = [seconds_of(call, 1, time.perf_counter) for _ in range(3)]
    return {EMBEDDED: {"least": min(seconds), "median": float(np.median(seconds))}}


def call_of(case: Case, backend: Any) -> Call:
    """Return a call of a case by a backend."""
    program: Any = case.program
    chosen = program.with_backend(backend)
    return lambda: chosen(**case.arguments, offset_provider=case.tables)


def seconds_of(call: Call, loops: int, clock: Callable[[], float]) -> float:
    """Return the seconds of a call, after one that is not timed."""
    with undisturbed():
        call()
        began = clock()
        for _ in range(loops):
            call()
        return (clock() - began) / loops


def _cells(row: Row) -> Iterator[str]:
    yield from (row["program"], row["size"], row["dtype"], str(row["threads"]))
    yield f"{1e3 * row['times'][COMPILED]['least']:.3g}"
    for pair in PAIRS:
        found = over(row, *pair)
        yield "–" if found is None else f"{found:.2f}"


def _means(rows: Sequence[Row]) -> Iterator[str]:
    """Say the means and the worst of rows over compiled code, and the mean of NumPy over rows."""
    for count in sorted({row["threads"] for row in rows}):
        own = [row for row in rows if row["threads"] == count]
        pairs = [(row, over(row, ROWS, COMPILED) or 0.0) for row in own]
        worst, most = max(pairs, key=lambda pair: pair[1])
        beside = geometric_mean(over(row, EMBEDDED, ROWS) for row in own)
        yield (
            f"{count} thread{'s' * (count > 1)}: rows / compiled "
            f"{geometric_mean(each for _, each in pairs):.2f} in the geometric mean, at worst "
            f"{most:.2f} ({worst['program']} {worst['size']} {worst['dtype']})"
            + ("." if beside is None else f"; NumPy / rows {beside:.1f} in the geometric mean.")
        )


if __name__ == "__main__":
    main()
