"""Typed trees built by hand: what `parse` would make of small operators and programs."""

import attrs

from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.language.types import FieldType, ScalarType, TupleType, Type
from fieldforge.stages.artifacts import Parsed
from fieldforge.stages.ir import syntax

I = Dimension("I")
J = Dimension("J")
K = Dimension("K", DimensionKind.VERTICAL)
BOOL, INT32, FLOAT32, FLOAT64 = map(ScalarType, ("bool", "int32", "float32", "float64"))
LINE = FieldType((I,), FLOAT64)


@attrs.define
class Tree:
    """Rows and statements of one operator, in the order in which they are added."""

    nodes: list[syntax.Expression] = attrs.field(factory=list)

    def add(self, node: syntax.Expression) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def name(self, name: str, type_: Type) -> int:
        return self.add(syntax.Name(id=name, type=type_))

    def literal(self, text: str, type_: Type = FLOAT64) -> int:
        return self.add(syntax.Literal(text=text, type=type_))

    def op(self, op: str, *args: int, type_: Type | None = None) -> int:
        return self.add(syntax.Operation(op=op, args=args, type=type_ or self.nodes[args[0]].type))

    def shift(self, field: int, dim: Dimension, offset: int) -> int:
        type_ = self.nodes[field].type
        return self.add(syntax.ShiftBy(field=field, dim=dim, offset=offset, type=type_))

    def tuple(self, *elements: int) -> int:
        type_ = TupleType(tuple(self.nodes[each].type for each in elements))
        return self.add(syntax.TupleOf(elements=elements, type=type_))

    def element(self, of: int, index: int) -> int:
        type_ = self.nodes[of].type.elements[index]
        return self.add(syntax.Element(of=of, index=index, type=type_))

    def call(self, operator: syntax.Operator, *args: int) -> int:
        return self.add(syntax.CallOf(callee=key(operator), args=args, type=operator.result))

    def operator(
        self, name: str, parameters: dict[str, Type], *body: syntax.Statement
    ) -> syntax.Operator:
        last = body[-1]
        result = self.nodes[last.value].type if isinstance(last, syntax.Return) else LINE
        return syntax.Operator(
            name,
            tuple(syntax.Parameter(*each) for each in parameters.items()),
            tuple(self.nodes),
            body,
            result,
        )


def key(operator: syntax.Operator) -> str:
    return f"{operator.name}:0"


def parsed(root: syntax.Operator | syntax.Program, *operators: syntax.Operator) -> Parsed:
    return Parsed(root, tuple(sorted((key(each), each) for each in operators)))


def program(
    parameters: dict[str, Type], *calls: tuple[syntax.Operator, list[str], list[syntax.Output]]
) -> syntax.Program:
    """Make a program whose arguments are parameters by name."""
    tree = Tree()
    body = []
    for operator, names, outputs in calls:
        args = tuple(tree.name(name, parameters[name]) for name in names)
        body.append(syntax.CallStatement(key(operator), args, tuple(outputs)))
    given = tuple(syntax.Parameter(*each) for each in parameters.items())
    return syntax.Program("run", given, tuple(tree.nodes), tuple(body))


def copied(type_: Type = LINE) -> syntax.Operator:
    tree = Tree()
    return tree.operator("copied", {"u": type_}, syntax.Return(tree.name("u", type_)))


def difference(dim: Dimension = I, offset: int = 1, type_: Type = LINE) -> syntax.Operator:
    """u(dim + offset) - u."""
    tree = Tree()
    u = tree.name("u", type_)
    ahead = tree.shift(u, dim, offset)
    return tree.operator(
        "difference", {"u": type_}, syntax.Return(tree.op("sub", ahead, tree.name("u", type_)))
    )


def chain(length: int, *, stencil: bool = False) -> Parsed:
    """Operators that each call the one before: step_i(u) = step_{i-1}(u) + 1, or a difference."""
    operators = [difference() if stencil else copied()]
    for index in range(length):
        tree = Tree()
        before = tree.call(operators[-1], tree.name("u", LINE))
        if stencil:
            last = tree.op("sub", tree.shift(before, I, 1), before)
        else:
            last = tree.op("add", before, tree.literal("1.0"))
        operators.append(tree.operator(f"step_{index}", {"u": LINE}, syntax.Return(last)))
    return parsed(operators[-1], *operators[:-1])
