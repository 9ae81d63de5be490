"""The arguments of a call of a stencil: arrays with their axes in order, origins, the domain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, Final, Literal, TypeAlias

from ...runtime.fields import Field
from ...runtime.fields.given_data import array_of
from ...runtime.process import classes
from ...runtime.storage.arrays import asarray, dims_of, origin_of
from .definitions import SPATIAL, FieldInfo

Origins: TypeAlias = dict[str, tuple[int, ...]]
ALL: Final = "_all_"


@classes.frozen(eq=False)
class GivenField:
    """The array of one argument, with what its object declares.

    `given` is the object itself, `dimensions` and `origin` are `__gt_dims__` and `__gt_origin__` of
    it. The axes of `array` are in the order I, J, K, then data axes.
    """

    given: Any
    array: Any
    dimensions: tuple[str, ...] | None = None
    origin: tuple[int, ...] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis."""
        return tuple(self.array.shape)

    def element(self, place: tuple[int, ...]) -> GivenField:
        """Return the field of one element of the data axes, or the field itself without any."""
        return GivenField(None, self.array[(..., *place)]) if place else self


@classes.frozen(eq=False)
class GivenCall:
    """The arrays and numbers of a call by name; fields without influence are None."""

    fields: Mapping[str, GivenField | None]
    numbers: Mapping[str, Any]


def given_field(value: Any, device: Literal["cpu", "gpu"]) -> GivenField | None:
    """Return the array of an argument, None for None."""
    if value is None:
        return None
    array, dims = _array(value, device), dims_of(value)
    if dims is None:
        return GivenField(value, array, None, origin_of(value))
    ordered = sorted(dims, key=_place)
    order = [dims.index(name) for name in ordered]
    return GivenField(value, array.transpose(*order), tuple(ordered), origin_of(value))


def _array(value: Any, device: Literal["cpu", "gpu"]) -> Any:
    """Return an array of NumPy, or one of the GPU runtime for whatever lends memory of a GPU."""
    if device == "cpu":
        return asarray(value, device=device)
    return array_of(getattr(value, "ndarray", value))


def origins_of(
    given: Any, fields: Mapping[str, GivenField | None], infos: Mapping[str, FieldInfo]
) -> Origins:
    """Return the origin of every field, one index for each axis of its array."""
    named = _named(given)
    known = {ALL: named[ALL]} if ALL in named else {}
    return known | {
        name: _origin(name, named, fields.get(name), info) for name, info in infos.items()
    }


def is_placed(options: Mapping[str, Any], names: Iterable[str]) -> bool:
    """Tell whether the options of a call give the domain and the origin of every field."""
    origin = options.get("origin")
    if options.get("domain") is None or origin is None:
        return False
    if not isinstance(origin, Mapping) or origin.get(ALL) is not None:
        return True
    return all(origin.get(name) is not None for name in names)


def widest_domain(
    fields: Mapping[str, GivenField | None], infos: Mapping[str, FieldInfo], origins: Origins
) -> dict[str, int]:
    """Return the size of the domain that all used fields have room for, by axis."""
    found: dict[str, int] = {}
    for name, info in infos.items():
        if not info.access:
            continue
        given = fields.get(name)
        assert given is not None, f"Invalid value for '{name}' field."
        for axis, size, origin, (_, upper) in zip(
            info.axes, given.array.shape, origins[name], info.bounds, strict=False
        ):
            room = size - origin - upper
            if room < found.get(axis, room + 1):
                found[axis] = room
    return found


def domain_of(
    given: Any,
    fields: Mapping[str, GivenField | None],
    infos: Mapping[str, FieldInfo],
    origins: Origins,
) -> tuple[int, ...]:
    """Return the compute domain: what is given, else the widest; 1 where no field has an axis."""
    if given is None:
        widest = widest_domain(fields, infos, origins)
        return tuple(widest.get(axis, 1) for axis in SPATIAL)
    sizes = tuple(given) if isinstance(given, Iterable) else ()
    good = len(sizes) == len(SPATIAL) and all(isinstance(size, Integral) for size in sizes)
    if not good or min(sizes) < 0:
        raise ValueError(f"Invalid 'domain' value '{given}'")
    return tuple(map(int, sizes))


def field_of(given: GivenField, dims: tuple[Any, ...], origin: tuple[int, ...]) -> Field:
    """Return an array as a field whose index 0 is the first point of the domain.

    A field that is one already is itself, so that slots of `record` know it.
    """
    starts = tuple(-each for each in origin[: len(dims)])
    known = given.given
    if isinstance(known, Field) and known.dims == dims and known.starts == starts:
        return known
    return Field(given.array, dims, starts)


def _named(given: Any) -> Origins:
    """Return the argument `origin` by field, with '_all_' for the others."""
    match given:
        case None:
            return {}
        case Mapping():
            return {str(name): tuple(value) for name, value in given.items() if value is not None}
        case Integral():
            return {ALL: (int(given),) * len(SPATIAL)}
    found = tuple(given) if isinstance(given, Iterable) else ()
    if len(found) != len(SPATIAL) or not all(isinstance(each, Integral) for each in found):
        raise ValueError(f"Invalid 'origin' value ({given})")
    return {ALL: tuple(map(int, found))}


def _origin(
    name: str, named: Origins, given: GivenField | None, info: FieldInfo
) -> tuple[int, ...]:
    rest = (0,) * len(info.data_dims)
    if name in named:
        own = named[name]
        if len(own) == info.ndim:
            return own
        if len(own) != info.domain_ndim:
            raise ValueError(
                f"Invalid origin specification ({own}) for '{name}' field: expected one index for "
                f"each of its axes {', '.join(info.axes)}."
            )
        return (*own, *rest)
    if ALL in named:
        by_axis = dict(zip(SPATIAL, named[ALL], strict=False))
        if len(by_axis) < len(SPATIAL):
            raise ValueError(f"Invalid 'origin' value ({named[ALL]})")
        return (*(by_axis[axis] for axis in info.axes), *rest)
    if given is not None and given.origin is not None:
        return given.origin
    return (0,) * info.ndim


def _place(name: str) -> tuple[int, int]:
    """Return the place of an axis: I, J, K, data axes by number, then what is none of them."""
    if name in SPATIAL:
        return SPATIAL.index(name), 0
    return (len(SPATIAL), int(name)) if name.isdecimal() else (len(SPATIAL) + 1, 0)
