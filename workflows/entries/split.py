"""`Program.split`: what a program may compute before a halo has arrived, and what after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from ...runtime.decomposition.cuts import ENDLESS, Box, Cut, Step, Touch, cut, is_empty, outside
from ...runtime.language import (
    Definition,
    DimensionKind,
    Domain,
    Infinity,
    UnitRange,
    domain as make_domain,
)
from ...runtime.process import ArgumentError, classes, did_you_mean
from ...stages.ir.bounds import Ranges
from ...stages.lower.boxes.footprints import Footprint, footprints, horizontal
from ..builds.building import parsed
from ..variants.naming import alike_outputs
from ..variants.numbers import Numbers
from .cut_definition import Cutting, Repeated, bounds_of, cut_definition
from .native_entry import NativeEntry
from .rebinding import watch

P = TypeVar("P", bound=NativeEntry)


@classes.frozen(eq=False)
class Split(Generic[P]):
    """A program in two halves; `program.split` makes it.

    Attributes:
        inner: needs no halo: call it while the exchange runs.
        outer: the rest: call it when the exchange has finished.
        ready: the points of each output that are valid after the inner half, by parameter. Another
            program that reads them is split with `halo=split.ready`.
        cuts: the boxes of each statement.

    """

    inner: P
    outer: P
    ready: Mapping[str, Domain]
    cuts: tuple[Cut, ...] = classes.field(repr=False)

    def __str__(self) -> str:
        rows = [f"{self.inner.__name__}:"]
        for number, each in enumerate(self.cuts):
            outer = [_text(box) for box in each.outer if not is_empty(box)]
            inner = "nothing" if each.inner is None or is_empty(each.inner) else _text(each.inner)
            rows.append(f"  {number}: inner {inner}, outer {', '.join(outer) or 'nothing'}")
        return "\n".join(rows)


def split(
    program: P,
    halo: Mapping[str, Any],
    provider: Mapping[str, Any] | None,
    arguments: Mapping[str, Any],
) -> Split[P]:
    """Split a program; see `Program.split`."""
    made = program._made
    given = {**dict(made.bound), **arguments}
    shape = program._variants.shape
    types = shape.types
    for where, names in (("halo", halo), ("arguments", given)):
        _check(program.__name__, where, names, types)
    provider = made.options.connectivities if provider is None else provider
    given = dict(shape.with_fields(given))
    variant = shape.default(provider)
    variant = classes.evolve(variant, alike=alike_outputs(shape.summary.outputs, given))
    definition = program._current()
    found = footprints(parsed(definition), variant)
    numbers = Numbers(program.__name__, given, provider or {})
    domains = tuple(_has_domain(definition))
    boxes = [_box(*row, numbers) for row in zip(found, domains, strict=True)]
    if all(box is None or not _horizontal(box) for box in boxes):
        raise ArgumentError(
            f"No statement of '{program.__name__}' can be cut: each writes its outputs on "
            "different boxes, or has no horizontal dimension.",
            hint="Write outputs on different boxes in statements of their own.",
        )
    steps = [_step(each, box, numbers) for each, box in zip(found, boxes, strict=True)]
    cuts = cut(steps, dict(_late(halo, found)))
    sizes = {name: value for name, value in given.items() if not hasattr(value, "domain")}

    def half(is_inner: bool) -> P:
        rows = [_repeated(*row, is_inner) for row in zip(found, cuts, domains, strict=True)]
        bounds = dict(_bounds(rows, boxes, cuts, is_inner))
        cut_one = cut_definition(definition, rows)
        fixed = {**sizes, **bounds}
        return program._changed(
            definition=cut_one,
            cut=Cutting(definition.function, tuple(rows)),
            watch=watch(cut_one),
            bound=tuple(sorted({**dict(made.bound), **fixed}.items())),
            sizes=frozenset(fixed) | made.sizes,
        )

    return Split(half(True), half(False), dict(_ready(found, cuts)), cuts)


def _has_domain(definition: Definition) -> Iterator[bool]:
    """Tell of each statement whether its domain is written."""
    program: Any = parsed(definition).root
    for statement in program.body:
        yield any(output.domain for output in statement.outputs)


def _box(found: Footprint, has_domain: bool, numbers: Numbers) -> Box | None:
    """Return what a statement computes; written vertical ranges are left to the call."""
    if found.box is None:
        return None
    return numbers.box(horizontal(found.box) if has_domain else found.box)


def _check(program: str, where: str, names: Mapping[str, Any], types: Mapping[str, Any]) -> None:
    for name in names:
        if name.partition(".")[0] not in types:
            raise ArgumentError(
                f"'{where}' of 'split' names '{name}', which is no parameter of '{program}'.",
                hint=did_you_mean(name, types),
            )


def _late(halo: Mapping[str, Any], found: Sequence[Footprint]) -> Iterator[tuple[str, list[Box]]]:
    """Yield what arrives with the halo, for each leaf of a field that has one."""
    leaves = {name: box for each in found for name, box in (*each.reads, *each.writes)}
    for name, ranges in leaves.items():
        known = halo.get(name, halo.get(name.partition(".")[0]))
        if known is not None:
            valid = make_domain(known)
            dims = [each.dim for each in ranges if each.dim in valid.dims]
            box = {dim: _ends(valid[dim].unit_range) for dim in dims}
            nothing: list[Box] = [{}]
            yield name, nothing if is_empty(box) else outside(_horizontal(box))


def _horizontal(box: Box) -> Box:
    return {dim: ends for dim, ends in box.items() if dim.kind is DimensionKind.HORIZONTAL}


def _ends(range_: UnitRange) -> tuple[int, int]:
    start, stop = range_.start, range_.stop
    return (
        -ENDLESS if isinstance(start, Infinity) else start,
        ENDLESS if isinstance(stop, Infinity) else stop,
    )


def _step(found: Footprint, box: Box | None, numbers: Numbers) -> Step:
    def touch(name: str, ranges: Ranges) -> Touch:
        return Touch(name, lambda part: numbers.points(horizontal(ranges), part))

    return Step(
        _horizontal(box or {}),
        [touch(*each) for each in found.reads],
        [touch(*each) for each in found.writes],
        found.meshes,
    )


def _repeated(found: Footprint, made: Cut, has_domain: bool, is_inner: bool) -> Repeated:
    if made.inner is None or found.box is None:
        return Repeated(0 if is_inner else 1)
    times = 1 if is_inner else len(made.outer)
    return Repeated(times, tuple(each.dim for each in found.box), has_domain)


def _bounds(
    rows: Sequence[Repeated], boxes: Sequence[Box | None], cuts: Sequence[Cut], is_inner: bool
) -> Iterator[tuple[str, np.int64]]:
    for number, (row, box, made) in enumerate(zip(rows, boxes, cuts, strict=True)):
        parts = made.outer if not is_inner else (made.inner or {},)
        for place, dim, ends in bounds_of(number, row):
            range_ = {**(box or {}), **parts[place]}[dim]
            yield from zip(ends, map(np.int64, range_), strict=True)


def _ready(found: Sequence[Footprint], cuts: Sequence[Cut]) -> Iterator[tuple[str, Domain]]:
    for each, made in zip(found, cuts, strict=True):
        for name, ranges in each.writes:
            inner = made.inner or {range_.dim: (0, 0) for range_ in ranges}
            yield name, Domain(*((dim, UnitRange(*ends)) for dim, ends in inner.items()))


def _text(box: Box) -> str:
    return " x ".join(f"{dim.value} {start}:{stop}" for dim, (start, stop) in box.items())
