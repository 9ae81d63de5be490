"""Build dataflow from the typed tree: inline operators, and add the stores of statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from ...runtime.language import Dimension, FieldType, ScalarType, Type, leaves, union_of
from ...runtime.process import DomainError, DSLError, OptionError, classes
from ..artifacts import Parsed, Variant
from ..ir import syntax
from ..ir.dataflow import Bound, Const, Dataflow, Leaf, Range, Ranges, Statement, Store
from .domains import Alike, alike_in, bound_of, box_of, domain_given, domain_scalar, whole
from .expressions import Leaves
from .graph import Graph
from .inline import Frame, Inliner, Levels
from .tables import Tables

OUT: Final = "out"

Callees: TypeAlias = Sequence[tuple[str, syntax.Callee]]


def build(parsed: Parsed, variant: Variant) -> Dataflow:
    """Return the dataflow of a program, or of an operator as a program of one statement."""
    if isinstance(parsed.root, syntax.Program):
        return _from_program(parsed.root, parsed.operators, variant)
    return _from_operator(parsed.root, parsed.operators, variant)


@classes.define
class _Builder:
    """The state of the build: the graph, and how many statements have written each leaf."""

    leaves: dict[str, Leaf]
    static: Mapping[str, str]
    inliner: Inliner
    graph: Graph
    tables: Tables
    alike: Alike
    written: Counter[str] = classes.field(factory=Counter)
    statements: list[Statement] = classes.field(factory=list)

    def arguments(self, parameters: Iterable[syntax.Parameter]) -> dict[str, Leaves]:
        """Return the rows of the parameters after the statements so far."""
        return {
            parameter.name: tuple(
                self._read(self.leaves[leaf_name(parameter.name, path)])
                for path, _ in leaves(parameter.type)
            )
            for parameter in parameters
        }

    def call(
        self, callee: syntax.Callee, args: Sequence[Leaves], targets: Sequence[tuple[Leaf, Ranges]]
    ) -> None:
        """Add a statement that writes the result of an operator.

        A scan walks the levels of its output. Outputs on other levels get scans of their own, and
        share the rows that do not depend on a scan.
        """
        for leaf, _ in targets:
            _check_target(leaf)
        axes = self.inliner.axes(callee)
        columns = [_levels(box, axes) for _, box in targets]
        walked = next((levels for levels in columns if levels), ())
        results = {
            levels: self.inliner.call(callee, args, levels or walked)
            for levels in dict.fromkeys(columns)
        }
        values = tuple(results[levels][index] for index, levels in enumerate(columns))
        self.store(targets, values)

    def store(self, targets: Iterable[tuple[Leaf, Ranges]], values: Leaves) -> None:
        """Add a statement that writes `values`; of equal targets the last one is written."""
        pairs = zip(targets, values, strict=True)
        last = {(leaf.name, box): value for (leaf, box), value in pairs}
        stores = tuple(Store(name, box, value) for (name, box), value in last.items())
        self.statements.append(Statement(stores))
        self.written.update({store.target for store in stores})

    def _read(self, leaf: Leaf) -> int:
        if leaf.kind == "field":
            return self.graph.input(leaf.name, leaf.dims, leaf.dtype, self.written[leaf.name])
        if leaf.name in self.static:
            return self.graph.literal(leaf.dtype, self.static[leaf.name])
        return self.graph.scalar(leaf.name, leaf.dtype)

    def finish(self, name: str, parameters: Iterable[str]) -> Dataflow:
        """Return the program."""
        return Dataflow(
            name=name,
            parameters=tuple(parameters),
            leaves=tuple(self.leaves.values()),
            values=tuple(self.graph.values),
            statements=tuple(self.statements),
            tables=tuple(table for _, table in sorted(self.tables.used.items())),
        )


def leaf_name(parameter: str, path: tuple[int, ...]) -> str:
    """Return the name of one leaf of a parameter.

    >>> leaf_name("pair", (0, 1))
    'pair.0.1'
    """
    return ".".join([parameter, *map(str, path)])


def _check_target(leaf: Leaf) -> None:
    if leaf.kind != "field":
        raise DomainError(
            f"Only fields can be written, and '{leaf.name}' is a scalar.",
            hint=f"Annotate '{leaf.name}' as a field without dimensions: 'Field[[], ...]'.",
        )


def _levels(box: Ranges, axes: frozenset[Dimension]) -> Levels:
    return tuple((each.dim, each.start, each.stop) for each in box if each.dim in axes)


def _from_operator(operator: syntax.Callee, operators: Callees, variant: Variant) -> Dataflow:
    parameters = operator.parameters[isinstance(operator, syntax.Scan) :]
    given = [(parameter.name, parameter.type) for parameter in parameters]
    if any(name == OUT for name, _ in given):
        raise DSLError(
            None,
            f"Operator '{operator.name}' has a parameter '{OUT}', "
            "so it cannot be called with 'out='.",
            hints=("Rename the parameter, or call the operator from another one.",),
        )
    outputs = list(_leaves_of(len(given), OUT, _as_fields(operator)))
    scalars = [
        domain_scalar(leaf, dim, end)
        for leaf in outputs
        for dim in leaf.dims
        for end in ("start", "stop")
    ] * variant.domain
    builder = _start(
        [
            *_all_leaves(given),
            *outputs,
            *_all_leaves([(name, ScalarType("int64")) for name in scalars], len(given) + 1),
        ],
        [*operators, ("", operator)],
        variant,
    )
    outputs = [builder.leaves[leaf.name] for leaf in outputs]
    box = domain_given if variant.domain else whole
    boxes = [box(leaf, builder.alike) for leaf in outputs]
    args = list(builder.arguments(parameters).values())
    builder.call(operator, args, list(zip(outputs, boxes, strict=True)))
    return builder.finish(operator.name, [*(name for name, _ in given), OUT, *scalars])


def _from_program(program: syntax.Program, operators: Callees, variant: Variant) -> Dataflow:
    given = [(parameter.name, parameter.type) for parameter in program.parameters]
    builder = _start(_all_leaves(given), operators, variant)
    callees, parameters = dict(operators), {each.name: each for each in program.parameters}
    arguments = builder.arguments(program.parameters)
    for call in program.body:
        frame = Frame(program.nodes, arguments)
        args = [builder.inliner.expression(frame, arg) for arg in call.args]

        def bound(root: syntax.Ref, frame: Frame = frame) -> Bound:
            return bound_of(builder.graph, builder.inliner.expression(frame, root)[0])

        targets = [builder.leaves[leaf_name(out.parameter, out.path)] for out in call.outputs]
        boxes = [
            box_of(leaf, out, bound, builder.alike)
            for leaf, out in zip(targets, call.outputs, strict=True)
        ]
        builder.call(callees[call.callee], args, list(zip(targets, boxes, strict=True)))
        written = dict.fromkeys(out.parameter for out in call.outputs)
        arguments.update(builder.arguments(parameters[name] for name in written))
    return builder.finish(program.name, [name for name, _ in given])


def _start(found: Iterable[Leaf], operators: Callees, variant: Variant) -> _Builder:
    by_name = {leaf.name: with_ranges(leaf, variant) for leaf in found}
    scalars = [leaf.name for leaf in by_name.values() if leaf.kind == "scalar"]
    for name, _ in variant.static:
        if name not in scalars:
            raise OptionError(
                f"Static argument '{name}' is not a scalar parameter.", name=name, known=scalars
            )
    graph = Graph()
    tables = Tables.of(variant.tables, (callee.nodes for _, callee in operators))
    inliner = Inliner(graph, dict(operators), tables)
    alike = alike_in(variant, by_name)
    return _Builder(by_name, dict(variant.static), inliner, graph, tables, alike)


def with_ranges(leaf: Leaf, variant: Variant) -> Leaf:
    """Return a leaf with its ranges, if the variant compiles all of them in."""
    known = {
        dim: (Const(start), Const(stop))
        for name, dim, start, stop in variant.ranges
        if name == leaf.name
    }
    ends = [(dim, known.get(dim.value)) for dim in leaf.dims]
    ranges = tuple(Range(dim, *each) for dim, each in ends if each is not None)
    return classes.evolve(leaf, ranges=ranges) if len(ranges) == len(ends) else leaf


def _all_leaves(parameters: Iterable[tuple[str, Type]], first: int = 0) -> Iterator[Leaf]:
    for index, (name, type_) in enumerate(parameters, first):
        yield from _leaves_of(index, name, leaves(type_))


def _leaves_of(
    index: int, name: str, found: Iterable[tuple[tuple[int, ...], Type]]
) -> Iterator[Leaf]:
    for path, leaf in found:
        full = leaf_name(name, path)
        if isinstance(leaf, FieldType):
            yield Leaf(full, (index, *path), "field", leaf.dtype.name, leaf.dims)
        elif isinstance(leaf, ScalarType):
            yield Leaf(full, (index, *path), "scalar", leaf.name)
        else:
            raise DSLError(None, f"A value of type '{leaf}' cannot be an argument of a program.")


def _as_fields(operator: syntax.Callee) -> Iterator[tuple[tuple[int, ...], Type]]:
    """Yield the leaves of a result; a scalar becomes a field without dimensions.

    The result of a scan has its axis and the dimensions of all its arguments.
    """
    dims: tuple[Dimension, ...] = ()
    if isinstance(operator, syntax.Scan):
        given = (leaf for each in operator.parameters for _, leaf in leaves(each.type))
        fields = (leaf.dims for leaf in given if isinstance(leaf, FieldType))
        dims = union_of([(operator.axis,), *fields])
    for path, leaf in leaves(operator.result):
        yield path, FieldType(dims, leaf) if isinstance(leaf, ScalarType) else leaf
