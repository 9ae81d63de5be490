"""Refuse the arguments of a call that do not fit a stencil, in GTScript's words."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ...runtime.storage.layout import LayoutInfo
from ...stages.gtscript.info import InOrder, Level
from .arguments import GivenField, Origins, widest_domain
from .definitions import SPATIAL, DomainInfo, FieldInfo, ParameterInfo


def check_fields(fields: Mapping[str, GivenField | None], infos: Mapping[str, FieldInfo]) -> None:
    """Refuse arrays that are not of the declared types."""
    for name, info in infos.items():
        given = fields.get(name)
        if info.access and given is None:
            raise AssertionError(f"Invalid value for '{name}' field.")
        if info.access and given is not None:
            _check_array(name, given, info)


def check_domain(
    name: str,
    domain: tuple[int, ...],
    fields: Mapping[str, GivenField | None],
    infos: Mapping[str, FieldInfo],
    origins: Origins,
    levels: DomainInfo,
) -> None:
    """Refuse a domain that is empty, leads out of a field, or has too few levels."""
    if min(domain) < 0:
        raise ValueError(f"Invalid 'domain' value '{domain}'")
    if not any(domain):
        raise ValueError(f"Compute domain contains zero sizes '{domain}')")
    sizes = dict(zip(SPATIAL, domain, strict=True))
    offending = []
    for field, info in infos.items():
        room = widest_domain(fields, {field: info}, origins)
        if any(sizes[axis] > size for axis, size in room.items()):
            offending.append((field, tuple(room.get(axis, sizes[axis]) for axis in SPATIAL)))
    if offending:
        raise ValueError(
            f"Compute domain too large for stencil {name}: \n"
            f"  Stencil domain is {domain} but field indexation leads to read outside of bounds.\n"
            "  Check region/horizontal offsets or interval/vertical offsets, or stencil domain.\n"
            f"  Offending fields (name, size with offset removed): {offending}"
        )
    fewest = levels.min_sequential_axis_size
    if sizes["K"] < fewest:
        raise ValueError(
            f"Compute domain too small. Sequential axis is {sizes['K']}, but must be at least "
            f"{fewest}."
        )


def check_origins(infos: Mapping[str, FieldInfo], origins: Origins) -> None:
    """Refuse origins before which a stencil reads more points than there are."""
    for name, info in infos.items():
        if not info.access:
            continue
        bounds = zip(origins[name], info.bounds, strict=False)
        if any(own < lower for own, (lower, _) in bounds):
            least = dict(zip(SPATIAL, info.boundary.lower_indices, strict=True))
            given = dict(zip(info.axes, origins[name], strict=False))
            fewest = tuple(least[axis] if axis in given else 0 for axis in SPATIAL)
            found = tuple(given.get(axis, 0) for axis in SPATIAL)
            raise ValueError(
                f"Origin for field {name} too small. Must be at least {fewest}, is {found}"
            )


def check_numbers(numbers: Mapping[str, Any], infos: Mapping[str, ParameterInfo]) -> None:
    """Refuse numbers of another type; those of Python are int64, float64 and bool."""
    for name, info in infos.items():
        if not info.access:
            continue
        given = numbers[name]
        if _dtype(given) != info.dtype:
            raise TypeError(
                f"The type of parameter '{name}' is '{type(given)}' instead of '{info.dtype}'"
            )


def check_intervals(rules: Iterable[InOrder], numbers: Mapping[str, Any], levels: int) -> None:
    """Refuse numbers that give intervals of one computation levels in another order."""
    for rule in rules:
        if any(each.scalar and numbers[each.scalar] is None for each in rule.bounds):
            continue  # without influence
        start, stop, first, last = (_level(each, numbers, levels) for each in rule.bounds)
        lower, upper = range(start, stop), range(first, last)
        if lower and upper and stop > first:
            one, other = rule.texts
            raise ValueError(
                f"Intervals must be specified in order of execution: '{one}' stands before "
                f"'{other}' at line {rule.line}, but they get the levels {start} .. {stop - 1} and "
                f"{first} .. {last - 1}"
            )


def _level(bound: Level, numbers: Mapping[str, Any], levels: int) -> int:
    """Return a bound as a level of the domain, or the one past its last."""
    if bound.scalar:
        return min(max(int(numbers[bound.scalar]), 0), levels)
    return bound.offset + levels * bound.of_end


def warn_of_layouts(
    fields: Mapping[str, GivenField | None],
    infos: Mapping[str, FieldInfo],
    preset: LayoutInfo,
    is_new: Callable[[str], bool],
) -> None:
    """Warn of each array whose strides have another order than the backend recommends, if new."""
    for name, info in infos.items():
        given = fields.get(name)
        if not info.access or given is None:
            continue
        axes = (*info.axes, *map(str, range(len(info.data_dims))))
        if not preset["is_optimal_layout"](given.array, axes) and is_new(name):
            warnings.warn(
                f"The layout of the field '{name}' is not recommended for this backend."
                "This may lead to performance degradation. Please consider using the"
                "provided allocators in `gt4py.storage`.",
                stacklevel=5,
            )


def _check_array(name: str, given: GivenField, info: FieldInfo) -> None:
    array = given.array
    if array.dtype != info.dtype:
        raise TypeError(f"The dtype of field '{name}' is '{array.dtype}' instead of '{info.dtype}'")
    if array.ndim != info.ndim:
        raise ValueError(
            f"Storage for '{name}' has {array.ndim} dimensions but the API signature expects "
            f"{info.ndim} ('{info.axes}[{info.data_dims}]')"
        )
    expected = (*info.axes, *map(str, range(len(info.data_dims))))
    if given.dimensions not in (None, expected):
        more = f" and {len(info.data_dims)}" if info.data_dims else ""
        raise ValueError(
            f"Storage for '{name}' has dimensions '{given.dimensions}' but the API signature "
            f"expects '[{', '.join(info.axes)}]'{more}"
        )
    data = given.shape[info.domain_ndim :]
    if data != info.data_dims:
        raise ValueError(f"Field '{name}' expects data dimensions {info.data_dims} but got {data}")


def _dtype(number: Any) -> Any:
    try:
        return np.dtype(type(number))
    except TypeError:  # no type of NumPy
        return None
