"""From a `Definition` to its typed tree; the one place where everything about a function meets."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from ...runtime.definition import Definition
from ...runtime.errors import DSLError, FieldforgeError
from ...runtime.types import SCALARS
from ..artifacts import Parsed, Spans
from ..ir import codec, dataflow, syntax
from .free_names import reached_operators
from .programs import read_calls
from .scope import Scope
from .signature import read_parameters, read_return
from .source import Source, read
from .statements import read_body
from .unsupported import not_yet

_OTHERS: Final = (
    "int", "float", "tuple", "IndexType", "neighbor_sum", "max_over", "min_over", "where",
    "concat_where", "broadcast", "astype", "as_offset", "minimum", "maximum", "power", "fmod",
)  # fmt: skip
BUILTIN_NAMES: Final = frozenset(
    (*SCALARS, *dataflow.UNARY, *dataflow.MATH, *dataflow.PREDICATES, *_OTHERS)
)


def parse_definition(definition: Definition, callees: Mapping[str, Parsed]) -> tuple[Parsed, Spans]:
    """Read one operator or program; `callees` are the operators that it reaches, by path."""
    try:
        return _parse(definition, callees)
    except FieldforgeError as error:
        error.add_note(f"While processing the definition of '{definition.name}'.")
        raise
    except RecursionError:
        raise _too_deep(definition) from None


def operator_key(operator: syntax.Operator) -> str:
    """Return the name under which callers refer to an operator: its name and its content."""
    digest = hashlib.sha256(codec.encode(operator)).hexdigest()
    return f"{operator.name}:{digest[:16]}"


def _parse(definition: Definition, callees: Mapping[str, Parsed]) -> tuple[Parsed, Spans]:
    source = read(definition)
    scope = _scope(source, definition, callees)
    function = source.function
    _check_header(scope, definition)
    scope.annotated = read_return(scope, definition)
    parameters = read_parameters(scope, definition)
    root: syntax.Operator | syntax.Program
    if definition.kind == "program":
        calls = read_calls(scope, function.body)
        root = syntax.Program(definition.name, parameters, tuple(scope.nodes), calls)
    else:
        body = read_body(scope, function.body)
        assert scope.result is not None  # `read_body` refuses a body without result
        nodes = tuple(scope.nodes)
        root = syntax.Operator(definition.name, parameters, nodes, body, scope.result)
    operators = tuple(sorted(scope.reached.items()))
    return Parsed(root, operators), Spans(source.span(function), tuple(scope.spans))


def _scope(source: Source, definition: Definition, callees: Mapping[str, Parsed]) -> Scope:
    operators: dict[int, tuple[str, Parsed]] = {}
    for path, reached in reached_operators(definition).items():
        parsed = callees.get(path)
        if parsed is not None and isinstance(parsed.root, syntax.Operator):
            operators[id(reached)] = operator_key(parsed.root), parsed
    code = definition.function.__code__  # knows which names Python takes for local
    return Scope(
        source=source,
        closure=dict(definition.closure),
        operators=operators,
        assigned=frozenset((*code.co_varnames, *code.co_cellvars)),
        variables={},
    )


def _check_header(scope: Scope, definition: Definition) -> None:
    source = scope.source
    if definition.kind == "scan_operator":
        raise not_yet(source.name, "Scan operators are")
    if source.function.name in BUILTIN_NAMES:
        raise DSLError(
            source.name,
            f"Name '{source.function.name}' is a reserved GT4Py builtin.",
            hints=["Give the function another name."],
        )


def _too_deep(definition: Definition) -> DSLError:
    text = definition.source
    span = text.span(1, 0, 1, max(len(text.text.partition("\n")[0]), 1))
    error = DSLError(span, f"Definition '{definition.name}' is nested too deeply to be read.")
    error.add_note(f"While processing the definition of '{definition.name}'.")
    return error
