"""Write what tuning found to a file of options: one entry for program, backend and architecture."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ...runtime.process import OptionError, classes
from ...runtime.process.shapes import ShapeError, number, read_toml, table, text
from ...stages import Numbers
from ..options.database import TUNED, checked
from ..options.option_file import MEASURED, WHEN, read_options
from ..options.schema import schemas
from .candidates import Choice

_MEASUREMENT: Final = table(
    ("date", "machine", "gain", "spread", "fields"),
    date=text, machine=text, gain=number, spread=number, fields=text,
)  # fmt: skip
HEAD: Final = "# Written by `fieldforge tune`: options that were measured to be faster.\n"


@classes.frozen
class Winner:
    """The options that won, and how that was measured.

    Attributes:
        program: 'module:name'.
        backend: the name of the backend.
        arch: the architecture; empty if it is not known.
        options: the options by name.
        date: the day.
        machine: the processor and how many threads there were.
        gain: how many times faster a call was than without these options.
        spread: the standard error of the gain.
        shapes: the domains of the fields and the scalars that it was measured with.

    """

    program: str
    backend: str
    arch: str
    options: Choice
    date: str
    machine: str
    gain: float
    spread: float
    shapes: str = ""

    @property
    def table(self) -> dict[str, Any]:
        """The entry as TOML has it."""
        return {
            "program": self.program,
            "backend": self.backend,
            **({"arch": self.arch} if self.arch else {}),
            "set": {name: _plain(value) for name, value in self.options},
            MEASURED: {
                "date": self.date,
                "machine": self.machine,
                "gain": round(self.gain, 4),
                "spread": round(self.spread, 4),
                "fields": self.shapes,
            },
        }


def keep(path: Path, winner: Winner) -> None:
    """Write a winner in the place of an earlier one; other entries stay.

    The file appears whole or not at all.
    """
    put(path, (winner.program, winner.backend, winner.arch), [winner.table])


def put(path: Path, place: tuple[str, str, str], new: list[dict[str, Any]]) -> None:
    """Write entries in the place of those of a program, a backend and an architecture."""
    rows = [each for each in read(path) if _place(each) != place] + new
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    draft.write_text(HEAD + "".join(f"\n{entry}" for entry in map(_written, rows)))
    os.replace(draft, path)


def kept(path: Path, program: str, backend: str, arch: str) -> Choice:
    """Return the options that an earlier run found; none without one.

    Raises:
        OptionError: the file is no file of options, or sets what a tuned file may not set.

    """
    if not path.is_file():
        return ()
    wanted = ((program,), (backend,), (arch,) if arch else ())
    for entry in checked(read_options(path, TUNED)):
        if (entry.programs, entry.backends, entry.archs) == wanted:
            return tuple(sorted(
                (option.name, option.checked(value, f"{origin}: "))
                for name, value, origin in entry.values
                for option in schemas()[backend].named(name)
            ))  # fmt: skip
    return ()


def read(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a file, none if there is no file."""
    if not path.is_file():
        return []
    checked(read_options(path, TUNED))
    found: list[dict[str, Any]] = read_toml(path)[1].get(WHEN, [])
    for entry in found:
        try:
            _MEASUREMENT(entry.get(MEASURED, {}), MEASURED)
        except ShapeError as error:
            raise OptionError(f"The options in '{path}' cannot be read: {error}.") from error
    return found


def entries(path: Path, place: tuple[str, str, str]) -> list[dict[str, Any]]:
    """Return what a file has for a program, a backend and an architecture: one entry, or none."""
    return [each for each in read(path) if _place(each) == place]


def _place(entry: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    return entry.get("program"), entry.get("backend"), entry.get("arch", "")


def _written(entry: Mapping[str, Any]) -> str:
    rows = [f"[[{WHEN}]]"]
    for name, value in entry.items():
        if isinstance(value, Mapping):
            rows += [f"{name}.{own} = {_value(each)}" for own, each in _flat(value)]
        else:
            rows.append(f"{name} = {_value(value)}")
    return "\n".join(rows) + "\n"


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _plain(value: Any) -> Any:
    """Return an option as TOML has it: as a list or a table."""
    if isinstance(value, Numbers):
        return value.given
    return list(value) if isinstance(value, tuple) else value


def _value(value: Any) -> str:
    """Write a value as TOML.

    >>> _value(["%3"]), _value(True), _value(1.5), _value({})
    ('["%3"]', 'true', '1.5', '{}')
    """
    match value:
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
    return str(value)
