"""The summary of all machines: a row for each question, a column for each machine."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import figures
import untuned_table
from figures import DACE, GTFN, OURS, Row, geometric_mean, over_ours, rival, taken

from . import gpu, starts
from .pages import Machine, machines
from .programs import by_hand
from .text import NONE, table
from .tools import TOOLS

DTYPES = ("float64", "float32")
Of = Callable[[Row], float | None]


def summary() -> Iterator[str]:
    """Return the table, and the links of its head; a machine without figures has no column."""
    columns = {each: [cell(each) for _, _, cell in ROWS] for each in machines()}
    columns = {each: cells for each, cells in columns.items() if any(c != NONE for c in cells)}
    rows = [
        [group and f"**{group}**", what, *(cells[place] for cells in columns.values())]
        for place, (group, what, _) in enumerate(ROWS)
    ]
    yield from table(["", "", *(f"[{each.name}]" for each in columns)], rows)
    yield from (f"[{each.name}]: results/{each.slug}.md" for each in columns)


def pair(rows: Sequence[Mapping[str, Any]], of: Of, digits: int = 2) -> str:
    """Return the geometric means of both precisions."""
    means = [geometric_mean(of(row) for row in rows if row["dtype"] == dtype) for dtype in DTYPES]
    if means == [None, None]:
        return NONE
    return ", ".join(NONE if each is None else _shown(each, digits) for each in means)


def _shown(number: float, digits: int = 2) -> str:
    """Return a number with so many digits behind the point, fewer if it is large."""
    return f"{number:.{digits}f}" if number < 10 else f"{number:.0f}"


def _most_threads(document: Mapping[str, Any]) -> list[Row]:
    """Return the rows on the most threads."""
    rows = document.get("rows", [])
    most = max((row["threads"] or 0 for row in rows), default=0)
    return [row for row in rows if (row["threads"] or 0) == most]


def _gpu(machine: Machine) -> list[Row]:
    has = machine.read("gpu_programs")
    return [row for row in gpu.rows_of(machine.folder) if "ms" in row] if has else []


def hand(machine: Machine) -> str:
    """By hand / ours: C++ on all threads, or CUDA."""

    def of(row: Row) -> float | None:
        least = min(row["by_hand_ms"].values(), default=None)
        return least and least / row["ms"]

    rows = _gpu(machine)
    return pair(rows, of) if rows else pair(_most_threads(machine.read("brief")), by_hand)


def share(machine: Machine) -> str:
    """The share of a copy, or of the roof of memory and arithmetic."""
    if rows := _gpu(machine):
        return pair(rows, lambda row: float(row["share"]))
    document = machine.read("programs")
    return pair(
        _most_threads(document),
        lambda row: figures.share_of_roof(row, document["roofs"], taken(row, OURS)),
    )


def tool(name: str) -> Callable[[Machine], str]:
    """Return the cell of a tool that runs beside kernels by hand."""

    def cell(machine: Machine) -> str:
        if rows := _gpu(machine):
            return pair(rows, lambda row: _over(row["peers_ms"].get(name), row["ms"]), 1)
        document = machine.read("others") or machine.read("brief")
        return pair(_most_threads(document), lambda row: over_ours(row, taken(row, name)), 1)

    return cell


def _over(theirs: float | None, ours: float) -> float | None:
    return None if theirs is None else theirs / ours


def peer(name: str) -> Callable[[Machine], str]:
    """Return the cell of a rival of `programs.json`."""
    return lambda machine: pair(
        _most_threads(machine.read("programs")), lambda row: over_ours(row, rival(row, name)), 1
    )


def peer_on_gpu(machine: Machine) -> str:
    """The better of gt4py's GPU backends over ours, geometric mean and range, float64."""
    rows = [row for row in machine.rows("gpu_peer") if "ms" in row]
    found = []
    for case in dict.fromkeys(row["case"] for row in rows):
        own = [row for row in rows if row["case"] == case]
        theirs = [row["ms"] for row in own if not row["by"].startswith("fieldforge")]
        if theirs:
            found.append(min(theirs) / gpu.default(own)["ms"])
    return _span(found, lambda mean: f"{mean:.1f}")


def _span(found: Sequence[float], shown: Callable[[float], str]) -> str:
    """Return the geometric mean, and the least and largest number."""
    if not found:
        return NONE
    mean = shown(statistics.geometric_mean(found))
    return f"{mean} ({shown(min(found))} to {shown(max(found))})" if len(found) > 1 else mean


def untuned(machine: Machine) -> str:
    """Plain kernels by hand / ours, without the programs that are measured only if named."""
    rows = _most_threads(machine.read("untuned"))
    usual = [row for row in rows if row["program"] in untuned_table.NAMES]
    return pair(usual, lambda row: untuned_table.by_hand(row, "least"))


def call(machine: Machine) -> str:
    """After how long a call with 15 fields returns."""
    for row in machine.rows("gpu_programs"):
        if "call_of_15_fields_us" in row:
            return f"{row['call_of_15_fields_us']:.1f} us"
    for row in machine.rows("calls"):
        if row["call"] == "fields_15 positional":
            return f"{1e-3 * row['ours']:.2f} us"
    return NONE


def call_of_peer(machine: Machine) -> str:
    """How many times as long the call of gt4py takes, with and without `-O`."""
    for row in machine.rows("calls"):
        if row["call"] == "fields_15 positional" and row["gt4py"]:
            return f"{row['gt4py'] / row['ours']:,.0f}, {row['gt4py -O'] / row['ours']:.0f}"
    return NONE


def step(machine: Machine) -> str:
    """What a program of a recorded step of 100 costs."""
    for row in machine.rows("gpu_programs"):
        if "step_of_100" in row:
            return f"{10 * row['step_of_100']['replayed_us']:.0f} ns"
    for row in machine.rows("calls"):
        if row["call"] == "step of 100":
            return f"{row['ours'] / 100:.0f} ns"
    return NONE


def first(way: str) -> Callable[[Machine], str]:
    """Return the cell of a way to the first result, in ms after `import numpy`."""

    def cell(machine: Machine) -> str:
        rows = machine.rows("first")
        found = [1e3 * row["times"][way]["least"] for row in rows if row["times"].get(way)]
        return _span(found, lambda mean: f"{mean:.0f}")

    return cell


def tiers(machine: Machine) -> str:
    """The time of the first tier over that of compiled code, on one thread."""
    rows = [row for row in machine.rows("tiers") if row["threads"] == 1]
    return pair(rows, lambda row: starts.over(row, starts.ROWS, starts.COMPILED))


def built(part: str, key: str, name: str = "") -> Callable[[Machine], str]:
    """Return the seconds of cold builds: by a part on a CPU, or the backend `name` on a GPU."""

    def cell(machine: Machine) -> str:
        rows = machine.rows(part)
        own = [row for row in machine.rows("gpu_peer") if row["by"].startswith(name)]
        found = [row["first_call_s"] for row in own if row.get("first_call_s")]
        for row in rows:
            seconds = row[key] if key in row else row.get("built", {}).get(key)
            found += [seconds] if seconds and row["size"] else []
        return _span(found, lambda mean: f"{mean:.2g}" if mean < 10 else f"{mean:.0f}")

    return cell


def gtscript(part: str, *keys: str) -> Callable[[Machine], str]:
    """Return gt4py's time over ours, of a part's figures or all that it has."""

    def cell(machine: Machine) -> str:
        rows = machine.read("gtscript").get("rows", {})
        found = []
        for each, key in starts.measures(rows):
            if each == part and (key in keys or not keys):
                ours, theirs = (starts.best(rows, part, t, key) for t in ("fieldforge", "gt4py"))
                if ours and theirs:
                    found.append(theirs[0] / ours[0])
        return _span(found, _shown)

    return cell


ROWS: Sequence[tuple[str, str, Callable[[Machine], str]]] = (
    ("Programs", "best of several kernels by hand / ours", hand),
    ("", "share of the roof, on a GPU of a copy", share),
    *(("", f"{name} / ours", tool(name)) for name in (*TOOLS, "CuPy")),
    ("", "NumPy / ours", peer(figures.NUMPY)),
    ("", "gt4py, C++ backend / ours", peer(GTFN)),
    ("", "gt4py, DaCe backend / ours", peer(DACE)),
    ("", "gt4py, the better GPU backend / ours", peer_on_gpu),
    ("Untuned programs", "plain kernels by hand / ours", untuned),
    ("Calls", "15 fields: when it returns", call),
    ("", "gt4py / ours, without and with `-O`", call_of_peer),
    ("", "a program of a recorded step", step),
    ("First result", "cold: ms", first("cold")),
    ("", "warm: ms", first("warm")),
    ("", "JAX, cold: ms", first("JAX, cold")),
    ("", "Numba, cold: ms", first("Numba, cold")),
    ("", "first tier / compiled code, 1 thread", tiers),
    ("Cold builds", "ours: s", built("cold", "s", "fieldforge")),
    ("", "gt4py, C++ backend: s", built("programs", GTFN, "gtfn")),
    ("", "gt4py, DaCe backend: s", built("programs", DACE, "dace")),
    ("GTScript", "first result: gt4py / ours", gtscript("first", "seconds")),
    ("", "a call of ten fields: gt4py / ours", gtscript("calls", "call")),
    ("", "kernels: gt4py / ours", gtscript("kernels")),
)
