"""Group the outputs of a statement, or of a directly called operator, by their ranges.

One loop nest writes all outputs of a group; other outputs are computed on their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from ...runtime.language import Dimension, Type, leaves, leaves_of
from .naming import leaf_name

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
