"""Read a file of options: TOML tables `[[when]]`, each with patterns and settings."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ...runtime.process import OptionError, classes
from ...runtime.process.shapes import ShapeError, read_toml
from .schema import tables

WHEN: Final = "when"
PATTERNS: Final = ("program", "backend", "arch")
MEASURED: Final = "tuned"  # when, where and by how much an entry was measured to be faster
KEYS: Final = (*PATTERNS, "use", "set", MEASURED)
_WILD: Final = re.compile(r"[*?\[]")
_HEADER: Final = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_NAME: Final = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_KEY: Final = re.compile(rf"\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*=")
_PART: Final = re.compile(_NAME)

Rank = tuple[tuple[int, int], ...]


@classes.frozen
class Origin:
    """Where a value was set: a layer, and the file and line if it has one."""

    layer: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else self.layer


@classes.frozen
class Entry:
    """One table: patterns of programs, backends and architectures, and the options that it sets.

    Attributes:
        programs: patterns of names, or of 'module:name'; none for every program.
        backends: patterns of backends.
        archs: patterns of architectures.
        values: each option with its value and the place where it is set.
        use: the backend that a tag such as 'cpu' stands for, with its place.
        origin: the place of the table.

    """

    programs: tuple[str, ...]
    backends: tuple[str, ...]
    archs: tuple[str, ...]
    values: tuple[tuple[str, Any, Origin], ...]
    use: tuple[str, Origin] | None
    origin: Origin

    def rank(self, program: str, backends: Sequence[str], archs: Sequence[str]) -> Rank | None:
        """Return how specifically the entry names this build; None if it does not apply.

        `backends` are the names of one backend, `archs` those of one architecture. Ranks compare by
        program, then by architecture, then by backend.
        """
        by_program = _rank(self.programs, (program, program.rpartition(":")[2]))
        if by_program is None:
            return None
        by_arch = _rank(self.archs, archs, any_case=True)
        if by_arch is None:
            return None
        by_backend = _rank(self.backends, backends, any_case=True)
        return None if by_backend is None else (by_program, by_arch, by_backend)


def read_options(path: Path, layer: str) -> tuple[Entry, ...]:
    """Read the entries of a file; what cannot be read is an `OptionError` with file and line."""
    try:
        text, body = read_toml(path)
    except (OSError, ShapeError) as error:
        raise OptionError(f"The options in '{path}' cannot be read: {error}.") from error
    return read_text(text, body, str(path), layer)


def read_text(text: str, body: Mapping[str, Any], file: str, layer: str) -> tuple[Entry, ...]:
    """Return the entries of a parsed file; its text gives their lines."""
    for name in body:
        if name != WHEN:
            raise OptionError(f"{file}: expected tables '[[when]]', got '{name}'.", name=name)
    tables = body.get(WHEN, [])
    if not (isinstance(tables, list) and all(isinstance(each, dict) for each in tables)):
        raise OptionError(f"{file}: write '[[when]]', a list of tables.")
    lines = _lines(text)
    return tuple(
        _entry(table, lambda key, at=index: _origin(lines, at, key, file, layer))
        for index, table in enumerate(tables)
    )


def _entry(table: Mapping[str, Any], place: Any) -> Entry:
    for key in table:
        if key not in KEYS:
            raise OptionError(f"{place((key,))}: there is no key '{key}'.", name=key, known=KEYS)
    for key, value in table.items():
        if key in PATTERNS and not _is_patterns(value):
            raise OptionError(f"{place((key,))}: '{key}' takes a pattern or a list of patterns.")
    values = table.get("set", {})
    if not isinstance(values, dict):
        raise OptionError(f"{place(('set',))}: write 'set.name = value', or a table '[when.set]'.")
    use = table.get("use")
    if use is not None and not isinstance(use, str):
        raise OptionError(f"{place(('use',))}: 'use' takes the name of a backend.")
    programs, backends, archs = (_patterns(table.get(key, ())) for key in PATTERNS)
    return Entry(
        programs,
        backends,
        archs,
        tuple((".".join(key), value, place(("set", *key))) for key, value in _flat(values)),
        None if use is None else (use, place(("use",))),
        place(()),
    )


def _flat(values: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield options with the parts of their names: `codegen.jam` may be written without quotes."""
    for name, value in values.items():
        if isinstance(value, dict) and name not in tables():
            yield from (((name, *inner), each) for inner, each in _flat(value))
        else:
            yield (name,), value


def _is_patterns(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(each, str) for each in value)
    )


def _patterns(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _rank(
    patterns: tuple[str, ...], names: Sequence[str], any_case: bool = False
) -> tuple[int, int] | None:
    """Return the rank of the best pattern: exact names before wildcards, long before short."""
    if not patterns:
        return (0, 0)
    for match, rank in _matchers(patterns, any_case):
        for name in names:
            if match(name):
                return rank
    return None


@functools.cache
def _matchers(
    patterns: tuple[str, ...], any_case: bool
) -> tuple[tuple[Callable[[str], object], tuple[int, int]], ...]:
    """Return each pattern as a function, with its rank, the best first."""
    found = [
        (
            re.compile(fnmatch.translate(pattern), re.IGNORECASE if any_case else 0).match,
            (1, len(_WILD.sub("", pattern))) if _WILD.search(pattern) else (2, len(pattern)),
        )
        for pattern in patterns
    ]
    return tuple(sorted(found, key=lambda row: row[1], reverse=True))


def _lines(text: str) -> dict[tuple[int, tuple[str, ...]], int]:
    """Return the line of each table and key, as far as the text shows them one a line."""
    found: dict[tuple[int, tuple[str, ...]], int] = {}
    index, prefix = -1, tuple[str, ...]()
    for number, line in enumerate(text.splitlines(), start=1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            parts = _parts(header[2])
            if header[1] == "[[" and parts == (WHEN,):
                index, prefix = index + 1, ()
                found[index, ()] = number
            else:
                prefix = parts[1:]
                found.setdefault((index, prefix), number)
        elif key:
            whole = (*prefix, *_parts(key[1]))
            for length in range(1, len(whole) + 1):  # a table begins at its first key
                found.setdefault((index, whole[:length]), number)
    return found


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))


def _origin(
    lines: Mapping[tuple[int, tuple[str, ...]], int], at: int, key: tuple[str, ...], file: str,
    layer: str,
) -> Origin:  # fmt: skip
    """Return the place of a key; of the table around it where the text shows no more."""
    while (at, key) not in lines and key:
        key = key[:-1]
    return Origin(layer, file, lines.get((at, key), 1))
