"""Take a Python function as a stencil or a function of GTScript: text, types, constants."""

from __future__ import annotations

import ast
import enum
import inspect
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...runtime.language.capture import source_of
from ...runtime.process import PYTHON_PARSER, SourceText
from .annotations import DTYPES, MissingTypeError, annotation_of, dtype_name, type_of
from .definition import (
    Annotation,
    Argument,
    AxisBound,
    Constant,
    FieldOf,
    FunctionDefinition,
    Number,
    Opaque,
    Parameter,
    ScalarOf,
    StencilDefinition,
)
from .errors import GTScriptDefinitionError, GTScriptValueError
from .words import BUILTINS, EXTERNAL_MODULES

_NOTHING: Final = object()


def capture(
    function: Callable[..., Any],
    *,
    externals: Mapping[str, Any] | None = None,
    dtypes: Mapping[Any, Any] | None = None,
    name: str | None = None,
    literal_int_precision: int = 64,
    literal_float_precision: int = 64,
) -> StencilDefinition:
    """Return a Python function as a stencil; its body is read and never runs.

    Args:
        function: a function with annotated parameters.
        externals: what `from __externals__ import ...` may import.
        dtypes: types by the text that stands for them in annotations; by `int` and `float`, the
            types of literals.
        name: the name of the stencil, if not that of the function.
        literal_int_precision: bits of integer literals.
        literal_float_precision: bits of float literals.

    """
    source = source_of(_checked(function))
    given = {key: type_of(value) for key, value in (dtypes or {}).items()}
    named_int, named_float = f"int{literal_int_precision}", f"float{literal_float_precision}"
    names = _constants(function, source)
    outside = dict(externals or {})
    return StencilDefinition(
        name=name or function.__name__,
        source=source,
        arguments=tuple(_arguments(function, given, named_int)),
        names=names,
        externals=tuple(_externals(outside, source, names)),
        dtypes=tuple(_named_types(given)),
        literal_int=dtype_name(given.get(int)) or named_int,
        literal_float=dtype_name(given.get(float)) or named_float,
        named_int=named_int,
        named_float=named_float,
    )


def capture_function(function: Callable[..., Any]) -> FunctionDefinition:
    """Return a Python function as a function of GTScript, with the values of its globals now."""
    source = source_of(_checked(function))
    parameters = tuple(
        Parameter(each.name, _default(each), each.kind is each.KEYWORD_ONLY)
        for each in _signature(function)
    )
    return FunctionDefinition(function.__name__, source, parameters, _constants(function, source))


def _checked(function: Any) -> types.FunctionType:
    if not isinstance(function, types.FunctionType):
        raise GTScriptValueError(
            None, "definition", function,
            f"A stencil is made of a Python function, got a '{type(function).__name__}'.",
            hints=("Write it with 'def' and put the decorator above it.",),
        )  # fmt: skip
    return function


# --- parameters -------------------------------------------------------------------------------


def _signature(function: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    for each in inspect.signature(function).parameters.values():
        for kind, stars, shown in (
            (each.VAR_POSITIONAL, "*", "tuple"),
            (each.VAR_KEYWORD, "**", "dict"),
        ):
            if each.kind is kind:
                raise GTScriptDefinitionError(
                    None, each.name, function,
                    f"'{stars}{each.name}' {shown} parameter is not supported in GTScript "
                    "definitions.",
                )  # fmt: skip
        yield each


def _arguments(
    function: Callable[..., Any], dtypes: Mapping[Any, Any], int_type: str
) -> Iterator[Argument]:
    for each in _signature(function):
        given = None if each.annotation is each.empty else each.annotation
        if isinstance(given, str) and given not in dtypes:
            given = _evaluated(given, function)
        annotation = annotation_of(each.name, given, dtypes, int_type)
        default = _default(each)
        if isinstance(annotation, FieldOf) and each.default not in (each.empty, None):
            raise GTScriptDefinitionError(
                None, each.name, each.default,
                f"Invalid definition of argument '{each.name}': a field has no default but None.",
            )  # fmt: skip
        if not isinstance(default, Number | None):
            default = None
        keyword_only = each.kind is each.KEYWORD_ONLY
        yield Argument(each.name, annotation, keyword_only, default)


def _evaluated(text: str, function: Any) -> Any:
    """Evaluate an annotation that `from __future__ import annotations` left as text."""
    try:
        return eval(text, function.__globals__, dict(_nonlocals(function)))
    except Exception:  # an annotation may run any code; the name of a type has no value
        return text


def _default(parameter: inspect.Parameter) -> Constant | None:
    if parameter.default is parameter.empty or parameter.default is None:
        return None
    found = _constant_of(parameter.default)
    if isinstance(found, Opaque):
        raise GTScriptValueError(
            None, parameter.name, parameter.default,
            f"Invalid default value for argument '{parameter.name}': {parameter.default!r}.",
        )  # fmt: skip
    return found


def _named_types(dtypes: Mapping[Any, Any]) -> Iterator[tuple[str, Annotation]]:
    for key, value in dtypes.items():
        if isinstance(key, str):
            yield key, annotation_of(key, value, dtypes)


# --- names ------------------------------------------------------------------------------------


def _constants(
    function: types.FunctionType | Callable[..., Any], source: SourceText
) -> tuple[tuple[str, Constant], ...]:
    """Return what the free names in the text stand for, by path."""
    scopes: tuple[Mapping[str, Any], ...] = (
        dict(_nonlocals(function)), getattr(function, "__globals__", {}),
    )  # fmt: skip
    own = set(function.__code__.co_varnames)
    found: dict[str, Constant] = {}
    for path in _mentioned(source):
        root, *rest = path.split(".")
        if root in own or root in BUILTINS:
            continue
        value = next((scope[root] for scope in scopes if root in scope), _NOTHING)
        if value is not _NOTHING:
            found[path] = _constant_at(value, rest)
    return tuple(sorted(found.items()))


def _externals(
    given: Mapping[str, Any], source: SourceText, names: tuple[tuple[str, Constant], ...]
) -> Iterator[tuple[str, Constant]]:
    """Yield the externals by path, as far as the stencil and its functions mention them."""
    found: dict[str, Constant] = {}
    seen: set[FunctionDefinition] = set()
    texts, constants = [source], [constant for _, constant in names]
    while texts:
        for path in _mentioned(texts.pop()):
            root, *rest = path.split(".")
            if root in given and path not in found:
                found[path] = _constant_at(given[root], rest)
                constants.append(found[path])
        for each in constants:
            if isinstance(each, FunctionDefinition) and each not in seen:
                seen.add(each)
                texts.append(each.source)
                constants = [*constants, *(inner for _, inner in each.names)]
    yield from sorted(found.items())


def _nonlocals(function: Any) -> Iterator[tuple[str, Any]]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        try:
            yield name, cell.cell_contents
        except ValueError:  # the name is not bound yet
            continue


def _mentioned(source: SourceText) -> list[str]:
    """Return the paths of names in a text, such as "constants.g", and the names imported."""
    try:
        with PYTHON_PARSER:
            tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # `read` reports it
        return []
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in EXTERNAL_MODULES:
            found.update(dict.fromkeys(alias.name for alias in node.names))
        path = path_of(node)
        if path:
            found[path] = None
    return list(found)


def path_of(node: ast.AST) -> str:
    """Return the path of a name or of attributes of one; empty for any other node.

    >>> path_of(ast.parse("constants.g", mode="eval").body)
    'constants.g'
    """
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


_MARK = "__gtscript_function__"


def _constant_at(value: Any, path: Sequence[str]) -> Constant:
    """Follow attributes from a value, and return what stands there as a constant."""
    for name in path:
        try:
            value = getattr(value, name)
        except AttributeError:
            return Opaque(f"attribute '{name}' of '{type(value).__name__}', which it lacks")
    return _constant_of(value)


def _constant_of(value: Any) -> Constant:
    """Return a value as a constant.

    >>> _constant_of(2.5), _constant_of(np.float32(1))
    (Number(dtype='float', text='2.5'), Number(dtype='float32', text='1.0'))
    """
    match value:
        case bool() | np.bool_():
            return Number("bool", str(bool(value)))
        case enum.IntEnum():
            return Number("int", str(value.value))
        case np.generic():
            name = value.dtype.name
            return (
                Number(name, repr(value.item())) if name in DTYPES else Opaque(f"a number '{name}'")
            )
        case int():
            return Number("int", str(int(value)))
        case float():
            return Number("float", repr(float(value)))
    if all(hasattr(value, part) for part in ("axis", "index", "offset")):
        axis = getattr(value.axis, "name", value.axis)
        return AxisBound(str(axis), int(value.index), int(value.offset))
    if hasattr(value, "axes") and hasattr(value, "dtype"):
        return _type(value)
    dtype = dtype_name(value)
    if dtype is not None:
        return ScalarOf(dtype)
    marked = getattr(value, _MARK, None)
    if callable(marked):
        marked = marked()
    if isinstance(marked, FunctionDefinition):
        return marked
    return Opaque(f"a '{type(value).__name__}'")


def _type(value: Any) -> Constant:
    try:
        return annotation_of("type", value, {})
    except (GTScriptValueError, MissingTypeError):
        return Opaque("the type of a field with an unknown dtype")
