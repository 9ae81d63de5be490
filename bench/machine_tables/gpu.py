"""Tables of `gpu_programs.json` and `gpu_peer.json`: a copy, CUDA by hand, CuPy, JAX, gt4py."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .text import table

HEAD = (
    "program", "layout", "precision", "ms", "share of copy", "a point a thread: ms", "by hand: ms",
    "by hand / ours", "JAX / ours", "CuPy / ours",
)  # fmt: skip
PEER_HEAD = (
    "program", "by", "ms", "over ours", "a call returns after: us", "first call: s",
)  # fmt: skip
Row = dict[str, Any]


def rows_of(folder: Path) -> list[Row]:
    """Return the rows of the programs; kernels by hand in patches come from their own file."""
    rows: list[Row] = json.loads((folder / "gpu_programs.json").read_text())["rows"]
    patches = folder / "gpu_patch_sharing.json"
    if not patches.exists():
        return rows
    by_hand = [row for row in json.loads(patches.read_text()) if "by_hand" in row]
    for row in rows:
        found = [each["ms"] for each in by_hand if _is_same(row, each)]
        if "ms" in row and found:
            row["by_hand_ms"]["in patches"] = min(found)
    return rows


def _is_same(row: Row, by_hand: Row) -> bool:
    """Tell whether a kernel by hand, with levels contiguous, computes the program of a row."""
    mine = (row.get("case"), row.get("dtype"), row.get("layout"))
    return mine == (by_hand["case"], by_hand["dtype"], "levels contiguous")


def section(rows: Sequence[Row]) -> Iterator[str]:
    """Return what the page of a machine says of programs on its GPU, float64 first."""
    whole = next(row for row in rows if "copy_gb_s" in row)
    step = whole["step_of_100"]
    yield "## Programs on the GPU\n"
    yield (
        "*Share of copy* is the time of a copy of the bytes that must move over our time; the copy "
        f"moved {whole['copy_gb_s']:,.0f} GB/s. *A point a thread* is our code without schedules.\n"
    )
    timed = [row for row in rows if "ms" in row]
    timed.sort(key=lambda row: row["dtype"], reverse=True)
    yield from table(HEAD, [_cells(row) for row in timed])
    yield (
        f"A call with 15 fields returns after {whole['call_of_15_fields_us']:.1f} us, a recorded "
        f"step of 100 programs after {step['replayed_us']:.1f} us, its calls one by one after "
        f"{step['one_by_one_us']:.0f} us.\n"
    )


def _cells(row: Row) -> list[str]:
    """Return the cells of a row; a dash where nothing was measured."""
    hand = min(row["by_hand_ms"].values(), default=None)
    peers = (row["peers_ms"].get(name) for name in ("JAX", "CuPy"))
    return [
        row["case"], row["layout"], row["dtype"], f"{row['ms']:.3f}", f"{row['share']:.2f}",
        f"{row['a_point_a_thread_ms']:.3f}", "–" if hand is None else f"{hand:.3f}",
        "–" if hand is None else f"{hand / row['ms']:.2f}",
        *("–" if ms is None else f"{ms / row['ms']:.1f}x" for ms in peers),
    ]  # fmt: skip


def peer_section(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Return what the page says of gt4py's GPU backends, in the order of the programs."""
    yield "## Programs beside gt4py's GPU backends\n"
    yield (
        "float64; a time is that of a call among 20 that wait on the device. *Unit stride*: gt4py "
        "is told that horizontal dimensions have unit stride, which it needs on large meshes and "
        "refuses on grids. *Over ours* compares with our default layout.\n"
    )
    lines = []
    for case in dict.fromkeys(row["case"] for row in rows):
        own = [row for row in rows if row["case"] == case and "ms" in row]
        for row in own:
            first = row.get("first_call_s")
            lines.append([
                case, row["by"], f"{row['ms']:.3f}", f"{row['ms'] / default(own)['ms']:.2f}",
                f"{row['returns_us']:.0f}", "–" if first is None else f"{first:.2g}",
            ])  # fmt: skip
    yield from table(PEER_HEAD, lines)


def default(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return our row in the default layout, in which levels are contiguous on meshes."""
    ours = [row for row in rows if row["by"].startswith("fieldforge")]
    return max(ours, key=lambda row: row["by"].endswith("levels contiguous"))
