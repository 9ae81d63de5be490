"""The text form of workflows, which `Workflow.parse` reads: `parse -> lower(fold=True) -> codegen`.

A graph that is not a chain has one line per node: its name, its stage, and the sources of
its inputs, as in `cpu.codegen = codegen() <- lowered: lower.lowered`. An unlisted input is an
input of the workflow.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ...runtime.process import FieldforgeError, OptionError, WorkflowError, classes
from ...stages.base import Stage
from .edges import Edge, Nodes, chain_edges
from .function_stage import as_stage
from .options import name_of_option, options_of

OPENING, CLOSING = "([{", ")]}"


def show(nodes: Nodes, edges: Sequence[Edge], whole: bool = False) -> str:
    """Return one line for a chain, else one line per node; `whole` includes default options."""
    is_named = all(name == stage.name for name, stage in nodes)
    if is_named and chain_edges(nodes) == tuple(edges):
        return " -> ".join(show_stage(stage, whole) for _, stage in nodes)
    rows = []
    for name, stage in nodes:
        feeds = [f"{e.need}: {e.source}.{e.port}" for e in edges if e.target == name]
        row = f"{name} = {show_stage(stage, whole)}"
        rows.append(f"{row} <- {', '.join(feeds)}" if feeds else row)
    return "\n".join(rows)


def show_stage(stage: Stage, whole: bool = False) -> str:
    """Return the text of a stage with its non-default options, or with all."""
    if is_pass(stage):
        return stage.name
    return f"{stage.name}({_arguments(stage, whole)})".removesuffix("()")


def is_pass(stage: Stage) -> bool:
    """Tell whether a stage is a pass: it runs the function in its option."""
    function = getattr(stage, "function", None)
    return "function" in options_of(stage) and stage.name == getattr(function, "__name__", None)


def _arguments(value: Any, whole: bool = False) -> str:
    shown = []
    for field in classes.fields(type(value)):
        option = getattr(value, field.name)
        # options outside the comparison are paths of this machine, not choices
        if field.init and field.eq and (whole or not field.is_default(option)):
            shown.append(f"{field.alias}={show_value(option)}")
    return ", ".join(shown)


def show_value(value: Any) -> str:
    """Return an option as text: literals as Python writes them, attrs values as calls."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}({value.value!r})"
    if classes.has(type(value)):
        return f"{type(value).__name__}({_arguments(value)})"
    if isinstance(value, tuple):
        inner = ", ".join(map(show_value, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if callable(value):
        return str(getattr(value, "__name__", value))
    return repr(value)


def parse(text: str, registry: Mapping[str, Any]) -> tuple[Nodes, tuple[Edge, ...]]:
    """Parse the text of `show`; `registry` maps names to stages, option classes and functions."""
    rows = [row for row in _split(text, "\n") if row]
    if len(rows) == 1 and len(_split(rows[0], "=")) == 1:
        stages = [parse_value(part, registry) for part in _split(rows[0], "->")]
        nodes = tuple((stage.name, stage) for stage in map(_stage, stages))
        return nodes, chain_edges(nodes)
    made: list[tuple[str, Stage]] = []
    edges: list[Edge] = []
    for row in rows:
        head, *feeds = _split(row, "<-")
        name, *call = _split(head, "=")
        if len(call) != 1:
            raise WorkflowError(f"Expected 'name = stage(...)' in a workflow, got '{row}'.")
        made.append((name, _stage(parse_value(call[0], registry))))
        for feed in _split(feeds[0], ",") if feeds else ():
            need, _, port = feed.partition(": ")
            source, _, port = port.rpartition(".")
            edges.append(Edge(source, port, name, need))
    return tuple(made), tuple(edges)


def _split(text: str, mark: str) -> list[str]:
    """Split at a separator outside brackets and quotes."""
    parts, start, depth, quote, at = [], 0, 0, "", 0
    while at < len(text):
        letter = text[at]
        if quote:
            at += letter == "\\"
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in OPENING + CLOSING:
            depth += 1 if letter in OPENING else -1
        elif depth == 0 and text.startswith(mark, at):
            parts.append(text[start:at].strip())
            at += len(mark) - 1
            start = at + 1
        at += 1
    return [*parts, text[start:].strip()]


def _stage(value: Any) -> Stage:
    return as_stage(value() if isinstance(value, type) and issubclass(value, Stage) else value)


def parse_value(text: str, registry: Mapping[str, Any]) -> Any:
    """Read what `show_value` wrote: a literal, a tuple, or a call of a class of the registry."""
    try:
        tree = ast.parse(text, mode="eval").body
        return _evaluate(tree, registry)
    except (SyntaxError, RecursionError, MemoryError) as error:  # the latter: too many brackets
        raise _unexpected(text) from error


def _evaluate(tree: ast.expr, registry: Mapping[str, Any]) -> Any:
    match tree:
        case ast.Name(id=name):
            return _known(name, registry)
        case ast.Call(func=ast.Name(id=name), args=[], keywords=keywords):
            named = {str(word.arg): _evaluate(word.value, registry) for word in keywords}
            return _made(_known(name, registry), named, ast.unparse(tree))
        case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=value)], keywords=[]):
            kind = _known(name, registry)
            if not (isinstance(kind, type) and issubclass(kind, enum.Enum)):
                raise _unexpected(ast.unparse(tree))
            return kind(value)
        case ast.Tuple(elts=elements):
            return tuple(_evaluate(element, registry) for element in elements)
        case _:
            try:
                return ast.literal_eval(tree)
            except (ValueError, TypeError):
                raise WorkflowError(
                    f"Expected a literal as an option in a workflow, got '{ast.unparse(tree)}'."
                ) from None


def _made(known: Any, named: Mapping[str, Any], text: str) -> Any:
    """Return a stage or option with these options; nothing else that a registry has is called."""
    kind: Any = known if isinstance(known, type) else type(known)
    if not (classes.has(kind) and (kind is known or isinstance(known, Stage))):
        raise _unexpected(text)
    # text names the options that `show` writes: those outside the comparison are paths and tools
    options = [field.alias for field in classes.fields(kind) if field.init and field.eq]
    named = {name_of_option(kind, name): value for name, value in named.items()}
    for name in named:
        if name not in options:
            raise OptionError(f"There is no option '{name}'.", name=name, known=options)
    try:
        make: Any = kind if kind is known else partial(classes.evolve, known)
        return make(**named)
    except FieldforgeError:
        raise
    except (ValueError, TypeError, AttributeError) as error:  # of converters and validators
        raise WorkflowError(f"'{text}' is refused: {error}") from error


def _unexpected(text: str) -> WorkflowError:
    return WorkflowError(f"Expected 'stage(option=value)' in a workflow, got '{text[:200]}'.")


def _known(name: str, registry: Mapping[str, Any]) -> Any:
    if name not in registry:
        known = ", ".join(f"'{own}'" for own in sorted(registry))
        raise WorkflowError(f"No stage '{name}' is registered, expected one of {known}.")
    return registry[name]
