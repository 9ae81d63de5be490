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

from . import syntax


def show(root: syntax.Root, operators: Mapping[str, syntax.Callee]) -> str:
    """Print an operator, scan or program, then its callees under their keys."""
    parts = [_definition(root, root.name)]
    parts += [_definition(operator, key) for key, operator in sorted(operators.items())]
    return "\n\n".join(parts)


def _definition(part: syntax.Root, title: str) -> str:
    parameters = ", ".join(f"{each.name}: {each.type}" for each in part.parameters)
    rows = [f"  %{row}  {_node(node)} : {node.type}" for row, node in enumerate(part.nodes)]
    if isinstance(part, syntax.Operator):
        head = f"operator {title}({parameters}) -> {part.result}"
        return "\n".join([head, *rows, *_statements(part.body)])
    if isinstance(part, syntax.Scan):
        way = "forward" if part.forward else "backward"
        head = f"scan {title}({parameters}) -> {part.result}"
        walk = f"  along {part.axis.value} {way} from {', '.join(part.init)}".rstrip()
        return "\n".join([head, walk, *rows, *_statements(part.body)])
    head = f"program {title}({parameters})"
    return "\n".join([head, *rows, *(f"  {_call(statement)}" for statement in part.body)])


def _node(node: syntax.Expression) -> str:
    match node:
        case syntax.Name():
            return node.id
        case syntax.Literal():
            return f"literal {node.text}"
        case syntax.Operation():
            return f"{node.op} {_rows(node.args)}"
        case syntax.Select():
            return f"select %{node.condition} %{node.then} %{node.otherwise}"
        case syntax.TupleOf():
            return f"tuple {_rows(node.elements)}".rstrip()
        case syntax.Element():
            return f"element %{node.of}[{node.index}]"
        case syntax.Broadcast():
            return f"broadcast %{node.arg}"
        case syntax.Cast():
            return f"cast %{node.arg}"
        case syntax.CallOf():
            return f"call {node.callee} {_rows(node.args)}".rstrip()
    return _access(node)


def _access(node: syntax.Expression) -> str:
    """Print a node that accesses other points, or a region."""
    match node:
        case syntax.ShiftBy():
            onto = "" if node.onto is None else f" onto {node.onto.value}"
            return f"shift %{node.field} {node.dim.value}{node.offset:+d}{onto}"
        case syntax.Displace():
            return f"displace %{node.field} {node.dim.value} %{node.by}"
        case syntax.Neighbour():
            return f"neighbour %{node.field} {node.offset.name}[{node.index}]"
        case syntax.Neighbours():
            return f"neighbours %{node.field} {node.offset.name}"
        case syntax.Reduction():
            return f"reduce {node.op} %{node.field} {node.dim.value}"
        case syntax.LocalElement():
            return f"slot %{node.field} {node.dim.value}[{node.index}]"
        case syntax.Inside():
            return f"inside {node.dim.value} {node.op} %{node.bound}"
        case syntax.Regions():
            return f"{node.op} of regions %{node.left} %{node.right}"
        case syntax.ConcatWhere():
            return f"concat %{node.region} %{node.then} %{node.otherwise}"
    raise TypeError(f"'{type(node).__name__}' is not a node of the syntax tree.")


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
    outputs = ", ".join(_output(output) for output in statement.outputs)
    return f"{statement.callee}({arguments}) -> {outputs}"


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
