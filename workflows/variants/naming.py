"""Describe the arguments of a call for a build: contiguous axes, and groups of outputs.

One loop nest writes all outputs of a group, which have the same ranges; other outputs are computed
on their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...runtime._core import FieldView
from ...runtime.fields import memory_order
from ...runtime.language import Dimension, FieldType, Type, leaves, leaves_of
from ...stages.artifacts import Variant


def variant_of(
    parameters: Sequence[str],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    tables: tuple[tuple[str, int, bool], ...] = (),
    static: tuple[tuple[str, str], ...] = (),
) -> Variant:
    """Return the variant for the arguments of a call; only fields have a layout."""
    given = {**dict(zip(parameters, args, strict=False)), **kwargs}
    found = (
        (leaf_name(name, path), _contiguous(leaf))
        for name in parameters
        if name in given
        for path, leaf in leaves_of(given[name])
    )
    domain = any(name.startswith("domain.") for name in parameters)
    unit = tuple((name, dim) for name, dim in found if dim)
    return Variant(unit=unit, static=static, domain=domain, tables=tables)


def default_variant(
    parameters: Iterable[tuple[str, Type]],
    domain: bool = False,
    tables: tuple[tuple[str, int, bool], ...] = (),
    static: tuple[tuple[str, str], ...] = (),
) -> Variant:
    """Return the variant for fields that our constructors make."""
    unit = tuple(_default_units(parameters))
    return Variant(unit=unit, static=static, domain=domain, tables=tables)


def leaf_name(parameter: str, path: tuple[int, ...]) -> str:
    """Return the name of one leaf of a parameter, as `lower` gives it.

    >>> leaf_name("pair", (0, 1))
    'pair.0.1'
    """
    return ".".join([parameter, *map(str, path)])


def why(variant: Variant, known: Sequence[Variant]) -> str:
    """Explain why a call needed another variant: its differences to the nearest known one.

    >>> why(Variant(static=(("n", "3"),)), [Variant(static=(("n", "2"),))])
    'a call with another value of n than variant 0'
    """
    if not known:
        return "the first call"
    differences = [_differences(variant, other) for other in known]
    nearest = min(range(len(known)), key=lambda place: len(differences[place]))
    return f"a call with {', '.join(differences[nearest])} than variant {nearest}"


def needed(variant: Variant, known: Sequence[Variant]) -> str:
    """Name the static arguments of a call that no known variant has, with their values.

    >>> needed(Variant(static=(("n", "3"),)), [Variant(static=(("n", "2"),))])
    "'n' = 3 (compiled: 2)"
    """
    found = []
    for name, value in variant.static:
        others = sorted({dict(each.static).get(name, value) for each in known})
        if known and value not in others:
            found.append(f"'{name}' = {value} (compiled: {', '.join(others)})")
    return ", ".join(found) or why(variant, known)


def unbounded(known: Iterable[Variant], limit: int) -> dict[str, tuple[str, ...]]:
    """Return the static arguments that have at least `limit` values, the most first.

    >>> unbounded([Variant(static=(("n", str(n)), ("m", "1"))) for n in range(3)], 3)
    {'n': ('0', '1', '2')}
    """
    values: dict[str, dict[str, None]] = {}
    for variant in known:
        for name, value in variant.static:
            values.setdefault(name, {})[value] = None
    rows = sorted(values.items(), key=lambda row: -len(row[1]))
    return {name: tuple(found) for name, found in rows if len(found) >= limit}


def _differences(one: Variant, other: Variant) -> list[str]:
    found = [f"another layout of {name}" for name in _changed(one.unit, other.unit)]
    found += [f"another value of {name}" for name in _changed(one.static, other.static)]
    tables = [
        tuple((name, f"{width} {skip}") for name, width, skip in each.tables)
        for each in (one, other)
    ]
    found += [f"other neighbours in {name}" for name in _changed(*tables)]
    ranges = [
        tuple((f"{name} along {dim}", f"{start} {stop}") for name, dim, start, stop in each.ranges)
        for each in (one, other)
    ]
    found += [f"another range of {name}" for name in _changed(*ranges)]
    if one.alike != other.alike:
        found.append("outputs on other ranges")
    return found or ["another kind of domain"]


def _changed(one: tuple[tuple[str, str], ...], other: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """Yield the names whose values differ, or that only one side has."""
    ours, theirs = dict(one), dict(other)
    yield from (name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name))


def _default_units(parameters: Iterable[tuple[str, Type]]) -> Iterator[tuple[str, str]]:
    for name, type_ in parameters:
        for path, leaf in leaves(type_):
            if isinstance(leaf, FieldType) and leaf.dims:
                yield leaf_name(name, path), leaf.dims[memory_order(leaf.dims)[0]].value


def _contiguous(value: Any) -> str | None:
    """Return the dimension along which a field is contiguous, None if there is none.

    An axis with at most one element fits any layout; the layout of our constructors is then taken.
    The native core must accept the layout returned here for the call, or it asks for ever.
    """
    if not isinstance(value, FieldView) or not value.dims:
        return None
    dims, shape = value.dims, value.shape
    item = np.dtype(value.dtype_name).itemsize
    steps = [stride == item for stride in value.strides]  # an array of torch has no such attribute
    axes = [axis for axis, extent in enumerate(shape) if extent > 1 and steps[axis]]
    usual = memory_order(dims)[0]
    if shape[usual] <= 1 or (0 in shape and steps[usual]):
        axes = axes or [usual]
    return str(dims[axes[0]].value) if axes else None


Groups: TypeAlias = tuple[tuple[str, ...], ...]


def all_alike(name: str, type_: Type) -> Groups:
    """Return one group of all leaves of an output, no group for a single leaf."""
    names = tuple(leaf_name(name, path) for path, _ in leaves(type_))
    return (names,) if len(names) > 1 else ()


def alike_outputs(outputs: Groups, given: Mapping[str, Any]) -> Groups:
    """Group the outputs of each statement by the ranges of the given fields."""
    found: list[tuple[str, ...]] = []
    for names in outputs:
        domains = {name: _domain_of(name, given) for name in names}
        groups = _groups({name: dict(domain) for name, domain in domains.items()})
        found += (names,) if groups is None else groups
    return tuple(dict.fromkeys(found))


def _domain_of(name: str, given: Mapping[str, Any]) -> Any:
    parameter, *path = name.split(".")
    leaf = dict(leaves_of(given.get(parameter))).get(tuple(map(int, path)))
    return getattr(leaf, "domain", ())


def alike_on(name: str, out: Any, bounds: Mapping[str, int]) -> Groups | None:
    """Group outputs by the bounds of `domain=`; None if all have the same."""
    ranges = {}
    for path, leaf in leaves_of(out):
        known = leaf_name(name, path)
        ends = [f"domain.{known}.{dim.value}" for dim in leaf.dims]
        ranges[known] = {
            dim: (bounds[f"{end}.start"], bounds[f"{end}.stop"])
            for dim, end in zip(leaf.dims, ends, strict=True)
        }
    return _groups(ranges)


def _groups(ranges: Mapping[str, Mapping[Dimension, Any]]) -> Groups | None:
    """Group leaves whose ranges agree in the dimensions that they share."""
    groups: list[tuple[list[str], dict[Dimension, Any]]] = []
    for name, own in ranges.items():
        for names, known in groups:
            if all(known.get(dim, range_) == range_ for dim, range_ in own.items()):
                names.append(name)
                known.update(own)
                break
        else:
            groups.append(([name], dict(own)))
    if len(groups) == 1:
        return None
    return tuple(tuple(names) for names, _ in groups if len(names) > 1)
