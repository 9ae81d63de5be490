"""`explain`: what an adjoint does with each value of its program, and where that has kinks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ...runtime.language import Definition
from ...runtime.process import DerivativeError, Span
from ...stages.ir import syntax
from ...stages.parse.definition import Tree
from ...stages.parse.trees import tree_of

# What a derivative is where it has none.
KINKS: Final[Mapping[str, str]] = {
    "select": "that of the side taken",
    "minimum": "that of the smaller operand, on ties the second",
    "maximum": "that of the larger operand, on ties the second",
    "min": "that of the smallest slot, on ties the last",
    "max": "that of the largest slot, on ties the last",
    "abs": "0 at 0",
    "sqrt": "0 at 0",
    "cbrt": "0 at 0",
    "log": "0 at 0",
    "div": "0 where the divisor is 0",
    "pow": "0 at a base of 0, if the exponent is below 1",
    "arcsin": "0 at the ends",
    "arccos": "0 at the ends",
    "arccosh": "0 at 1",
    "arctanh": "0 at the ends",
    **dict.fromkeys(("floor", "ceil", "trunc", "floordiv"), "0, also at jumps"),
    **dict.fromkeys(("mod", "fmod"), "without the jumps"),
}
WORDS: Final = {"select": "where", "min": "min_over", "max": "max_over", "div": "/", "pow": "**"}


def explain(program: Any, *args: Any, offset_provider: Any = None, **kwargs: Any) -> str:
    r"""Explain an adjoint: its values, the fields that must move, the lines that have kinks.

    Each value of the program, as the stage `lower` left it, is active if it varies with the inputs,
    and is computed again if the adjoint of some value needs it, or kept in a field. A kink is where
    the derivative is a convention.

    Args:
        program: an adjoint.
        args: arguments of a call, if their types do not say all; as for `trace`.
        offset_provider: neighbour tables, if the program reads any.
        kwargs: as `args`.

    Raises:
        DerivativeError: for what is no adjoint.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator
    ... def limited(u: Line) -> Line:
    ...     return ff.maximum(u, 0.0) * u
    >>> @ff.program(backend=None)
    ... def step(u: Line, out: Line):
    ...     limited(u, out=out)
    >>> print(ff.explain(ff.adjoint(step)).partition("\n\n")[0])
    %0    input u                              active; read, for the adjoint of %2, %3
    %1    literal 0.0                          not active
    %2    maximum %0 %1                        active; computed again, for the adjoint of %3
    %3    mul %2 %0                            active
    """
    made = getattr(getattr(program, "_made", None), "derived", None)
    stage = made.under[-1] if made else ""
    if not stage.startswith("adjoint"):
        raise DerivativeError(f"Adjoints are explained, got {program!r}.")
    trace = program.trace(*args, until=stage, offset_provider=offset_provider, **kwargs)
    values: str = trace[stage].after["values"]
    definition: Definition = program._current()
    kinks = tuple(_kinks(tree_of(definition.origin or definition)))
    return "\n".join((values.rstrip(), *(("", *kinks) if kinks else ())))


def _kinks(root: Tree) -> Iterator[str]:
    """Yield the lines with kinks, each with what the derivative is there."""
    found = {
        (span.file, span.line, span.column): f"line {span.line} of {Path(span.file).name}, "
        f"'{WORDS.get(op, op)}': the derivative is {KINKS[op]}."
        for tree in _trees(root)
        for op, span in _bent(tree)
    }
    yield from dict.fromkeys(found[place] for place in sorted(found))


def _trees(root: Tree) -> Iterator[Tree]:
    waiting, seen = [root], set()
    while waiting:
        tree = waiting.pop()
        if tree.key not in seen:
            seen.add(tree.key)
            yield tree
            waiting += tree.callees


def _bent(tree: Tree) -> Iterator[tuple[str, Span]]:
    """Yield the operations on floats that have kinks, with where they stand."""
    nodes = () if isinstance(tree.root, syntax.Program) else tree.root.nodes
    for node, span in zip(nodes, tree.spans.nodes, strict=False):
        match node:
            case syntax.Select():
                yield "select", span
            case syntax.Reduction(op=op) if op in KINKS:
                yield op, span
            case syntax.Operation(op=op) if op in KINKS:
                divisor = nodes[node.args[-1]]
                if op != "div" or not isinstance(divisor, syntax.Literal):
                    yield op, span
