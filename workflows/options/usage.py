"""Find the unused entries of a file, and the origin of an option's value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...runtime.process import classes
from ...stages import Numbers
from ..backends.backend import BACKENDS, names_of_backend
from .database import DEFAULT, Database, Setting
from .machine_names import known_names
from .option_file import Entry


def unused(entries: Sequence[Entry], programs: Iterable[str]) -> tuple[Entry, ...]:
    """Return the entries that set nothing for any of these programs on any backend.

    An entry for architectures is used if one that we know has such a name and its other patterns
    fit. So is one whose values are overruled for some programs only.
    """
    used: set[int] = set()
    names = tuple(programs)
    for program in names:
        for backend in BACKENDS.values():
            used |= set(_deciding(entries, program, backend.name))
    nowhere = {id(entry) for entry in matching_nothing(entries)}
    return tuple(
        entry for place, entry in enumerate(entries) if place not in used or id(entry) in nowhere
    )


def matching_nothing(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the entries for architectures that no machine we know has."""
    return tuple(
        entry
        for entry in entries
        if classes.evolve(entry, programs=(), backends=()).rank("", (), known_names()) is None
    )


def rows(settings: Iterable[Setting], why: bool) -> Iterator[tuple[str, str, str]]:
    """Yield name, value and origin of each option; with `why`, what it overrules too."""
    for each in settings:
        yield each.option.name, shown(each.value), str(each.origin)
        if why:
            for value, origin in each.overruled:
                yield "", f"  not {shown(value)}", str(origin)


def shown(value: object) -> str:
    """Return a value as TOML writes it.

    >>> shown(True), shown(("a", "b")), shown(3)
    ('true', '["a", "b"]', '3')
    """
    match value:
        case bool():
            return str(value).lower()
        case Numbers():
            return value.table
        case tuple():
            return f"[{', '.join(shown(getattr(each, '__name__', each)) for each in value)}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _deciding(entries: Sequence[Entry], program: str, backend: str) -> Iterator[int]:
    """Yield the places of the entries that decide an option of a program on one backend."""
    fitting = [
        (place, entry)
        for place, entry in enumerate(entries)
        if entry.rank(program, names_of_backend(backend), entry.archs) is not None
    ]
    for archs in {entry.archs for _, entry in fitting}:
        # one architecture at a time: entries for others neither apply nor overrule
        here = Database((tuple(entry for _, entry in fitting),))
        found = here.effective(BACKENDS[backend], program, archs)
        origins = {each.origin for each in found if each.origin.layer != DEFAULT}
        origins.add(here.use(backend, program, archs)[1])
        for place, entry in fitting:
            own = {origin for _, _, origin in entry.values}
            own |= {entry.use[1]} if entry.use else set()
            if own & origins:
                yield place
