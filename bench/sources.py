"""Generate the code of many programs, without compilers, and compare it with digests on file.

    python -m bench.sources --check           name the rows whose texts have changed
    python -m bench.sources --write           keep the digests of today in bench/sources.json
    python -m bench.sources --only 'sm_90/nabla*'
    python -m bench.sources --show 'cpu/*/small' --folder before

A row is 'target/program/choice', as in `corpus.py`. Its first digest is that of source, flags,
interface and launch plan, its second one that of the printed loops. `--show` writes the texts of
rows to a folder, to be compared with those that another checkout writes. Rows of DaCe also change
with its version.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import multiprocessing
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Final

import attrs
import click
from rich.console import Console
from rich.progress import Progress

FILE: Final = Path(__file__).parent / "sources.json"
LISTING: Final = "loops.txt"
PROCESSES: Final = 2
MOST_NAMED: Final = 40

# What a row contains, by a text that only its source or its listing then has.
KINDS: Final = {
    "tiles": r"\{  // nests \d+ \.\. \d+\n",
    "tiles, rows in turn": r"for \(s64 row = t\d",
    "tiles, arrays as rings": r"(?m)^  tile .* ring ",
    "portions": r"\{  // nests .* in portions\n",
    "portions, prefetched": r"element\(lists, earlier\(q \+ ",
    "marching blocks of rows": r"const s64 high = rows_of_block",
    "non-temporal stores": r"const bool past = ",
    "prefetched rows": r"const bool asks = ",
    "usual levels": r"(?m)^ +cpu .*\busual %",
    "values that slide": r"(?m)^ +cpu .*\bslides %",
    "several rows at a time": r"\d+ rows of \w+ at a time",
    "soft version": r"\bCLAMPED static |\bc\d+\(",
    "columns": r"\bks\d+\(",
    "columns, landing": r"ff::async_wait<[1-9]",
    "columns, as rows": r"const u32 pitch = ",
    "columns, long": r"\bkb\d+\(",
    "columns, soft version": r"\bc[sb]\d+\(",
    "patches": r"\bkp\d+\(",
    "patches, loops in one": r"(?m)^ +each .* part owned",
    "patches, soft version": r"\bcp\d+\(",
    "nests in place of others": r"(?m)^ +if .*\n +n(est |\d+$)",
    "several points of a thread": r"(?m)^ +(gpu|patches) .*\bpoints ",
    "levels loaded ahead": r"(?m)^ +gpu .*\bahead ",
    "shared reciprocals": r"(?m)^ +gpu .*\breciprocals",
    "scans": r"(?m)^ +nest .*\bstates ",
    "arrays in the arena": r"(?m)^  arena ",
    "refused": r"\A\w+Error: ",
}


@attrs.frozen
class Row:
    """The digests of the texts of a row, and which kinds of loops it contains."""

    digest: str
    listing: str
    kinds: tuple[str, ...]

    @property
    def text(self) -> str:
        """Both digests, as on file."""
        return f"{self.digest} {self.listing}"


def row_of(texts: Mapping[str, str]) -> Row:
    """Return the digests of texts by the name of a file.

    >>> row_of({"source.txt": "", "loops.txt": ""}).text
    '603b7a9d0b02 e3b0c44298fc'
    """
    parts = sorted((name, text) for name, text in texts.items() if name != LISTING)
    listing = texts.get(LISTING, "")
    whole = "\n".join(
        texts.get(name, "") for name in ("refused.txt", "source.txt", LISTING)
    ).lstrip()
    kinds = tuple(kind for kind, pattern in KINDS.items() if re.search(pattern, whole))
    return Row(_digest("\0".join(map("\0".join, parts))), _digest(listing), kinds)


def rows_of(program: str, pattern: str = "*") -> dict[str, Row]:
    """Generate those rows of a program that match."""
    from .corpus import generated

    return {name: row_of(texts) for name, texts in generated(program, pattern)}


def all_rows(pattern: str) -> dict[str, Row]:
    """Generate all rows that match in two processes, and show how many programs are done."""
    programs, console = _programs(pattern), Console()
    found: dict[str, Row] = {}
    context = multiprocessing.get_context("spawn")
    with Progress(console=console) as progress, ProcessPoolExecutor(PROCESSES, context) as pool:
        task = progress.add_task("programs", total=len(programs))
        for done in as_completed([pool.submit(rows_of, program, pattern) for program in programs]):
            found |= done.result()
            progress.advance(task)
            count = int(progress.tasks[task].completed)
            if not console.is_terminal and count % 20 == 0:
                print(f"{count} of {len(programs)} programs", flush=True)
    return dict(sorted(found.items()))


def differing(
    found: Mapping[str, Row], before: Mapping[str, str], *, listings: bool = True
) -> Iterator[str]:
    """Yield a line for each row that is not as on file."""
    for name in sorted({**before, **found}):
        if name not in found:
            yield f"{name}: is no longer generated"
        elif name not in before:
            yield f"{name}: is not on file"
        elif found[name].digest != before[name].split()[0]:
            yield f"{name}: source, interface or plan"
        elif listings and found[name].text != before[name]:
            yield f"{name}: listing"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _on_file() -> dict[str, str]:
    rows: dict[str, str] = json.loads(FILE.read_text())
    return rows


def _show(pattern: str, folder: Path) -> None:
    """Write the texts of rows to files, JSON in many lines."""
    from .corpus import generated

    for program in _programs(pattern):
        for name, texts in generated(program, pattern):
            place = folder / name
            place.mkdir(parents=True, exist_ok=True)
            for file, text in texts.items():
                is_json = file.endswith(".json")
                shown = json.dumps(json.loads(text), indent=1) if is_json else text
                (place / file).write_text(shown)
            print(place)


def _programs(pattern: str) -> list[str]:
    """Return the programs of the rows that match."""
    from .corpus import programs

    second = pattern.split("/")[1] if "/" in pattern else "*"
    return fnmatch.filter(programs(), second)


@click.command(help=__doc__)
@click.option("--check", "does", flag_value="check", default=True, help="Compare with the file.")
@click.option("--write", "does", flag_value="write", help="Write the file.")
@click.option("--show", metavar="ROWS", help="Write the texts of rows, such as 'cpu/*/small'.")
@click.option(
    "--folder", default="build/sources", show_default=True, type=click.Path(path_type=Path)
)
@click.option("--only", metavar="ROWS", default="*", help="Generate these rows only.")
@click.option("--no-listings", is_flag=True, help="Do not compare listings.")
def main(does: str, show: str | None, folder: Path, only: str, no_listings: bool) -> None:
    """Check, write or show."""
    if show is not None:
        _show(show, folder)
        return
    found = all_rows(only)
    counts = Counter(kind for row in found.values() for kind in row.kinds)
    print("  rows  that contain", *(f"{counts[kind]:6}  {kind}" for kind in KINDS), sep="\n")
    before = _on_file() if FILE.exists() else {}
    known = {name: before[name] for name in fnmatch.filter(before, only)}
    if does == "write":
        kept = {name: text for name, text in before.items() if name not in known}
        kept |= {name: row.text for name, row in found.items()}
        FILE.write_text(json.dumps(kept, indent=0, sort_keys=True) + "\n")
        print(f"{len(found)} rows were written.")
        return
    lines = list(differing(found, known, listings=not no_listings))
    print(*lines[:MOST_NAMED], sep="\n")
    print(
        f"{len(lines)} of {len(found)} rows differ."
        if lines
        else f"All {len(found)} rows are equal."
    )
    sys.exit(bool(lines))


if __name__ == "__main__":
    main()
