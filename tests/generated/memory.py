"""Make the arguments of a case: fields in memory of every layout, scalars, collections."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

import fieldforge as ff
from fieldforge.runtime.fields.field import make
from fieldforge.runtime.language.domain import Domain

from .case import Case, FieldSpec
from .grids import HORIZONTAL, TABLES
from .literals import data
from .pieces import FLOATS

GUARD: Final = 3  # elements on each side of a field that nobody may write


def arguments_of(case: Case) -> dict[str, Any]:
    """Make fresh fields and scalars of a case."""
    made: dict[str, Any] = {
        spec.name: field_of(spec, values_of(case, spec)) for spec in case.fields
    }
    made |= dict(_together(case))
    for name, dtype, text in case.scalars:
        made[name] = scalar(dtype, text)
    return made


def grouped(case: Case, arguments: Mapping[str, Any], classes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments in the order of the parameters, some together in collections."""
    made = dict(arguments)
    for group in case.groups:
        made[group.name] = classes[group.kind](*(arguments[name] for name in group.members))
    return {name: made[name] for name in case.order}


def in_one_memory(case: Case) -> tuple[FieldSpec, FieldSpec, int] | None:
    """Return two fields of one kind that lie in one memory, and by how many rows one is shifted."""
    if case.seed % 4 != 3:
        return None
    known: dict[Any, FieldSpec] = {}
    for spec in case.fields:
        if spec.layout != "default" or not spec.kind.dims or 0 in spec.shape or spec.ulps:
            continue
        other = known.setdefault(spec.kind, spec)
        if other is not spec:
            return other, spec, case.seed // 4 % 3
    return None


def _together(case: Case) -> Iterator[tuple[str, Any]]:
    """Make the two fields of a case that share memory, in some cases."""
    found = in_one_memory(case)
    if found is None:
        return
    one, other, shift = found
    extents = [max(pair) for pair in zip(one.shape, other.shape, strict=True)]
    memory = np.zeros([extents[0] + shift, *extents[1:]], one.kind.dtype)
    for each, start in ((one, 0), (other, shift)):
        part = memory[start:][tuple(slice(extent) for extent in each.shape)]
        part[...] = values_of(case, each)
        names = _dimensions()
        box = Domain(*((names[dim], each.box[dim]) for dim in each.kind.dims))
        yield each.name, make(part, box)


def values_of(case: Case, spec: FieldSpec) -> np.ndarray[Any, Any]:
    """Return what is in one field before the program runs."""
    return data(1000 * case.seed + int(spec.name[1:]), spec.kind.dtype, spec.shape, case.percent)


def scalar(dtype: str, text: str) -> Any:
    """Return the number that a literal such as 'float32("nan")' stands for."""
    inner = text.removeprefix(f"{dtype}(").removesuffix(")").strip('"')
    value = inner == "True" if dtype == "bool" else float(inner) if dtype in FLOATS else int(inner)
    return np.dtype(dtype).type(value)


def field_of(spec: FieldSpec, values: np.ndarray[Any, Any]) -> Any:
    """Lay values out in memory as the field wants it."""
    names = _dimensions()
    domain = Domain(*((names[dim], spec.box[dim]) for dim in spec.kind.dims))
    if spec.layout == "default" or not values.size:  # no layout can be told from no elements
        return ff.as_field(domain, values)
    return make(laid_out(values, spec.layout), domain)


def laid_out(values: np.ndarray[Any, Any], layout: str) -> np.ndarray[Any, Any]:
    """Return a copy in C or Fortran order, with gaps between the elements, or backwards.

    It lies in the middle of a larger array, its base, which nobody may touch: see `is_intact`.
    """
    step = {"gaps": 2, "reversed": -1}.get(layout, 1)
    shape = values.shape if layout != "f" else values.shape[::-1]
    wide = np.zeros([abs(step) * extent + 2 * GUARD for extent in shape], dtype=values.dtype)
    inner = wide[tuple(slice(GUARD, GUARD + abs(step) * extent) for extent in shape)]
    view = inner[tuple(slice(None, None, step) for _ in shape)]
    view = view.T if layout == "f" else view
    view[...] = values
    return view


def is_intact(field: Any) -> bool:
    """Tell whether everything around a field that `laid_out` made is as it was."""
    view = field.asnumpy()
    if view.base is None or view.base.shape == view.shape:
        return True
    around = view.base.copy()
    address = (view.ctypes.data - view.base.ctypes.data) // view.itemsize
    strides = [stride // view.itemsize for stride in view.strides]
    places = np.full(view.shape, address)
    for axis, (extent, stride) in enumerate(zip(view.shape, strides, strict=True)):
        steps = [1] * view.ndim
        steps[axis] = extent
        places = places + (np.arange(extent) * stride).reshape(steps)
    around.ravel()[places.ravel()] = 0
    return not around.any()


def _dimensions() -> dict[str, Any]:
    local, vertical = ff.DimensionKind.LOCAL, ff.DimensionKind.VERTICAL
    names = {dim: ff.Dimension(dim) for dim in ("I", "J", *HORIZONTAL)}
    names |= {table.local: ff.Dimension(table.name, local) for table in TABLES}
    names["K"] = ff.Dimension("K", vertical)
    return names | {f"{dim}h": ff.flip_staggered(names[dim]) for dim in ("I", "J", "K")}
