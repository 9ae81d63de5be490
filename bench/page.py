"""Pages and pictures from the files of results: python bench/page.py [--pictures].

Writes the summary of docs/performance.md and the table of README.md. The site makes a page of
each machine from the same files (`bench/machine_tables/pages.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from machine_tables.overview import summary
from machine_tables.pages import Machine, machines
from machine_tables.programs import HEAD, cells
from machine_tables.text import table

ROOT = Path(__file__).parent.parent
PAGE, README = ROOT / "docs" / "performance.md", ROOT / "README.md"
BEGIN = "<!-- summary: made by `python bench/page.py`; edits are lost -->"
END = "<!-- end of summary -->"
README_BEGIN = "<!-- measured: made by `python bench/page.py`; edits are lost -->"
README_END = "<!-- end of measured -->"
README_MACHINE = "AMD-EPYC-x-2"  # where all variants of programs were measured
README_COLUMNS = (
    "program", "size", "ms", "by hand / ours", "gt4py C++ / ours", "gt4py DaCe / ours",
    "DaCe at its best / ours", "NumPy / ours",
)  # fmt: skip


def replace(text: str, path: Path, begin: str, end: str) -> None:
    """Replace the text between two markers."""
    before, found, rest = path.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{path.name} has no place for the figures between '{begin}' and '{end}'.")
    path.write_text(f"{before}{begin}\n\n{text}\n{end}{after}")


def shown(path: Path, begin: str, end: str) -> str:
    """Return the text between two markers."""
    return path.read_text().partition(begin)[2].partition(end)[0].strip()


def measured() -> Iterator[str]:
    """Return the columns that a reader of README.md asks for first."""
    machine = next(each for each in machines() if each.folder.name == README_MACHINE)
    places = [HEAD.index(column) for column in README_COLUMNS]
    lines = cells(machine.read("programs"), "float64", 2)
    yield from table(README_COLUMNS, [[line[place] for place in places] for line in lines])


def write() -> None:
    """Write the tables of both pages."""
    replace("\n".join(summary()), PAGE, BEGIN, END)
    replace("\n".join(measured()), README, README_BEGIN, README_END)


def draw() -> None:
    """Draw the pictures of all machines that have the results for them."""
    import gpu_plot
    import machine_plot
    import plot
    from machine_tables.gpu import rows_of

    for machine in machines():
        if document := machine.read("programs"):
            plot.draw(document, machine.folder / "programs.png")
        if machine.read("gpu_programs"):
            gpu_plot.draw(rows_of(machine.folder), machine.folder / "gpu_programs.png")
    runs = [(each, alone) for each in machines() if (alone := each.read("brief"))]
    beside = [_beside(each) or alone for each, alone in runs]
    pairs = [(alone, other) for (_, alone), other in zip(runs, beside, strict=True)]
    machine_plot.draw(pairs, ROOT / "bench" / "results" / "summary.png")


def _beside(machine: Machine) -> dict[str, object]:
    """Return the run beside other tools, empty if there is none of its own."""
    found: dict[str, object] = machine.read("others")
    return found


@click.command(help=__doc__)
@click.option("--pictures", is_flag=True, help="Draw the pictures, too.")
def main(pictures: bool) -> None:
    """Write tables, and pictures if they are asked for."""
    write()
    if pictures:
        draw()


if __name__ == "__main__":
    main()
