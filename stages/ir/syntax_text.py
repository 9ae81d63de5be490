"""Print the typed tree: one node a line, then the statements, then the callees.

operator twice(u: Field[[I], float64]) -> Field[[I], float64]
  %0  u : Field[[I], float64]
  %1  literal 2.0 : float64
  %2  mul %0 %1 : Field[[I], float64]
  return %2

The line below the head of a scan gives axis, direction and initial state: `along K forward from
0.0`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from . import syntax

# `{0}` is the node; `{1}` its rows, or where a shift leads.
FORMS: Final[Mapping[type[syntax.Expression], str]] = {
    syntax.Name: "{0.id}",
    syntax.Literal: "literal {0.text}",
    syntax.Operation: "{0.op} {1}",
    syntax.Select: "select %{0.condition} %{0.then} %{0.otherwise}",
    syntax.TupleOf: "tuple {1}",
    syntax.Element: "element %{0.of}[{0.index}]",
    syntax.Broadcast: "broadcast %{0.arg}",
    syntax.Cast: "cast %{0.arg}",
    syntax.CallOf: "call {0.callee} {1}",
    syntax.ShiftBy: "shift %{0.field} {0.dim.value}{0.offset:+d}{1}",
    syntax.Displace: "displace %{0.field} {0.dim.value} %{0.by}",
    syntax.Neighbour: "neighbour %{0.field} {0.offset.name}[{0.index}]",
    syntax.Neighbours: "neighbours %{0.field} {0.offset.name}",
    syntax.Reduction: "reduce {0.op} %{0.field} {0.dim.value}",
    syntax.LocalElement: "slot %{0.field} {0.dim.value}[{0.index}]",
    syntax.Inside: "inside {0.dim.value} {0.op} %{0.bound}",
    syntax.Regions: "{0.op} of regions %{0.left} %{0.right}",
    syntax.ConcatWhere: "concat %{0.region} %{0.then} %{0.otherwise}",
}


def show(root: syntax.Root, operators: Mapping[str, syntax.Callee]) -> str:
    """Print an operator, scan or program, then its callees under their keys."""
    parts = [_definition(root, root.name)]
    parts += [_definition(operator, key) for key, operator in sorted(operators.items())]
    return "\n\n".join(parts)


def _definition(part: syntax.Root, title: str) -> str:
    parameters = ", ".join(f"{each.name}: {each.type}" for each in part.parameters)
    rows = [f"  %{row}  {_node(node)} : {node.type}" for row, node in enumerate(part.nodes)]
    if isinstance(part, syntax.Program):
        calls = (f"  {_call(statement)}" for statement in part.body)
        return "\n".join([f"program {title}({parameters})", *rows, *calls])
    kind, walk = "operator", []
    if isinstance(part, syntax.Scan):
        way = "forward" if part.forward else "backward"
        walk = [f"  along {part.axis.value} {way} from {', '.join(part.init)}".rstrip()]
        kind = "scan"
    head = f"{kind} {title}({parameters}) -> {part.result}"
    return "\n".join([head, *walk, *rows, *_statements(part.body)])


def _node(node: syntax.Expression) -> str:
    match node:
        case syntax.Operation() | syntax.CallOf():
            rows = _rows(node.args)
        case syntax.TupleOf():
            rows = _rows(node.elements)
        case syntax.ShiftBy():
            rows = "" if node.onto is None else f" onto {node.onto.value}"
        case _:
            rows = ""
    if type(node) not in FORMS:
        raise TypeError(f"'{type(node).__name__}' is not a node of the syntax tree.")
    return FORMS[type(node)].format(node, rows).rstrip()


def _rows(references: tuple[int, ...]) -> str:
    return " ".join(f"%{reference}" for reference in references)


def _statements(body: tuple[syntax.Statement, ...]) -> Iterator[str]:
    """Yield the lines of a body; use a worklist, because a chain of `elif` nests deeply."""
    stack: list[tuple[syntax.Statement | str, int]] = [(each, 1) for each in reversed(body)]
    while stack:
        statement, depth = stack.pop()
        margin = "  " * depth
        match statement:
            case str():
                yield margin + statement
            case syntax.Assign():
                yield f"{margin}{statement.target} = %{statement.value}"
            case syntax.Unpack():
                yield f"{margin}{_targets(statement)} = %{statement.value}"
            case syntax.Return():
                yield f"{margin}return %{statement.value}"
            case syntax.If():
                yield f"{margin}if %{statement.condition}:"
                stack += [(each, depth + 1) for each in reversed(statement.otherwise)]
                if statement.otherwise:
                    stack.append(("else:", depth))
                stack += [(each, depth + 1) for each in reversed(statement.then)]


def _targets(statement: syntax.Unpack) -> str:
    names = [
        f"*{name}" if index == statement.starred else name
        for index, name in enumerate(statement.targets)
    ]
    return ", ".join(names) if len(names) > 1 else f"{names[0]},"


def _call(statement: syntax.CallStatement) -> str:
    arguments = ", ".join(f"%{reference}" for reference in statement.args)
    return f"{statement.callee}({arguments}) -> {', '.join(map(_output, statement.outputs))}"


def _output(output: syntax.Output) -> str:
    name = ".".join([output.parameter, *map(str, output.path)])
    if output.slices:
        return f"{name}[{', '.join(_slice(axis) for axis in output.slices)}]"
    if output.domain:
        ranges = (f"{axis.dim.value}: %{axis.start} .. %{axis.stop}" for axis in output.domain)
        return f"{name} on {{{', '.join(ranges)}}}"
    return name


def _slice(axis: syntax.OutputSlice) -> str:
    start = "" if axis.start is None else str(axis.start)
    stop = "" if axis.stop is None else str(axis.stop)
    return f"{start}:{stop}"
