"""Count the loops over lanes of which GCC makes no vectors, in drawn programs and their adjoints.

    python -m bench.vectors                                    adjoints of drawn programs 0 to 59
    python -m bench.vectors --forward --seeds 0:20             the programs themselves
    python -m bench.vectors --listing build/loops              keep the sources, to look at loops

Such a loop runs point after point: a strip at the end of a row then takes as long as the rest of
the row. A test cannot ask for vectors, since versions of GCC differ. About two seconds a program.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.table import Table
from tests.generated.large import large_case, program_of
from tests.generated.large_arguments import arguments_of, arguments_of_adjoint

import fieldforge as ff

MARK: Final = "#pragma omp simd"
MADE: Final = re.compile(r":(\d+):\d+: optimized: loop vectorized")
POINTS: Final = 20_000


def loops_of(source: str) -> Iterator[tuple[int, int]]:
    """Yield the first and the last line of each loop over lanes, from 1 on.

    >>> list(loops_of("#pragma omp simd\\n  for (;;) {\\n    a();\\n  }\\nb();\\n"))
    [(1, 4)]
    """
    lines = source.splitlines()
    for number, line in enumerate(lines):
        if MARK in line:
            indent = len(lines[number + 1]) - len(lines[number + 1].lstrip())
            ends = (at for at in range(number + 2, len(lines)) if _closes(lines[at], indent))
            yield number + 1, next(ends, number + 1) + 1


def _closes(line: str, indent: int) -> bool:
    return line.strip().startswith("}") and len(line) - len(line.lstrip()) <= indent


def without_vectors(source: str, flags: Sequence[str], folder: Path, name: str) -> list[str]:
    """Compile a source; return a line of text for each loop over lanes that is no vector."""
    path = folder / f"{name}.cpp"
    path.write_text(source)
    command = ["g++", *flags, "-S", "-o", "/dev/null", "-fopt-info-vec", str(path)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    made = {int(each) for each in MADE.findall(told)}
    return [
        f"{name}.cpp:{first}"
        for first, last in loops_of(source)
        if made.isdisjoint(range(first, last + 1))
    ]


def generated(seed: int, *, forward: bool) -> Any:
    """Return what `codegen` makes of a drawn program, or of its adjoint."""
    case = large_case(seed)
    given = arguments_of(case, POINTS, ff.cpu)
    program = program_of(case).with_backend(ff.cpu)
    if not forward:
        program = ff.adjoint(program)
        given = arguments_of_adjoint(program, given)
    return program.trace(**given, until="codegen")["codegen"].artifact


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.option("--seeds", default="0:60", show_default=True, help="first:stop, below 100")
@click.option("--forward", is_flag=True, help="the programs, not their adjoints")
@click.option("--listing", type=click.Path(path_type=Path), help="keep the sources in this folder")
def main(seeds: str, forward: bool, listing: Path | None) -> None:
    """Generate, compile side by side, show."""
    first, stop = map(int, seeds.split(":"))
    table = Table("program", "loops", "no vectors", "first of them")
    loops = missed = 0
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor() as pool:
        folder = listing or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        waiting = []
        for seed in range(first, min(stop, 100)):
            try:
                made = generated(seed, forward=forward)
            except ff.errors.FieldforgeError as error:
                click.echo(f"{seed}: {str(error)[:100]}", err=True)
                continue
            one = partial(without_vectors, made.source, made.flags, folder, str(seed))
            waiting.append((seed, made.source.count(MARK), pool.submit(one)))
        for seed, count, future in waiting:
            found = future.result()
            loops, missed = loops + count, missed + len(found)
            if found:
                table.add_row(str(seed), str(count), str(len(found)), found[0])
    Console(width=100).print(table)
    click.echo(f"{missed} of {loops} loops are no vectors")


if __name__ == "__main__":
    main()
