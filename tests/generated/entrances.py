"""Run the program of a case as models do: recorded, set up, split around a halo."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import numpy as np

import fieldforge as ff
from fieldforge.errors import ArgumentError

from .case import Case, FieldSpec
from .grids import CARTESIAN, HORIZONTAL, within
from .memory import arguments_of, grouped, in_one_memory
from .pieces import FLOATS

# Each yields what it did, and the fields of the case afterwards.
Entrance: TypeAlias = Callable[
    [Case, Any, Mapping[str, Any], Mapping[str, Any]], Iterator[tuple[str, Mapping[str, Any]]]
]
_CUT: Final = frozenset({*CARTESIAN, *HORIZONTAL} - {"K", "Kh"})


def entrance_of(case: Case) -> Entrance | None:
    """Choose how a case is run besides, mostly not at all; the same for the same case."""
    return {2: recorded, 10: set_up, 18: split}.get(case.seed % 24)


def recorded(
    case: Case, program: Any, names: Mapping[str, Any], tables: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Record a call; replay it on the same fields, or on others where each is a slot."""
    fields, fresh = arguments_of(case), arguments_of(case)
    given = grouped(case, fields, names)
    with_slots = in_one_memory(case) is None and case.seed % 48 < 24
    slots = [each.name for each in case.fields if with_slots and each.name in case.order]
    with ff.record(**{name: given[name] for name in slots}) as step:
        program(**given, offset_provider=tables)
    yield "recorded", fields
    for spec in case.fields:
        if spec.name not in slots:
            fields[spec.name].ndarray[...] = fresh[spec.name].ndarray
    step(**{name: fresh[name] for name in slots})
    yield "replayed", {**fields, **{name: fresh[name] for name in slots}}


def set_up(
    case: Case, program: Any, names: Mapping[str, Any], tables: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Set a program up with constant scalars, compiled in or not; call it twice."""
    constant = {name for name, _, _ in case.scalars if name in case.order}
    arguments = arguments_of(case)
    step = ff.setup(
        program,
        constant_args={name: arguments[name] for name in constant},
        static_args=("constants",) if case.seed % 48 < 24 else (),
        offset_provider=tables,
        precompile=case.seed % 96 < 48,
    )
    for what in ("set up", "set up, again"):
        fields = arguments_of(case)
        given = grouped(case, fields, names)
        step(**{name: value for name, value in given.items() if name not in constant})
        yield what, fields


def split(
    case: Case, program: Any, names: Mapping[str, Any], tables: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Compute what needs no outer point of any input while these hold other numbers, then all."""
    if case.groups or in_one_memory(case) is not None:
        return
    given = arguments_of(case)
    late = [each for each in case.fields if not each.written and _CUT.intersection(each.kind.dims)]
    halo = {
        each.name: {names[dim]: (start + 1, stop - 1) for dim, (start, stop) in _cut(each).items()}
        for each in late
    }
    try:
        halves = program.split(halo=halo, offset_provider=tables, **given)
    except ArgumentError as error:
        if "can be cut" in error.message:
            return
        raise
    for each in late:
        _hide_halo(each, given[each.name].ndarray)
    fields = {each.name: given[each.name] for each in case.fields}
    halves.inner(**fields, offset_provider=tables)
    for each in late:
        given[each.name].ndarray[...] = arguments_of(case)[each.name].ndarray
    halves.outer(**fields, offset_provider=tables)
    yield "split", fields


def _cut(spec: FieldSpec) -> dict[str, tuple[int, int]]:
    """Return the ranges of the dimensions along which the ends come late."""
    box = within(spec.box, tuple(dim for dim in spec.kind.dims if dim in _CUT))
    return {dim: (start, stop) for dim, (start, stop) in box.items() if stop - start > 2}


def _hide_halo(spec: FieldSpec, array: Any) -> None:
    wrong = np.array(np.nan if spec.kind.dtype in FLOATS else 77).astype(spec.kind.dtype)
    for axis, dim in enumerate(spec.kind.dims):
        for end in (0, -1) if dim in _cut(spec) else ():
            array[(slice(None),) * axis + (end,)] = wrong
