"""The measured table of README.md, cut from the tables of docs/performance.md.

`python -m generate.measured` in docs/ writes it anew after `make bench`.
"""

from __future__ import annotations

from pathlib import Path

from .text import table

ROOT = Path(__file__).parents[2]
BEGIN = "<!-- measured: from docs/performance.md; python -m generate.measured in docs/ -->"
END = "<!-- end of measured -->"
COLUMNS = ("program", "size", "ms", "by hand / ours", "gt4py C++ / ours", "gt4py DaCe / ours",
           "DaCe at its best / ours", "NumPy / ours")  # fmt: skip


def measured() -> str:
    """Return the columns that a reader of README.md asks for first."""
    page = (ROOT / "docs/performance.md").read_text()
    section = page.partition("### float64, 2 threads")[2].partition("###")[0]
    lines = [line.strip("| ").split("|") for line in section.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line] for line in lines]
    heads = cells[0]
    wanted = [heads.index(column) for column in COLUMNS]
    return table(COLUMNS, [[row[place] for place in wanted] for row in cells[2:]])


def shown() -> str:
    """Return the table that README.md has."""
    return (ROOT / "README.md").read_text().partition(BEGIN)[2].partition(END)[0].strip()


def main() -> None:
    """Write the table."""
    text = (ROOT / "README.md").read_text()
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    (ROOT / "README.md").write_text(f"{before}{BEGIN}\n{measured()}\n{END}{after}")


if __name__ == "__main__":
    main()
