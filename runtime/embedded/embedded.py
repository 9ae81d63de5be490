"""Embedded execution: run operators and programs in CPython on fields. This is their meaning.

Each operation lives on the intersection of its operands' domains, a shift only relabels,
`broadcast` reaches to infinity, and `concat_where` has pieces of both branches. An operator
is evaluated whole, then its result is written to the output domain, which it must cover.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from ..fields import Operators, active, combined, running
from ..fields.bare_array import with_fields
from ..language import (
    CollectionType,
    Definition,
    Dimension,
    Displacement,
    Domain,
    FieldOffset,
    FieldType,
    NeighbourOffset,
    ScalarType,
    TupleType,
    Type,
    elements,
    leaves_of,
    map_leaves,
    type_from_annotation,
    with_annotated_types,
)
from ..language.argument_binding import bind_arguments
from ..language.generics import call_names, instance_for_values
from ..language.operations import literal
from ..language.regions import Region, as_region
from ..process import classes
from . import builtins as language
from .arguments import bind, check_types
from .gathering import applied
from .lanes import Lanes
from .output import levels_of, write
from .piecewise_field import AnyValue
from .provenance import is_checking, noted
from .rewriting import outputs_of, rewritten
from .scanning import Walk, as_column, scanned
from .walking import walked

__all__ = ["active", "apply", "call_operator", "callee", "run_operator", "run_program"]


def call_operator(
    definition: Definition, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None
) -> Any:
    """Return the value of an operator that another operator calls."""
    definition = instance_for(definition, args, kwargs or {})
    return evaluated(definition, args, kwargs or {})[0]


def run_operator(
    definition: Definition,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    out: Any,
    domain: Any = None,
    offset_provider: Mapping[str, Any] | None = None,
    warn: bool = True,
) -> None:
    """Evaluate an operator and then write its result to `out`, whole or on `domain`.

    `domain` is anything that `domain()` takes, or a tuple of such that matches `out`. With `warn`
    arguments that are converted are named in a warning.
    """
    result: Any = None
    definition = instance_for(definition, args, kwargs or {})
    out = with_fields(prepared(definition).result, out)
    _check_output(definition, args, kwargs or {}, out)
    arguments: dict[str, Any] = {}
    columns = levels_of(out, domain)
    results: dict[Domain, list[Any]] = {}
    for levels in dict.fromkeys(columns) or [Domain()]:
        with running(offset_provider, dict(levels)) as context:
            result, arguments = evaluated(definition, args, kwargs or {}, warn and not results)
            result = map_leaves(walked, result)
        results[levels] = [leaf for _, leaf in leaves_of(result)]
        if not context.walked:
            break  # without scans the result does not depend on the levels
    if len(results) > 1 and len(results[columns[0]]) == len(columns):
        # a scan walks the levels of its own output
        chosen = iter([results[levels][place] for place, levels in enumerate(columns)])
        result = map_leaves(lambda _: next(chosen), result)
    with running(offset_provider):  # a message may name its tables
        write(definition.name, result, out, domain, arguments)


def _check_output(
    definition: Definition, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any
) -> None:
    """Refuse an output of another type, and wrong arguments with it, before the evaluation."""
    embedded = prepared(definition)
    result = embedded.result
    if definition.scan is not None or result is None or out is None:
        return  # a scan takes fields of any dimensions; `write` checks its output
    if _takes(result, out):
        return
    names = [name for name, _ in embedded.parameters]
    given = bind_arguments(definition.name, names, args, kwargs, embedded.defaults)
    rows = [*embedded.parameters, ("out", _as_output(result))]
    check_types(definition.name, [(*row, {**given, "out": out}[row[0]]) for row in rows])


def _takes(result: Type, out: Any) -> bool:
    """Tell whether an output can hold a result; its dimensions may come in any order."""
    if isinstance(result, TupleType | CollectionType):
        parts = elements(out)
        if parts is None or len(parts) != len(result.elements):
            return False
        return all(map(_takes, result.elements, parts))
    dims = result.dims if isinstance(result, FieldType) else ()
    dtype = result.dtype if isinstance(result, FieldType) else result
    if not isinstance(out, AnyValue):
        return False
    return set(out.domain.dims) == set(dims) and out.dtype == str(dtype)


def _as_output(result: Type) -> Type:
    """Return the type of the output for a result: a number goes to a field without dimensions."""
    if isinstance(result, TupleType | CollectionType):
        return classes.evolve(result, elements=tuple(map(_as_output, result.elements)))
    return FieldType((), result) if isinstance(result, ScalarType) else result


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
    with running(offset_provider):
        evaluated(definition, args, kwargs or {})


def instance_for(
    definition: Definition, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Definition:
    """Return the instance of a generic operator for the types of the arguments."""
    if not definition.variables:
        return definition
    names = call_names(definition)
    return instance_for_values(definition, {**dict(zip(names, args, strict=False)), **kwargs})


@classes.frozen(eq=False)
class _Embedded:
    """A function ready to run: its rewritten copy and the types of its parameters."""

    function: FunctionType
    parameters: Sequence[tuple[str, Type]]
    defaults: Mapping[str, Any]
    result: Type | None
    written: frozenset[str]  # the parameters of a program that stand in some 'out='


def evaluated(
    definition: Definition, args: Sequence[Any], kwargs: Mapping[str, Any], warn: bool = True
) -> tuple[Any, dict[str, Any]]:
    """Return the result of the body, and the arguments that it was given by name."""
    embedded = prepared(definition)
    parameters = embedded.parameters
    walk = None
    if definition.scan is not None:
        (_, state), *parameters = parameters
        walk = Walk(definition.name, embedded.function, state, definition.scan)
    scalar = as_column if walk else None
    # a program may write to its fields; an operator converts what it reads
    keep = definition.kind == "program"
    values = bind(
        definition.name, parameters, args, kwargs, embedded.defaults, scalar,
        warn=warn, keep=keep, written=embedded.written,
    )  # fmt: skip
    result = scanned(walk, values) if walk else embedded.function(*values)
    return result, dict(zip((name for name, _ in parameters), values, strict=True))


def prepared(definition: Definition) -> _Embedded:
    """Make the copy once for each function; it is kept on the function and dies with it."""
    function = definition.function
    owner, kept = function.__dict__.get(_KEY, (None, {}))
    # 'functools.wraps' copies the dictionary, so the copy says whose it is
    if owner is function and definition.types in kept:
        return kept[definition.types]  # type: ignore[no-any-return]  # what was put there below
    assert isinstance(function, FunctionType)
    known = {**function.__globals__, **dict(definition.closure)}
    types = {
        name: type_from_annotation(annotation, known)
        for name, annotation in definition.annotations
        if name != "return" or annotation is not None
    }
    result = types.pop("return", None)
    names = list(types)
    defaults = function.__defaults__ or ()
    made = _Embedded(
        rewritten(
            function,
            definition.source,
            apply,
            callee,
            with_annotated_types,
            _constants(definition),
            {each.__name__: np.dtype(name).type for each, name in definition.types},
        ),
        tuple(types.items()),
        dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)),
        result,
        outputs_of(definition.source) if definition.kind == "program" else frozenset(),
    )
    kept = kept if owner is function else {}
    function.__dict__[_KEY] = (function, {**kept, definition.types: made})
    return made


def _constants(definition: Definition) -> frozenset[str]:
    """Return the free names that are collections, or modules, which may hold some."""
    local = definition.function.__code__.co_varnames
    return frozenset(
        name
        for name, value in definition.closure
        if name not in local and isinstance(value, ModuleType | tuple)
    )


_KEY: Final = "__fieldforge_embedded__"


# --- what the rewritten body calls --------------------------------------------------------------


def apply(op: str, *operands: Any) -> Any:
    """Compute `a + b` and the like, as the language means it where fields and numbers meet.

    `a + b - c` comes as `"add", a, b, "sub", c`.
    """
    if len(operands) > 2:
        value = apply(op, *operands[:2])
        for at in range(2, len(operands), 2):
            value = apply(operands[at], value, operands[at + 1])
        return value
    values = [literal(operand) for operand in operands]
    if not all(isinstance(value, Operators | np.generic) for value in values):
        return _on_indices(op, *operands)
    match op:
        case "pos":
            return values[0]
        case "invert":
            return combined("not", *values)
        case "not" if not isinstance(values[0], Lanes | np.generic):
            return not values[0]  # a field says why that can not be
    return noted(combined(op, *values), op, operands)


def _on_indices(op: str, *operands: Any) -> Any:
    """Compute with dimensions and regions: `I + 1`, `K < 3`, `(K < 3) | (K > 5)`, `K != 3`."""
    if op in ("and", "or") and all(isinstance(x, Domain | Region) for x in operands):
        operands = tuple(map(as_region, operands))
    bounds = [x for x in operands if not isinstance(x, Dimension)]
    if op == "ne" and len(operands) == 2 and len(bounds) == 1:
        dim = next(x for x in operands if isinstance(x, Dimension))
        return as_region(dim < bounds[0]) | as_region(dim > bounds[0])
    return _PYTHON[op](*operands)


def callee(function: Any) -> Any:
    """Return what calling `function` means: an operator is embedded, `int` makes an int64."""
    meant = _meant(function)
    return partial(_noted, function, meant) if is_checking() else meant


def _noted(function: Any, meant: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a builtin, shift a field or call an operator, and remember what it gave."""
    name = getattr(function, "__name__", "shift")
    if isinstance(function, AnyValue):
        args = (function, *args)
        return noted(meant(*args[1:], **kwargs), _move(args), args)
    return map_leaves(lambda leaf: noted(leaf, name, args), meant(*args, **kwargs))


def _move(offsets: tuple[Any, ...]) -> str:
    """Return what applying a field to offsets is called."""
    if any(isinstance(each, Displacement) for each in offsets):
        return "as_offset"
    gathers = any(isinstance(each, FieldOffset | NeighbourOffset) for each in offsets)
    return "neighbours" if gathers else "shift"


def _meant(function: Any) -> Any:
    if isinstance(function, AnyValue):
        return partial(applied, function)
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
        definition, args, kwargs, out=out, domain=domain, offset_provider=offset_provider,
        warn=False,
    )  # fmt: skip


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
