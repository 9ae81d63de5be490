"""Take a decorated function as a value: its text, the names it sees, its annotations."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import linecache
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from ..process import PYTHON_PARSER, ArgumentError, DSLError, SourceText, Span, classes
from .annotations import FieldAlias, holds_text, type_from_annotation, type_variables
from .definition import Definition, Kind, ScanOptions
from .generics import at_types

# no part can match what the next one begins with: '++' tries no shorter match
_LOCAL_ANNOTATION: Final = re.compile(r"^\s++\w++\s*+:([^=\n]++)=", re.MULTILINE)
_HEADER: Final = re.compile(r"\s*(?:async\s+)?def\s+(\w+)")
_WORD: Final = r"[^\W\d]\w*"
_ABSENT: Final = object()


def capture(
    function: Callable[..., Any],
    kind: Kind,
    *,
    scan: ScanOptions | None = None,
    grid_type: str | None = None,
) -> Definition:
    """Return the `Definition` of a Python function; it neither parses nor runs the body.

    Decorators are not part of the text, because the backend does not change the program.
    """
    if not isinstance(function, types.FunctionType):
        raise ArgumentError(
            f"A {kind.replace('_', ' ')} is made of a Python function, got an object of type "
            f"'{type(function).__name__}'.",
            hints=["Write it with 'def' and put the decorator above it."],
        )
    source = source_of(function)
    annotations = _annotations(function)
    return Definition(
        name=function.__name__,
        kind=kind,
        source=source,
        function=function,
        closure=_closure(function, source),
        annotations=annotations,
        scan=scan,
        grid_type=grid_type,
        variables=_variables(annotations),
    )


def recapture(definition: Definition) -> Definition:
    """Return the definition with the names as they are bound now; itself if none has changed."""
    function = definition.function
    assert isinstance(function, types.FunctionType)
    closure = _closure(function, definition.source)
    same = len(closure) == len(definition.closure) and all(
        name == old_name and value is old
        for (name, value), (old_name, old) in zip(closure, definition.closure, strict=True)
    )
    if same:
        return definition
    annotations = _annotations(function)
    variables = _variables(annotations)
    origin = definition.origin
    made = classes.evolve(
        definition, closure=closure, annotations=annotations, variables=variables,
        origin=None if origin is None else recapture(classes.evolve(origin, closure=())),
    )  # fmt: skip
    return at_types(made, definition.types) if definition.types else made


# --- text -------------------------------------------------------------------------------------


def source_of(function: types.FunctionType) -> SourceText:
    """Return the dedented text of the function from 'def' on."""
    first, block = _block(function)
    indent = len(block[0]) - len(block[0].lstrip())
    prefix = block[0][:indent]
    text = "".join(line.removeprefix(prefix) if indent else line for line in block)
    return SourceText(text, function.__code__.co_filename, first, indent)


def _block(function: types.FunctionType) -> tuple[int, list[str]]:
    """Return the number of the line with 'def' and the lines from there to the end."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__) or _typed(code)
    for number in range(code.co_firstlineno - 1, len(lines)):  # past the decorators
        header = _HEADER.match(lines[number])
        if header and header[1] == code.co_name:
            return number + 1, _first_block(lines[number:])
    place = Span(code.co_filename, code.co_firstlineno, 1, code.co_firstlineno, 2)
    if lines and code.co_firstlineno <= len(lines):
        raise DSLError(
            place,
            f"Expected '{code.co_name}' to be a function written with 'def'.",
            hints=["If the file was edited while the program ran, start it again."],
        )
    raise DSLError(
        place,
        f"The source of '{code.co_name}' cannot be found.",
        hints=[
            "Write the function in a file, and run 'python FILE', or in a cell of a notebook or of "
            "IPython. Python's own prompt keeps what is typed from version 3.13 on.",
            "If its text is made at run time, put its lines into 'linecache.cache' under the "
            "file name given to 'compile'.",
        ],
    )


def _typed(code: types.CodeType) -> list[str]:
    """Return the lines of code that was typed at Python's prompt or given with '-c'.

    Python keeps them from 3.13.1 on, by code; Python 3.13.0 keeps them by file name.
    """
    of_code: Callable[[types.CodeType], list[str]]
    of_code = getattr(linecache, "_getlines_from_code", lambda _: [])
    return of_code(code)


def _first_block(lines: list[str]) -> list[str]:
    """Return the lines of the function that begins with the first one, as `inspect.getblock` does.

    It ends before the first line that is indented no more than 'def' and up to which the lines
    parse; inside a bracket or a string they do not. Parsing takes half the time of tokenizing.
    """
    indent = _indent(lines[0])
    for end in range(1, len(lines) + 1):
        is_outside = end == len(lines) or (_indent(lines[end]) <= indent and _is_code(lines[end]))
        last = _parsed_lines("".join(lines[:end]), indent) if is_outside else 0
        if last:
            inside = last  # comments that are indented like the body belong to it
            while last < end and (_indent(lines[last]) > indent or not lines[last].strip()):
                last += 1
                inside = last if lines[last - 1].strip() else inside
            return lines[:inside]
    return inspect.getblock(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _parsed_lines(text: str, indent: int) -> int:
    """Return the last line of the function in the text, 0 if the text cannot be parsed."""
    try:
        with PYTHON_PARSER:
            tree = ast.parse(f"if True:\n{text}" if indent else text)
    except SyntaxError:
        return 0
    last = tree.body[0].end_lineno or 0
    return last - 1 if indent else last


# --- names ------------------------------------------------------------------------------------


def _closure(function: types.FunctionType, source: SourceText) -> tuple[tuple[str, Any], ...]:
    """Resolve every free name, and the names in annotations inside the body."""
    names = {
        name for code in _codes(function.__code__) for name in (*code.co_names, *code.co_freevars)
    }
    for annotation in _LOCAL_ANNOTATION.findall(source.text):
        names.update(re.findall(_WORD, annotation))
    scopes = (_nonlocals(function), function.__globals__, vars(builtins))
    found = ((name, _lookup(name, scopes)) for name in sorted(names))
    return tuple((name, value) for name, value in found if value is not _ABSENT)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    waiting = [code]
    for each in waiting:  # the loop appends to it
        yield each
        waiting += [const for const in each.co_consts if isinstance(const, types.CodeType)]


def _nonlocals(function: types.FunctionType) -> dict[str, Any]:
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # the name is not bound yet; there is no other way to ask
            continue
    return found


def _lookup(name: str, scopes: tuple[Mapping[str, Any], ...]) -> Any:
    return next((scope[name] for scope in scopes if name in scope), _ABSENT)


def _annotations(function: types.FunctionType) -> tuple[tuple[str, Any], ...]:
    """Evaluate annotations written as strings; one that fails stays a string for `parse`."""
    written = inspect.get_annotations(function)
    names: Mapping[str, Any] | None = None
    known: dict[str, Any] = {}
    for value in written.values():
        if isinstance(value, str) and value not in known:
            names = names if names is not None else _names_of_annotations(function)
            known[value] = _evaluated(value, function.__globals__, names)
    ordered = sorted(written.items(), key=lambda item: item[0] == "return")
    found = ((k, known[v] if isinstance(v, str) else v) for k, v in ordered)
    return tuple((key, _without_text(value, function)) for key, value in found)


def _variables(annotations: Iterable[tuple[str, Any]]) -> tuple[Any, ...]:
    found = (
        variable
        for _, each in annotations
        if not _is_settled(each)
        for _, variable in type_variables(each)
    )
    return tuple(dict.fromkeys(found))


def _is_settled(annotation: Any) -> bool:
    """Tell whether an annotation is one of a field, with neither text nor type variables in it."""
    try:
        return type(annotation) is FieldAlias and _is_plain(annotation)
    except TypeError:  # a user's object inside it has no hash
        return False


@functools.lru_cache(maxsize=1024)  # many parameters of many operators share one alias
def _is_plain(annotation: FieldAlias) -> bool:
    return not holds_text(annotation) and not any(True for _ in type_variables(annotation))


def _names_of_annotations(function: types.FunctionType) -> dict[str, Any]:
    """Return the names that annotations may have besides globals: `def f[T](a: "T")` has `T`."""
    parameters = getattr(function, "__type_params__", ())  # since Python 3.12
    return {each.__name__: each for each in parameters} | _nonlocals(function)


def _without_text(annotation: Any, function: types.FunctionType) -> Any:
    """Return the type that an annotation with text inside stands for; itself if that fails."""
    if _is_settled(annotation) or not holds_text(annotation):
        return annotation
    try:
        return type_from_annotation(
            annotation, {**function.__globals__, **_names_of_annotations(function)}
        )
    except Exception:  # an annotation may run any code; `parse` says what is wrong with it
        return annotation


def _evaluated(text: str, outside: dict[str, Any], names: Mapping[str, Any]) -> Any:
    try:
        return eval(text, outside, names)
    except Exception:  # an annotation may run any code; `parse` says what is wrong with the text
        return text
