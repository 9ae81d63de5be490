"""What single schedules of a GPU are worth: programs with and without each, in turns in one run.

    python bench/gpu_drops.py
    python bench/gpu_drops.py --quick
    python bench/gpu_drops.py --part levels --programs momentum,nabla2

Part `drops` leaves out one schedule at a time, part `levels` gives threads on meshes other numbers
of levels and registers. Every variant must have the bits of the usual one. Runs on the simulated
device, too, without CuPy then. A row goes to `results/<machine>/gpu_drops.json` as soon as it is
there; no program begins after `--seconds`, and Ctrl-C ends the run.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click
import untuned
import untuned_calls
from cases import untuned as programs
from results import Results
from rich.console import Console
from rich.table import Table
from untuned_memory import Simulated

import fieldforge as ff
from fieldforge.stages.codegen.gpu.options import GPU_PASSES
from fieldforge.stages.codegen.pass_list import PassName, edited, without
from fieldforge.stages.ir.loops.gpu import marked, marks_of
from fieldforge.stages.ir.loops.kernel import Kernel
from fieldforge.stages.ir.loops.nest import Load, Nest
from fieldforge.stages.ir.loops.traverse import with_nests
from fieldforge.stages.sizes import ThreadPoints

Options = Mapping[str, Any]

LARGE = (512, 512, 80)
ON_MESHES = ("nabla2", "velocity_tendency", *programs.ON_MESHES)
ON_GRIDS = ("diffusion", "unaligned diffusion", "tridiagonal", "vertical_advection")
NAMES = tuple(dict.fromkeys((*ON_MESHES, *programs.NAMES, *ON_GRIDS)))


def leaving_out(*names: str) -> Options:
    """Return options without loop passes."""
    return {"passes": without(GPU_PASSES, *names)}


def levels(points: int, blocks: int = 1, **more: Any) -> Options:
    """Return options for threads on meshes with `points` levels, without patches.

    `blocks` of them must have registers on a multiprocessor.
    """

    def give(kernel: Kernel, rules: object) -> Kernel:
        def given(nest: Nest) -> Nest:
            several = bool(marks_of(nest).points) and _gathers(nest)
            return marked(nest, blocks=blocks if several else 1, **(more if several else {}))

        return with_nests(kernel, given)

    give.__name__ = "_".join(("room_for", str(blocks), *more))
    passes: tuple[PassName, ...] = edited(GPU_PASSES, [give], {}, after="widen")
    return {"passes": passes, "patches": False, "points": ThreadPoints(x=points)}


def _gathers(nest: Nest) -> bool:
    return any(isinstance(row, Load) and row.is_told for row in nest.body)


DROPS: Mapping[str, Options] = {
    "no joint loops": leaving_out("share_in_patches"),
    "no patches": {"patches": False},
    "no fuse": leaving_out("fuse"),
    "no reciprocals": leaving_out("share_reciprocals"),
    "never unaligned": {"unaligned": False},
    "always unaligned": {"unaligned": True},
}
LEVELS: Mapping[str, Options] = {
    "no patches": {"patches": False},
    "1 level": levels(1),
    **{f"{points} levels": levels(points) for points in (2, 4, 8)},
    **{f"2 levels, {room} blocks": levels(2, room) for room in (5, 8)},
    **{f"4 levels, {room} blocks": levels(4, room) for room in (5, 8)},
    **{f"{points} levels, ends apart": levels(points, 5, masked=False) for points in (2, 4)},
}
PARTS = {"levels": (LEVELS, ON_MESHES), "drops": (DROPS, NAMES)}


def case(name: str, dtype: str, on: untuned.Place, scale: float) -> Any:
    """Return a program and its arguments."""
    if name in programs.NAMES:
        return programs.described(name, dtype, programs.space(name, "gpu", scale), on.memory)
    import gpu_cases as made

    if name in ON_MESHES:
        across = max(8, round(programs.TORUS * scale**0.5 / 8) * 8)
        return getattr(made, name)(dtype, True, across, programs.LEVELS)
    shape = (max(8, int(LARGE[0] * scale)), *LARGE[1:])
    if name == "unaligned diffusion":
        return made.diffusion(dtype, False, (shape[0] + 1, *shape[1:]), False)
    return getattr(made, name)(dtype, False, shape)


def rows(
    names: tuple[str, ...],
    variants: Mapping[str, Options],
    on: untuned.Place,
    wish: Mapping[str, Any],
    console: Console,
) -> Iterator[dict[str, Any]]:
    """Yield a row for each program and precision until time is up."""
    begin = time.monotonic()
    pairs = [(name, dtype) for dtype in wish["dtypes"] for name in names]
    for number, (name, dtype) in enumerate(pairs, 1):
        if time.monotonic() - begin > wish["seconds"]:
            console.print(f"Time is up after {number - 1} of {len(pairs)}.", highlight=False)
            return
        console.print(
            f"{time.monotonic() - begin:4.0f} s  {number} of {len(pairs)}: {name} {dtype}",
            highlight=False,
        )
        try:
            of = case(name, dtype, on, wish["scale"])
            yield {"program": name, "dtype": dtype, "threads": None} | _measured(
                of, variants, on, wish["rounds"]
            )
        except (ff.errors.FieldforgeError, ImportError) as error:
            console.print(f"{type(error).__name__}: {error}", markup=False)


def _measured(
    of: Any, variants: Mapping[str, Options], on: untuned.Place, rounds: int
) -> dict[str, Any]:
    """Time each variant whose source is not the usual one's, beside what kernels take."""
    calls, same_code, taken, far, refused = {}, [], {}, [], {}
    usual: Any = None
    first: Mapping[str, Any] = {}
    for name, options in {untuned.OURS: {}, **variants}.items():
        program = of.program.with_backend(on.backend.with_options(**options))
        try:
            source = _source(program, of)
        except ff.errors.FieldforgeError as error:
            refused[name] = str(error)
            continue
        if source == usual:
            same_code.append(name)
            continue
        call = partial(program, **of.arguments, offset_provider=of.tables)
        found = _outputs(of, on, call)
        first, usual = first or found, usual or source
        if any(bool((first[key] != found[key]).any()) for key in first):
            far.append(name)
        calls[name], taken[name] = on.timed(call), _taken(program, of)
    return {
        "size": of.space.size if hasattr(of, "space") else of.size,
        "same_code": same_code, "other_bits": far, "refused": refused, "kernels": taken,
        "times": untuned.in_turns(calls, rounds),
    }  # fmt: skip


def _source(program: Any, of: Any) -> str:
    made = program.trace(**of.arguments, offset_provider=of.tables, until="codegen")
    return str(made["codegen"].artifact.files()["source.txt"])


def _taken(program: Any, of: Any) -> Any:
    """Return what the compiler says of each kernel: registers, spills, occupancy."""
    made = program.trace(**of.arguments, offset_provider=of.tables)
    manifest: dict[str, Any] = json.JSONDecoder().raw_decode(made["compile"].text)[0]
    return manifest.get("kernels")


def _outputs(of: Any, on: untuned.Place, call: Callable[[], object]) -> dict[str, Any]:
    """Return copies of what a call writes."""
    if isinstance(of, programs.Described):
        return untuned_calls.outputs(of, on, call)
    call()
    return {name: of.arguments[name].ndarray.copy() for name in of.outputs}


def table(found: list[dict[str, Any]], variants: Mapping[str, Options]) -> Table:
    """Return the usual time, and for each variant its least time and median over the usual's."""
    shown = Table("program", "type", "ms", *variants, title="time over the usual one's")
    for row in found:
        usual, cells = row["times"][untuned.OURS], []
        for name in variants:
            own = row["times"].get(name)
            ratios = (
                [] if own is None else [own[kind] / usual[kind] for kind in ("least", "median")]
            )
            mark = " bits!" if name in row["other_bits"] else ""
            same = "=" if name in row["same_code"] else "–"
            cells.append(" / ".join(f"{ratio:.3f}" for ratio in ratios) + mark or same)
        shown.add_row(row["program"], row["dtype"], f"{1e3 * usual['least']:.4g}", *cells)
    return shown


@click.command(help=__doc__)
@click.option("--part", type=click.Choice(tuple(PARTS)), help="one part alone")
@click.option("--programs", "chosen", default="", help="names of programs")
@click.option("--dtypes", default=",".join(untuned.DTYPES))
@click.option("--scale", default=1.0, help="share of the points")
@click.option("--rounds", default=7)
@click.option("--seconds", default=120.0, help="for each part")
@click.option("--quick", is_flag=True, help="small programs, two rounds, one precision")
@click.option("--output", type=click.Path(path_type=Path), help="the file of results")
def main(
    part: str | None, chosen: str, dtypes: str, scale: float, rounds: int, seconds: float,
    quick: bool, output: Path | None,
) -> None:  # fmt: skip
    """Measure, keep each row, and print a table for each part."""
    on, console = untuned.place("gpu"), Console(width=200)
    wish = {"dtypes": dtypes.split(","), "scale": scale, "rounds": rounds, "seconds": seconds}
    if quick:
        wish |= {"dtypes": ["float64"], "scale": 0.001, "rounds": 2}
    folder = untuned._folder(on)
    for own in [part] if part else PARTS:
        variants, names = PARTS[own]
        if isinstance(on.memory, Simulated):
            names = tuple(name for name in names if name in programs.NAMES)
        names = tuple(name for name in names if name in chosen.split(",") or not chosen)
        path = (output or folder / "gpu_drops.json").with_suffix(f".{own}.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = Results(path, fresh=True)
        kept.describe(machine=untuned.machine())
        with contextlib.suppress(KeyboardInterrupt), untuned.own_store(), untuned.stream(on):
            for row in rows(names, variants, on, wish, console):
                kept.add(row)
        console.print(table(kept.rows, variants))


if __name__ == "__main__":
    main()
