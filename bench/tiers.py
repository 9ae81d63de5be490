"""Both tiers of all bench cases in turns in one process, and NumPy: what the first tier costs.

    python bench/tiers.py --threads 1,2 [--cases diffusion,nabla2] [--seconds 600]

Writes `results/<machine>/tiers.json` and the tables in docs/performance.md (`--page` writes only
those). A row is added only if both tiers give the same bits. One thread is measured in seconds of
the processor, several in seconds of the clock. NumPy is our embedded execution.
"""

from __future__ import annotations

import json
import re
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
from machine_tables import table
from native import use_threads
from peer.undisturbed import undisturbed
from programs import DTYPES, row_of
from results import Results
from run import RESULTS, machine
from timing import PAUSE

import fieldforge as ff
from fieldforge.runtime.calls.machine import processor

BEGIN: Final = "<!-- tiers: made by `python bench/tiers.py`; edits are lost -->"
END: Final = "<!-- end of tiers -->"
VALUE: Final = 0.02  # seconds that a value takes at least
COMPILED, ROWS, EMBEDDED = "compiled", "rows", "embedded"
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
@click.option("--page", "only_page", is_flag=True, help="write the tables of what was measured")
def main(
    threads: str, cases: str, dtypes: str, scale: float, rounds: int, seconds: float,
    with_numpy: bool, keep: bool, only_page: bool,
) -> None:  # fmt: skip
    """Measure the chosen cases one after the other."""
    if only_page:
        write_page()
        return
    end = time.monotonic() + seconds
    place = RESULTS / re.sub(r"[^A-Za-z0-9]+", "-", processor()).strip("-")
    place.mkdir(parents=True, exist_ok=True)
    kept = Results(place / "tiers.json", fresh=False)
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
        write_page()
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


def ratio(row: Row, above: str, below: str) -> float | None:
    """Return the least time of one execution over that of another."""
    times = row["times"]
    return times[above]["least"] / times[below]["least"] if above in times else None


def _cells(row: Row) -> Iterator[str]:
    yield from (row["program"], row["size"], row["dtype"], str(row["threads"]))
    yield f"{1e3 * row['times'][COMPILED]['least']:.3g}"
    for pair in ((ROWS, COMPILED), (EMBEDDED, ROWS)):
        found = ratio(row, *pair)
        yield "–" if found is None else f"{found:.2f}"


def _means(rows: Sequence[Row]) -> Iterator[str]:
    """Say the means and the worst of rows over compiled code, and the mean of NumPy over rows."""
    for count in sorted({row["threads"] for row in rows}):
        own = [row for row in rows if row["threads"] == count]
        pairs = [(row, ratio(row, ROWS, COMPILED) or 0.0) for row in own]
        worst, most = max(pairs, key=lambda pair: pair[1])
        beside = geometric_mean(ratio(row, EMBEDDED, ROWS) for row in own)
        yield (
            f"{count} thread{'s' * (count > 1)}: rows / compiled "
            f"{geometric_mean(each for _, each in pairs):.2f} in the geometric mean, at worst "
            f"{most:.2f} ({worst['program']} {worst['size']} {worst['dtype']})"
            + ("." if beside is None else f"; NumPy / rows {beside:.1f} in the geometric mean.")
        )


def write_page() -> None:
    """Write the tables of all machines, in the order of their names."""
    found = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*/tiers.json"))]
    text = "\n".join(line for document in found for line in section(document))
    page.put(text, page.ROOT / "docs" / "performance.md", BEGIN, END)


def section(document: Mapping[str, Any]) -> Iterator[str]:
    """Return what the page says of one machine."""
    rows = document["rows"]
    days = sorted({row["taken"] for row in rows})
    loads = sorted(row["load"] for row in rows)
    yield f"#### {document['machine']['processor']}\n"
    yield (
        f"Taken {' to '.join(dict.fromkeys((days[0], days[-1])))}, beside a load of {loads[0]:g} "
        f"to {loads[-1]:g}.\n"
    )
    yield from (f"* {line}" for line in _means(rows))
    yield ""
    counts = sorted({row["threads"] for row in rows})
    by_case: dict[tuple[str, str], dict[int, dict[str, Row]]] = {}
    for row in rows:
        own = by_case.setdefault((row["program"], row["size"]), {})
        own.setdefault(row["threads"], {})[row["dtype"]] = row
    head = ["program", "size"]
    head += [f"{pair}: {count} thread{'s' * (count > 1)}" for pair in PAIRS for count in counts]
    cells = [
        [*case, *(_both(by_count.get(n, {}), *PAIRS[p]) for p in PAIRS for n in counts)]
        for case, by_count in by_case.items()
    ]
    yield from table(head, cells)


PAIRS: Final = {"rows / compiled": (ROWS, COMPILED), "NumPy / rows": (EMBEDDED, ROWS)}


def _both(by_dtype: Mapping[str, Row], above: str, below: str) -> str:
    found = (ratio(by_dtype[d], above, below) if d in by_dtype else None for d in DTYPES)
    return ", ".join("–" if each is None else f"{each:.2f}" for each in found)


if __name__ == "__main__":
    main()
