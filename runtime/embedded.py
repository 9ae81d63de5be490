"""Embedded execution: run operators and programs in CPython on fields. This is their meaning.

Each operation lives on the intersection of its operands' domains, a shift only
relabels, `broadcast` reaches to infinity. An operator is evaluated whole, then
its result is written to the output domain, which it must cover.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from types import FunctionType
from typing import Any, Final

import attrs
import numpy as np

from . import builtins as language
from .annotations import type_from_annotation
from .arguments import bind
from .definition import Definition
from .errors import EmbeddedExecutionError
from .field import Field, UnboundedField, combined
from .operations import literal
from .output import write
from .rewriting import rewritten
from .types import Type


@attrs.frozen
class Context:
    """What the running operators can see besides their arguments."""

    offset_provider: Mapping[str, Any]


_CONTEXT: Final[ContextVar[Context | None]] = ContextVar("fieldforge_embedded", default=None)


def active() -> bool:
    """Say whether the caller runs inside an embedded operator or program."""
    return _CONTEXT.get() is not None


def call_operator(
    definition: Definition, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None
) -> Any:
    """Return the value of an operator that is called inside another one."""
    return _evaluated(definition, args, kwargs or {})[0]


def run_operator(
    definition: Definition,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    out: Any,
    domain: Any = None,
    offset_provider: Mapping[str, Any] | None = None,
) -> None:
    """Evaluate an operator and then write its result to `out`, whole or on `domain`.

    `domain` is anything that `domain()` takes, or a tuple of such that matches `out`.
    """
    with _context(offset_provider):
        result, arguments = _evaluated(definition, args, kwargs or {})
    write(definition.name, result, out, domain, arguments)


def run_program(
    definition: Definition,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    offset_provider: Mapping[str, Any] | None = None,
) -> None:
    """Run the operator calls of a program one after the other."""
    warnings.warn(
        f"Program '{definition.name}' runs embedded, in Python; select a backend to run it fast.",
        UserWarning,
        stacklevel=3,
    )
    with _context(offset_provider):
        _evaluated(definition, args, kwargs or {})


@contextmanager
def _context(offset_provider: Mapping[str, Any] | None) -> Iterator[None]:
    around = _CONTEXT.get()
    inherited = around.offset_provider if around else {}
    token = _CONTEXT.set(Context(offset_provider or inherited))
    try:
        yield
    finally:
        _CONTEXT.reset(token)


@attrs.frozen(eq=False)
class _Embedded:
    """A function ready to run: its rewritten copy and the types of its parameters."""

    function: FunctionType
    parameters: tuple[tuple[str, Type], ...]
    defaults: Mapping[str, Any]


def _evaluated(
    definition: Definition, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Return the result of the body, and the arguments that it was given by name."""
    embedded = _embedded(definition)
    values = bind(definition.name, embedded.parameters, args, kwargs, embedded.defaults)
    names = [name for name, _ in embedded.parameters]
    return embedded.function(*values), dict(zip(names, values, strict=True))


def _embedded(definition: Definition) -> _Embedded:
    """Make the copy once for each function; it is kept on the function and dies with it."""
    if definition.kind == "scan_operator":
        raise EmbeddedExecutionError(
            f"Scan operator '{definition.name}' can not run: scans are not supported yet."
        )
    function = definition.function
    kept = function.__dict__.get(_KEY)
    # 'functools.wraps' copies the dictionary, so the copy says whose it is
    if kept is not None and kept[0] is function:
        return kept[1]  # type: ignore[no-any-return]  # what was put there below
    assert isinstance(function, FunctionType)
    known = {**function.__globals__, **dict(definition.closure)}
    types = {
        name: type_from_annotation(annotation, known)
        for name, annotation in definition.annotations
        if name != "return"
    }
    names = list(types)
    defaults = function.__defaults__ or ()
    made = _Embedded(
        rewritten(function, definition.source, apply, callee),
        tuple(types.items()),
        dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)),
    )
    function.__dict__[_KEY] = (function, made)
    return made


_KEY: Final = "__fieldforge_embedded__"


# --- what the rewritten body calls --------------------------------------------------------------


def apply(op: str, *operands: Any) -> Any:
    """Compute `a + b` and the like, as the language means it where fields and numbers meet."""
    values = [literal(operand) for operand in operands]
    if not all(isinstance(value, Field | UnboundedField | np.generic) for value in values):
        return _PYTHON[op](*operands)
    match op:
        case "pos":
            return values[0]
        case "invert":
            return combined("not", *values)
        case "not" if not isinstance(values[0], np.generic):
            return not values[0]  # a field says why that can not be
    return combined(op, *values)


def callee(function: Any) -> Any:
    """Return what calling `function` means: an operator is embedded, `int` makes an int64."""
    definition = getattr(function, "__definition__", None)
    if isinstance(definition, Definition):
        return partial(_call, definition)
    for known, meant in _MEANT:
        if function is known:
            return meant
    return function


def _call(
    definition: Definition,
    *args: Any,
    out: Any = None,
    domain: Any = None,
    offset_provider: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> Any:
    if out is None:
        return call_operator(definition, args, kwargs)
    return run_operator(
        definition, args, kwargs, out=out, domain=domain, offset_provider=offset_provider
    )


_MEANT: Final[tuple[tuple[Any, Any], ...]] = (
    (int, np.int64),
    (float, np.float64),
    (bool, np.bool_),
    (abs, language.abs),
)

# dimensions and domains are operands too: 'I + 1', 'K < 3'
_PYTHON: Final[dict[str, Callable[..., Any]]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
    "neg": operator.neg, "pos": operator.pos, "invert": operator.invert, "not": operator.not_,
}  # fmt: skip
