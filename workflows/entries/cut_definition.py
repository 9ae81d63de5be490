"""Write a program again whose statements run on boxes that the call gives.

`out=b` becomes `out=b, domain={I: (cut_0_0_I_start, cut_0_0_I_stop), ...}`. A statement may appear
several times, each time on a box of its own, or not at all. Written vertical ranges stay.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator, Sequence
from types import CellType, FunctionType
from typing import Any, TypeAlias

import numpy as np

from ...runtime.embedded.rewriting import compiled
from ...runtime.language import Definition, Dimension, DimensionKind
from ...runtime.process import PYTHON_PARSER, ArgumentError, SourceText, classes

Ends: TypeAlias = tuple[str, str]


@classes.frozen
class Repeated:
    """How often a statement appears; without `dims` it appears once, as it is written.

    Attributes:
        times: how often.
        dims: the dimensions of its output, in the order of the output.
        domain: whether it has a `domain=` already.

    """

    times: int
    dims: tuple[Dimension, ...] = ()
    domain: bool = False


@classes.frozen(eq=False)
class Cutting:
    """How a definition was made from that of another function; a pickle does it again."""

    function: Callable[..., Any]
    wanted: tuple[Repeated, ...]


def parameter_of(statement: int, place: int, dim: Dimension) -> Ends:
    """Return the parameters that bound a statement at one of its places.

    >>> parameter_of(2, 0, Dimension("I"))
    ('cut_2_0_I_start', 'cut_2_0_I_stop')
    """
    name = f"cut_{statement}_{place}_{dim.value}"
    return f"{name}_start", f"{name}_stop"


def cut_definition(definition: Definition, wanted: Sequence[Repeated]) -> Definition:
    """Return the definition of a program whose statements appear as `wanted` says.

    Raises:
        ArgumentError: a parameter has a name that is needed here.

    """
    with PYTHON_PARSER:
        tree = ast.parse(definition.source.text).body[0]
    assert isinstance(tree, ast.FunctionDef)  # the decorator has read it
    first = len(tree.body) - len(wanted)  # after a docstring
    dims = {_name_of(dim): dim for each in wanted for dim in each.dims}
    more = list(_parameters(definition, wanted))
    tree.decorator_list = []
    tree.body = [
        made
        for number, each in enumerate(wanted)
        for made in _statements(tree.body[first + number], number, each)
    ]
    tree.args.args += [ast.arg(name, ast.Name("int64", ast.Load())) for name in more]
    text = ast.unparse(tree) + "\n"
    types: dict[str, Any] = dict.fromkeys(more, np.int64)
    return _with_text(definition, text, types, dims)


def _statements(statement: ast.stmt, number: int, wanted: Repeated) -> Iterator[ast.stmt]:
    if not wanted.dims:
        yield from [statement] * wanted.times
        return
    assert isinstance(statement, ast.Expr)  # the parser admits nothing else
    call = statement.value
    assert isinstance(call, ast.Call)
    given = {each.arg: each.value for each in call.keywords}
    kept = [each for each in call.keywords if each.arg not in ("out", "domain")]
    for place in range(wanted.times):
        domain = _domain(number, place, wanted.dims, given.get("domain"))
        out = ast.keyword("out", _without_slices(given["out"]))
        keywords = [*kept, out, ast.keyword("domain", domain)]
        yield ast.Expr(ast.Call(call.func, call.args, keywords))


def _domain(
    number: int, place: int, dims: Sequence[Dimension], written: ast.expr | None
) -> ast.Dict:
    while isinstance(written, ast.Tuple | ast.List):
        written = written.elts[0]  # all outputs have the same domain
    ranges: list[ast.expr] = []
    for axis, dim in enumerate(dims):
        if dim.kind is not DimensionKind.HORIZONTAL and isinstance(written, ast.Dict):
            ranges.append(written.values[axis])
            continue
        ends: list[ast.expr] = [_name(each) for each in parameter_of(number, place, dim)]
        ranges.append(ast.Tuple(ends, ast.Load()))
    return ast.Dict([_name(_name_of(dim)) for dim in dims], ranges)


def _without_slices(out: ast.expr) -> ast.expr:
    match out:
        case ast.Tuple() | ast.List():
            return ast.Tuple([_without_slices(each) for each in out.elts], ast.Load())
        case ast.Subscript(value, ast.Slice() | ast.Tuple()):
            return value
    return out


def _name(text: str) -> ast.Name:
    return ast.Name(text, ast.Load())


def _name_of(dim: Dimension) -> str:
    return f"cut_{dim.value}"


def bounds_of(number: int, wanted: Repeated) -> Iterator[tuple[int, Dimension, Ends]]:
    """Yield place, dimension and parameters for each range that a statement takes from the call."""
    for place in range(wanted.times):
        for dim in wanted.dims:
            if dim.kind is DimensionKind.HORIZONTAL or not wanted.domain:
                yield place, dim, parameter_of(number, place, dim)


def _parameters(definition: Definition, wanted: Sequence[Repeated]) -> Iterator[str]:
    taken = {name for name, _ in definition.annotations}
    for number, each in enumerate(wanted):
        for _, _, ends in bounds_of(number, each):
            for name in ends:
                if name in taken:
                    raise ArgumentError(
                        f"'{definition.name}' has a parameter '{name}', a name that 'split' needs.",
                        hint="Rename the parameter.",
                    )
                yield name


def _with_text(
    definition: Definition, text: str, types: dict[str, Any], dims: dict[str, Dimension]
) -> Definition:
    """Return a definition with another text, more parameters, and names for dimensions."""
    function = definition.function
    assert isinstance(function, FunctionType)
    file = f"<{function.__module__}.{function.__qualname__} with {len(types)} bounds>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    free = function.__code__.co_freevars
    with PYTHON_PARSER:
        tree = ast.parse(text).body[0]
        assert isinstance(tree, ast.FunctionDef)  # made by `cut_definition`
        code = compiled(tree, (*free, *dims), file)
    cells = dict(zip(free, function.__closure__ or (), strict=True))
    cells |= {name: CellType(dim) for name, dim in dims.items()}
    closure = tuple(cells[each] for each in code.co_freevars)
    made = FunctionType(code, function.__globals__, definition.name, None, closure)
    made.__annotations__ = {**function.__annotations__, **types}
    made.__doc__, made.__module__ = function.__doc__, function.__module__
    made.__qualname__ = function.__qualname__
    return classes.evolve(
        definition,
        source=SourceText(text, file, 1),
        function=made,
        closure=tuple(sorted({**dict(definition.closure), **dims}.items())),
        annotations=_with_types(definition.annotations, types),
    )


def _with_types(
    annotations: tuple[tuple[str, Any], ...], types: dict[str, Any]
) -> tuple[tuple[str, Any], ...]:
    own = [pair for pair in annotations if pair[0] != "return"]
    result = [pair for pair in annotations if pair[0] == "return"]
    return (*own, *types.items(), *result)
