"""Candidates: the values of tunable options that a search tries instead of the current ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

import attrs

from ...runtime.process import OptionError
from ...stages.base import TUNE, VALUES
from ...stages.codegen.options import CodegenOptions
from ...stages.codegen.schedule.schedule import digests_of, rows_of
from ...stages.ir.dataflow import Dataflow
from ..backends.backend import Backend
from ..options.schema import Option, schema_of

Choice: TypeAlias = tuple[tuple[str, Any], ...]  # options that differ from the start, by name
# The options that name values of the dataflow IR.
NAMING: Final = frozenset(
    field.name for field in attrs.fields(CodegenOptions) if field.metadata.get(TUNE) == (VALUES,)
)
MOST_NAMES: Final = 16  # values of the dataflow IR that are tried as arrays
_DECIDED: Final = re.compile(r"(%\d+) is (?:an array|computed in place)")


def tunable_options(backend: Backend, chosen: Iterable[str] | None = None) -> tuple[Option, ...]:
    """Return the options of a backend that tuning may change, or those chosen by name.

    Raises:
        OptionError: a name is no option, or its option changes more than the speed.

    >>> from fieldforge.workflows.backends.backend import cpu
    >>> [option.name for option in tunable_options(cpu, ["tile_size", "jam"])]
    ['codegen.tile_size', 'codegen.jam']
    """
    schema = schema_of(backend)
    known = {option.name: option for option in schema.options if option.tune}
    if chosen is None:
        return tuple(known.values())
    found: dict[str, Option] = {}
    for name in chosen:
        named = [option for option in schema.named(name) if option.tune]
        if not named and schema.named(name):
            raise OptionError(
                f"Option '{name}' of backend '{backend.name}' cannot be tuned: it changes results."
            )
        if not named:
            raise OptionError(
                f"Backend '{backend.name}' has no option '{name}'.",
                name=name,
                known=[each.rpartition(".")[2] for each in known],
            )
        found |= {option.name: option for option in named}
    return tuple(found.values())


def values_of(option: Option, now: Any, names: Iterable[str]) -> Iterator[Any]:
    """Yield other values of an option than the current one.

    A list of values of the dataflow IR is changed by one of `names` at a time, emptied or filled.

    >>> from fieldforge.workflows.backends.backend import cpu
    >>> arrays = schema_of(cpu)["codegen.arrays"]
    >>> list(values_of(arrays, ("%3",), ["%3", "%7"]))
    [(), ('%3', '%7'), (), ('%3', '%7')]
    """
    if option.tune != (VALUES,):
        yield from (value for value in option.tune if value != now)
        return
    everything = _sorted({*now, *names})
    if len(everything) > 1:
        yield from (each for each in ((), everything) if each != now)
    for name in everything:
        yield _sorted({*now} ^ {name})


def decided_names(loops: str) -> tuple[str, ...]:
    """Return the values whose storage the cost model decided, from the listing of the loops.

    >>> decided_names("  # %31 is computed in place: 5 points x 5 operations")
    ('%31',)
    """
    return tuple(dict.fromkeys(_DECIDED.findall(loops)))[:MOST_NAMES]


def by_digest(choice: Choice, program: Dataflow | None) -> Choice:
    """Return a choice that names values by their expressions: it holds after edits elsewhere."""
    return _renamed(choice, partial(digests_of, program=program)) if program else choice


def by_row(choice: Choice, program: Dataflow | None) -> Choice:
    """Return a choice that names values by their rows, as listings do."""
    return _renamed(choice, partial(rows_of, program=program)) if program else choice


def _renamed(choice: Choice, rename: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Choice:
    return tuple(
        (name, rename(value) if name.rpartition(".")[2] in NAMING else value)
        for name, value in choice
    )


def changed(choice: Choice, changes: Choice) -> Choice:
    """Return a choice with other values of some options.

    >>> changed((("codegen.jam", False),), (("codegen.arrays", ("%3",)),))
    (('codegen.arrays', ('%3',)), ('codegen.jam', False))
    """
    return tuple(sorted({**dict(choice), **dict(changes)}.items()))


def joined(one: Choice, other: Choice, now: Mapping[str, Any]) -> Choice:
    """Return two changes of one plan together; `now` are the values of its options.

    Lists of names get and lose what either change adds or takes away. Of other values that both
    change the other one is taken.

    >>> both = joined((("inline", ("%1",)),), (("inline", ("%2",)), ("jam", False)), {"inline": ()})
    >>> both
    (('inline', ('%1', '%2')), ('jam', False))
    >>> joined((("passes", ("a", "c")),), (("passes", ("b", "c")),), {"passes": ("a", "b", "c")})
    (('passes', ('c',)),)
    """
    found = dict(one)
    for name, value in other:
        before = now.get(name)
        if name in found and isinstance(value, tuple) and isinstance(before, tuple):
            differing = {*before} ^ {*found[name]} | {*before} ^ {*value}
            kept = tuple(each for each in before if each not in differing)
            value = (*kept, *_sorted(differing - {*before}))  # noqa: PLW2901
        found[name] = value
    return tuple(sorted(found.items()))


def applied(backend: Backend, choice: Choice | Mapping[str, Any]) -> Backend:
    """Return the backend with the options of a choice."""
    options = dict(choice)
    return backend.with_options(**options) if options else backend


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=lambda name: (len(name), name)))
