"""Write the result of an embedded operator, after all checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..fields import (
    ActiveField,
    Field,
    beyond,
    context,
    is_same_array,
    make,
    overlaps_itself,
    values_of,
    view_on,
)
from ..language import Dimension, DimensionKind, Domain, UnitRange, leaves_of
from ..language.active_numbers import lifted
from ..language.operations import literal
from ..language.output_domains import domain_at, written_domain
from ..process import (
    ArgumentError,
    IndexOutOfBounds,
    MissingArgumentError,
    OverlapError,
    ReadOnlyError,
    classes,
)
from .arguments import describe
from .invalid_values import check_written
from .missing_values import check_exists
from .piecewise_field import AnyValue, PiecewiseField, gap, on_box


@classes.frozen(eq=False)
class _Leaf:
    """One output with its result and its domain."""

    name: str
    result: Any
    out: Any
    domain: Any


@classes.frozen(eq=False)
class _Write:
    """One leaf: copy the elements of `value` to the array `target`."""

    name: str
    target: Any
    value: Any
    box: Domain


def write(operator: str, result: Any, out: Any, domain: Any, arguments: Mapping[str, Any]) -> None:
    """Write `result` to `out`, both single or tuples alike, on `domain` or all of `out`.

    `arguments` are those of the operator, for the message about an input that is too small.
    """
    if out is None:
        raise MissingArgumentError(None, "out", True)
    leaves = _leaves(operator, result, out, domain)
    writes = [_prepared(operator, leaf, arguments) for leaf in leaves]
    written = [write for write in writes if write is not None]
    _check_overlap(operator, written)
    targets = [write.target for write in written]
    values = [
        write.value.copy() if _shares(write.value, targets) else write.value for write in written
    ]
    for target, value in zip(targets, values, strict=True):
        target[...] = value


def levels_of(out: Any, domain: Any) -> list[Domain]:
    """Return the vertical ranges that each output is written on, in the order of the leaves.

    For one without a vertical dimension they are those of the first that has one.
    """
    found = []
    for path, target in leaves_of(out):
        is_field = isinstance(target, Field | ActiveField)
        box = _box("out", target, domain_at(domain, path)) if is_field else ()
        # scans walk only where something is written
        none = isinstance(box, Domain) and box.is_empty()
        vertical = [(dim, own) for dim, own in box if dim.kind is DimensionKind.VERTICAL]
        found.append(Domain(*((dim, UnitRange(0, 0) if none else own) for dim, own in vertical)))
    walked = next((levels for levels in found if levels.ndim), Domain())
    return [levels if levels.ndim else walked for levels in found]


def _leaves(operator: str, result: Any, out: Any, domain: Any) -> list[_Leaf]:
    outs = list(leaves_of(out))
    results = dict(leaves_of(result))
    if [path for path, _ in outs] != list(results):
        raise ArgumentError(
            f"Expected keyword argument 'out' of '{operator}' to be of type "
            f"'{describe(result)}', got '{describe(out)}'."
        )
    found = []
    for path, target in outs:
        name = "out" + "".join(f"[{index}]" for index in path)
        found.append(_Leaf(name, results[path], target, domain_at(domain, path)))
    return found


def _prepared(operator: str, leaf: _Leaf, arguments: Mapping[str, Any]) -> _Write | None:
    name, out = leaf.name, leaf.out
    value = _as_field(operator, name, leaf.result, out)
    box = _box(name, out, leaf.domain)
    if box.is_empty():
        return None
    _check_cover(operator, name, value, box, arguments)
    check_exists(operator, name, value, box)
    check_written(operator, name, value, box)
    if out.readonly:
        raise ReadOnlyError(f"'{name}' of '{operator}' cannot be written: its memory is read-only.")
    if isinstance(value, PiecewiseField):
        value = on_box(value, box)
    if overlaps_itself(out.ndarray):
        raise OverlapError(
            f"'{name}' of '{operator}' cannot be written: its own elements share memory.",
            hint=f"Pass a copy of '{name}'.",
        )
    source = view_on(values_of(value), value.domain, box)
    source = lifted(source) if isinstance(out, ActiveField) else source
    return _Write(name, view_on(out.ndarray, out.domain, box), source, box)


def _as_field(operator: str, name: str, value: Any, out: Any) -> AnyValue:
    number = literal(value)
    value = make(number, Domain()) if isinstance(number, np.generic) else value
    same = (
        isinstance(out, Field | ActiveField)
        and isinstance(value, AnyValue)
        and set(out.dims) == set(value.domain.dims)
        and out.dtype == value.dtype
    )
    if not same:
        raise ArgumentError(
            f"Expected keyword argument '{name}' of '{operator}' to be of type "
            f"'{describe(value)}', got '{describe(out)}'."
        )
    return value  # type: ignore[no-any-return]  # 'same' says that it is a field


def _box(name: str, out: Field, domain: Any) -> Domain:
    """Return the part of `out` to write, with the dimensions in its order."""
    if domain is None:
        return out.domain
    box = written_domain(name, out.dims, domain)
    for dim, own in out.domain:
        if not box.is_empty() and not box[dim].unit_range <= own:
            raise IndexOutOfBounds(
                f"The domain to write is too large for '{name}': needed along '{dim.value}' is "
                f"{box[dim].unit_range}, given is {own}."
            )
    return box


def _check_cover(
    operator: str,
    name: str,
    value: AnyValue,
    box: Domain,
    arguments: Mapping[str, Any],
) -> None:
    for dim, needed in box:
        given = value.domain[dim].unit_range
        if not needed <= given:
            raise IndexOutOfBounds(
                f"The result of '{operator}' does not cover '{name}': needed along '{dim.value}' "
                f"is {needed}, given is {given}.",
                hints=[
                    *_beyond(arguments),
                    f"The inputs along '{dim.value}' are {_given(arguments, dim) or 'none'}; give "
                    "larger ones, or write a smaller 'domain'.",
                ],
            )
    missing = gap(value, box) if isinstance(value, PiecewiseField) else None
    if missing is not None:
        raise IndexOutOfBounds(
            f"The result of '{operator}' does not cover '{name}': "
            f"there is no value at '{missing}'.",
            hints=[
                *_beyond(arguments),
                "An input, or what is read through a neighbour table, ends before that.",
            ],
        )


def _beyond(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Name the tables that lead outside of an input."""
    seen = set()
    for argument in arguments.values():
        for _, leaf in leaves_of(argument):
            for dim, own in leaf.domain if isinstance(leaf, Field) else ():
                if (dim, own) not in seen:
                    seen.add((dim, own))
                    yield from beyond(context.tables(), dim, own)


def _given(arguments: Mapping[str, Any], dim: Dimension) -> str:
    """List the inputs that have a dimension, each with its range."""
    return ", ".join(
        f"'{parameter}{''.join(f'[{index}]' for index in path)}' {leaf.domain[dim].unit_range}"
        for parameter, argument in arguments.items()
        for path, leaf in leaves_of(argument)
        if isinstance(leaf, Field) and dim in leaf.dims
    )


def _check_overlap(operator: str, writes: list[_Write]) -> None:
    for index, one in enumerate(writes):
        for other in writes[:index]:
            if one.box == other.box and is_same_array(one.target, other.target):
                continue  # the last one is written
            if np.shares_memory(one.target, other.target):
                raise OverlapError(
                    f"The outputs '{other.name}' and '{one.name}' of '{operator}' share memory."
                )


def _shares(value: Any, targets: list[Any]) -> bool:
    return any(np.may_share_memory(value, target) for target in targets)
