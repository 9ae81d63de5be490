"""Build the sdist and a wheel of the last commit, check both, and try the wheel: make dist.

A package index shows README.md without the files beside it. With a base, such as the address of a
tag in the repository, the links of the packed README.md lead there.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import click

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\((?![a-z]+://|#)([^)]+)\)")
EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def absolute(text: str, base: str) -> str:
    """Return a page whose links and pictures lie below `base`.

    >>> absolute("![a](docs/a.png) [b](https://b) [c](#c)", "https://host/tree/v1/")
    '![a](https://host/tree/v1/docs/a.png) [b](https://b) [c](#c)'
    """
    return LINK.sub(lambda found: f"]({base.rstrip('/')}/{found[1]})", text)


def build(base: str, to: Path) -> None:
    """Build what `git archive` gives: no ignored file and no earlier build is in it."""
    with tempfile.TemporaryDirectory() as folder:
        tree, tools = Path(folder, "tree"), Path(folder, "tools")
        tree.mkdir()
        packed = subprocess.run(
            ["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True
        )
        subprocess.run(["tar", "x"], cwd=tree, input=packed.stdout, check=True)
        if base:
            page = tree / "README.md"
            page.write_text(absolute(page.read_text(), base))
        python = _environment(tools, "build", "twine")
        subprocess.run([python, "-m", "build", "--outdir", to, tree], check=True)
        made = sorted([*to.glob("*.whl"), *to.glob("*.tar.gz")])
        subprocess.run([python, "-m", "twine", "check", "--strict", *made], check=True)


def try_out(wheel: Path) -> None:
    """Install a wheel with the extra `demo`; run the lines of README.md and the demo."""
    with tempfile.TemporaryDirectory() as folder:
        python = _environment(Path(folder, "installed"), f"{wheel.resolve()}[demo]")
        lines = EXAMPLE.search((ROOT / "README.md").read_text())
        assert lines is not None, "README.md has an example"
        Path(folder, "lines.py").write_text(lines[1])
        command = Path(python).with_name("fieldforge")
        subprocess.run([python, "lines.py"], cwd=folder, check=True)
        subprocess.run([command, "demo", "--output", "demo.png"], cwd=folder, check=True)
        assert Path(folder, "demo.png").exists(), "the demo draws"


@click.command()
@click.option("--base", default="", help="The address below which the links of README.md lie.")
@click.option("--to", type=click.Path(path_type=Path), default=ROOT / "dist")
@click.option("--wheel", type=click.Path(path_type=Path, exists=True), help="Only try this wheel.")
def main(base: str, to: Path, wheel: Path | None) -> None:
    """Build, check and try."""
    if wheel is None:
        build(base, to.resolve())
        wheel = max(to.glob("*.whl"), key=lambda each: each.stat().st_mtime)
    try_out(wheel)
    click.echo(f"{wheel.name} works.")


def _environment(folder: Path, *packages: str) -> str:
    """Make a virtual environment with packages, and return its Python."""
    venv.create(folder, with_pip=True, symlinks=sys.platform != "win32")
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    return python


if __name__ == "__main__":
    main()
