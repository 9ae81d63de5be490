"""The command `migrate`: rewrite the imports of programs written for gt4py."""

from __future__ import annotations

import difflib
import io
import os
import sys
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from ...runtime.process import classes
from .migration.import_rewriting import Rewritten, rewrite

_ENDINGS = (".py", ".pyi")


@classes.frozen
class Migration:
    """One file before and after."""

    path: Path
    encoding: str
    before: str
    after: Rewritten

    @property
    def is_changed(self) -> bool:
        """Whether the rewriting changes the file."""
        return self.before != self.after.text

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        before, after = (
            io.StringIO(text, newline="").readlines() for text in (self.before, self.after.text)
        )
        return "".join(difflib.unified_diff(before, after, f"a/{self.path}", f"b/{self.path}"))


@click.command(epilog="Example: fieldforge migrate src/model --diff")
@click.argument(
    "paths",
    metavar="PATH...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, path_type=Path),
)
@click.option("--diff", "shown", is_flag=True, help="Print what would change; write nothing.")
@click.option("--write", "written", is_flag=True, help="Change the files.")
def migrate(paths: Sequence[Path], shown: bool, written: bool) -> None:
    """Rewrite imports of gt4py to fieldforge in Python files, and in all files below folders.

    Without an option, only count the files. Names without a counterpart stay; they are listed with
    file and line, and the exit code is 1.
    """
    if shown and written:
        raise click.UsageError("Choose '--diff' or '--write', not both.")
    changed, left = 0, 0
    for path in _files(paths):
        found = _read(path)
        if found is None:
            left += 1
            continue
        changed += found.is_changed
        for each in found.after.left:
            click.echo(f"{path}:{each.line}: {each.message}", err=shown)
        left += len(found.after.left)
        if shown:
            click.echo(found.diff, nl=False)
        elif written and found.is_changed:
            _write(found)
    said = "changed" if written else "would change"
    click.echo(f"{_count(changed, 'file')} {said}, {_count(left, 'place')} left.", err=shown)
    if left:
        sys.exit(1)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield files in order; skip environments and hidden folders."""
    for path in paths:
        if path.is_file():
            yield path
            continue
        for folder, inner, names in os.walk(path):
            here = Path(folder)
            inner[:] = sorted(
                name
                for name in inner
                if not name.startswith(".") and not (here / name / "pyvenv.cfg").exists()
            )
            yield from (here / name for name in sorted(names) if name.endswith(_ENDINGS))


def _read(path: Path) -> Migration | None:
    """Read and rewrite a file; report and skip a file that is no Python."""
    try:
        raw = path.read_bytes()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        text = raw.decode(encoding)
        return Migration(path, encoding, text, rewrite(text))
    except (SyntaxError, UnicodeDecodeError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        click.echo(f"{path}:{line}: The file cannot be read as Python: {error}.", err=True)
        return None


def _write(found: Migration) -> None:
    """Replace a file atomically; keep its mode."""
    beside = found.path.with_name(f".{found.path.name}.migrated")
    beside.write_bytes(found.after.text.encode(found.encoding))
    beside.chmod(found.path.stat().st_mode & 0o7777)
    os.replace(beside, found.path)
