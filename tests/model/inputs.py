"""Draw small arguments for a program or operator of a model, so that it can run on any mesh."""

import random
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs
import numpy as np

import fieldforge as ff
from fieldforge.runtime.language.types import CollectionType, FieldType, ScalarType, TupleType, Type
from fieldforge.stages.artifacts import Parsed
from fieldforge.stages.ir import syntax
from fieldforge.workflows.builds.building import parsed

LEVELS: Final = 12
MARGIN: Final = 8  # how far below and above its levels a program may read
COLUMNS: Final = (range(LEVELS), range(1, LEVELS - 1))  # the levels that every second run writes

_PHYSICAL: Final = {  # for formulas that make sense for physical numbers only
    "t": (240.0, 300.0), "te": (240.0, 300.0), "temperature": (240.0, 300.0),
    "p": (4e4, 1e5), "pressure": (4e4, 1e5), "pres": (4e4, 1e5), "rho": (0.5, 1.3),
    "theta_v": (280.0, 320.0), "exner": (0.8, 1.0), "dz": (50.0, 500.0), "dt": (10.0, 60.0),
    "v": (1e-4, 1e-2), "c": (0.0, 1e-4), "r": (0.0, 1e-4),
    "s": (0.0, 1e-4), "i": (0.0, 1e-5), "g": (0.0, 1e-4),
}  # fmt: skip
_RANGES: Final = ((0.5, 2.0), (-1.0, 1.0))  # of the numbers of every second run


@attrs.frozen
class Arguments:
    """What a program or operator is called with; `out` is None for programs."""

    values: Mapping[str, Any]
    out: Any = None


@attrs.frozen
class Drawer:
    """Draw values of any type, the same for the same seed."""

    mesh: Mapping[str, int]
    seed: int
    bounds: Mapping[str, int]
    literals: tuple[int, ...]
    written: frozenset[str]
    whole: bool
    random: random.Random
    arrays: np.random.Generator

    def value(self, type_: Type, name: str, parameter: str) -> Any:
        """Return a value of a type; `name` is its own, or that of the element it is."""
        match type_:
            case FieldType(dims, dtype):
                tight = self.whole and parameter in self.written
                domain = {dim: self._extent(dim, tight) for dim in dims}
                shape = [stop - start for start, stop in domain.values()]
                return ff.as_field(ff.domain(domain), self._array(dtype.name, name, shape))
            case ScalarType():
                return self._number(type_.name, name)
            case TupleType(elements):
                return tuple(self.value(each, name, parameter) for each in elements)
            case CollectionType(keys=keys, elements=elements, python_class=made):
                pairs = zip(keys, elements, strict=True)
                values = [self.value(each, key, parameter) for key, each in pairs]
                return made(*values) if made else tuple(values)
        raise TypeError(f"No values of type '{type_}' can be drawn.")

    def _extent(self, dim: ff.Dimension, tight: bool) -> tuple[int, int]:
        if dim.kind is ff.DimensionKind.VERTICAL:
            return (0, LEVELS) if tight else (-MARGIN, LEVELS + MARGIN)
        return 0, self.mesh[dim.value]

    def _array(self, dtype: str, name: str, shape: list[int]) -> Any:
        if dtype == "bool":
            return self.arrays.random(shape) < 0.5
        if not dtype.startswith("float"):
            return self.arrays.integers(-1, 3, shape).astype(dtype)
        low, high = self._range(name)
        return self.arrays.uniform(low, high, shape).astype(dtype)

    def _range(self, name: str) -> tuple[float, float]:
        if self.seed % 2 == 0 and name in _PHYSICAL:
            return _PHYSICAL[name]
        return _RANGES[self.seed % 2]

    def _number(self, dtype: str, name: str) -> Any:
        if dtype == "bool":
            return self.random.random() < 0.5
        if dtype.startswith("float"):
            return np.dtype(dtype).type(self.random.uniform(*self._range(name)))
        made = np.dtype(dtype).type
        if name in self.bounds:
            return made(self.bounds[name])
        if self.literals and self.random.random() < 0.5:
            return made(self.random.choice(self.literals))
        return made(self.random.randrange(1, LEVELS))


def small_grid() -> tuple[Any, dict[str, int]]:
    """Return the tables of the model's own small grid, and the size of each dimension."""
    from icon4py.model.common.grid import simple

    tables = simple.simple_grid().connectivities
    widths = {name: table.shape[1] for name, table in tables.items() if len(table.shape) == 2}
    return tables, {"Cell": 18, "Edge": 27, "Vertex": 9, "LsqUnk": 5, **widths}


def draw(entry: Any, mesh: Mapping[str, int], seed: int) -> Arguments:
    """Return arguments for a decorated object; equal seeds give equal ones."""
    found = parsed(entry.__definition__)
    root = found.root
    is_program = isinstance(root, syntax.Program)
    outputs = _outputs(root) if is_program else ()
    drawer = Drawer(
        mesh,
        seed,
        bounds(root, mesh, seed) if is_program else {},
        _literals(found),
        written(root) if is_program else frozenset(),
        any(not output.domain for output in outputs),
        random.Random(seed),
        np.random.default_rng(seed),
    )
    signature = entry.__gt_type__()
    parameters = signature.parameters
    if signature.kind == "scan_operator":
        parameters = [(name, _over_columns(type_, mesh)) for name, type_ in parameters[1:]]
    values = {name: drawer.value(type_, name, name) for name, type_ in parameters}
    if is_program:
        return Arguments(values)
    result = signature.result
    if signature.kind == "scan_operator":
        result = _over_columns(result, mesh)
    tight = attrs.evolve(drawer, written=frozenset({"out"}), whole=True)
    return Arguments(values, tight.value(_as_fields(result), "out", "out"))


def _outputs(root: syntax.Program) -> tuple[syntax.Output, ...]:
    return tuple(output for call in root.body for output in call.outputs)


def written(root: syntax.Program) -> frozenset[str]:
    """Return the parameters that a program writes."""
    return frozenset(output.parameter for output in _outputs(root))


def bounds(root: syntax.Program, mesh: Mapping[str, int], seed: int) -> dict[str, int]:
    """Return a value for each parameter that bounds a domain, by the ends where it stands."""
    inset, column = seed % 2, COLUMNS[seed % 2]
    starts: dict[str, int] = {}
    stops: dict[str, int] = {}
    for output in _outputs(root):
        for each in output.domain:
            vertical = each.dim.kind is ff.DimensionKind.VERTICAL
            start = column.start if vertical else inset
            stop = column.stop if vertical else mesh[each.dim.value] - inset
            for name in _names(root, each.start):
                starts[name] = start
            for name in _names(root, each.stop):
                stops[name] = min(stop, stops.get(name, stop))
    both = {name: (starts[name] + stops[name]) // 2 for name in starts.keys() & stops.keys()}
    return {**starts, **stops, **both}


def _names(root: syntax.Program, reference: int) -> Iterator[str]:
    node = root.nodes[reference]
    if isinstance(node, syntax.Name):
        yield node.id
    elif isinstance(node, syntax.Operation):
        for argument in node.args:
            yield from _names(root, argument)


def _literals(found: Parsed) -> tuple[int, ...]:
    """Return the int32 literals of all operators: choices between kinds are made by them."""
    trees = (found.root, *(tree for _, tree in found.operators))
    texts = {
        node.text
        for tree in trees
        for node in tree.nodes
        if isinstance(node, syntax.Literal) and node.type == ScalarType("int32")
    }
    return tuple(sorted(int(text) for text in texts))


def _as_fields(type_: Type) -> Type:
    """Return a type with fields without dimensions for scalars."""
    match type_:
        case ScalarType():
            return FieldType((), type_)
        case TupleType(elements) | CollectionType(elements=elements):
            return attrs.evolve(type_, elements=tuple(map(_as_fields, elements)))
    return type_


def _over_columns(type_: Type, mesh: Mapping[str, int]) -> Any:
    """Return a type of scalars as fields on the columns of the first horizontal dimension."""
    match type_:
        case ScalarType():
            place = ff.Dimension(next(iter(mesh)))
            return FieldType((place, ff.Dimension("K", ff.DimensionKind.VERTICAL)), type_)
        case TupleType(elements) | CollectionType(elements=elements):
            inner = tuple(_over_columns(each, mesh) for each in elements)
            return attrs.evolve(type_, elements=inner)
    return type_
