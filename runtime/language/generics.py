"""Operators generic by type variables: `T = TypeVar("T", float32, float64)`.

A generic definition has an instance for each choice of types. A call takes the instance whose types
are those of its arguments, so that an instance is an ordinary definition for every other module.
"""

from __future__ import annotations

import itertools
import typing
from collections.abc import Mapping
from types import GenericAlias
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from ..process import DSLTypeError, classes
from .annotations import (
    AnnotationError,
    in_type,
    type_from_annotation,
    type_variables,
    with_types,
)
from .definition import Definition, ScanOptions
from .structure import leaves_of
from .types import SCALARS, ScalarType, leaves, scalar_name

Types: TypeAlias = tuple[str, ...]

_known: Final[WeakKeyDictionary[Definition, Generic]] = WeakKeyDictionary()


@classes.frozen(eq=False)
class Generic:
    """The instances of a definition, by the types of its variables.

    `places` are the leaves of parameters whose dtype is a variable: parameter, path, variable.
    """

    variables: tuple[Any, ...]
    places: tuple[tuple[str, tuple[int, ...], Any], ...]
    instances: Mapping[Types, Definition]


def generic(definition: Definition) -> Generic | None:
    """Return the instances of a generic definition, None for any other one.

    Raises:
        DSLTypeError: for a variable without constraints, or that stands in no parameter.

    """
    if not definition.variables:
        return None
    found = _known.get(definition)
    if found is None:
        found = _known[definition] = _generic(definition)
    return found


def instances(definition: Definition) -> tuple[Definition, ...]:
    """Return the instances of a generic definition, or the definition alone."""
    found = generic(definition)
    return (definition,) if found is None else tuple(found.instances.values())


def call_names(definition: Definition) -> tuple[str, ...]:
    """Return the names of the arguments of a call; the state of a scan is none."""
    names = tuple(name for name, _ in definition.annotations if name != "return")
    return names[1:] if definition.scan is not None else names


def instance_for_values(definition: Definition, given: Mapping[str, Any]) -> Definition:
    """Return the instance for arguments by name; Python numbers decide where nothing else does.

    Raises:
        DSLTypeError: if no choice of types fits the arguments.

    """
    dtypes: dict[tuple[str, tuple[int, ...]], str] = {}
    weak = dict(dtypes)
    for name, value in given.items():
        for path, leaf in leaves_of(value):
            dtype = getattr(leaf, "dtype", None)
            if dtype is not None:
                dtypes[name, path] = str(dtype)
            elif isinstance(leaf, bool | int | float):
                weak[name, path] = scalar_name(leaf)
    return _instance(definition, dtypes, weak)


def instance_for_types(definition: Definition, given: Mapping[str, Any]) -> Definition:
    """Return the instance for arguments of these types by name; errors as for values."""
    dtypes = {
        (name, path): str(getattr(leaf, "dtype", leaf))
        for name, type_ in given.items()
        for path, leaf in leaves(type_)
    }
    return _instance(definition, dtypes, {})


_Found: TypeAlias = Mapping[tuple[str, tuple[int, ...]], str]


def _instance(definition: Definition, dtypes: _Found, weak: _Found) -> Definition:
    found = generic(definition)
    if found is None:
        return definition
    chosen = _chosen_types(definition, found, dtypes, weak)
    types = tuple(chosen.get(variable, ("", ""))[0] for variable in found.variables)
    instance = found.instances.get(types)
    if instance is None:
        raise _unfit(definition, found, chosen)
    return instance


def _chosen_types(
    definition: Definition, found: Generic, dtypes: _Found, weak: _Found
) -> dict[Any, tuple[str, str]]:
    """Return the dtype of each variable, with the name of the argument that has it."""
    chosen: dict[Any, tuple[str, str]] = {}
    for given in (dtypes, weak):
        decided = dict(chosen)
        for name, path, variable in found.places:
            dtype = given.get((name, path))
            if dtype is None or variable in decided:
                continue
            before = chosen.setdefault(variable, (dtype, name))
            if before[0] != dtype:
                raise _unsolved(
                    definition, variable, f"'{before[1]}' is of type '{before[0]}', '{name}' of "
                    f"'{dtype}'", f"Convert one of them, for example with 'astype(x, {dtype})'.",
                )  # fmt: skip
    return chosen


def _unfit(
    definition: Definition, found: Generic, chosen: Mapping[Any, tuple[str, str]]
) -> DSLTypeError:
    """Return the error for a variable without a type, or with one that it does not name."""
    allowed = {variable: _constraints(variable) for variable in found.variables}
    variable = next(v for v in found.variables if v not in chosen or chosen[v][0] not in allowed[v])
    if variable not in chosen:
        return _unsolved(definition, variable, "no argument says its type", None)
    dtype, name = chosen[variable]
    names = ", ".join(map(repr, allowed[variable]))
    return _unsolved(
        definition, variable, f"'{name}' is of type '{dtype}', expected one of {names}",
        f"Convert it, for example with 'astype({name}, {allowed[variable][0]})'.",
    )  # fmt: skip


def _unsolved(definition: Definition, variable: Any, why: str, hint: str | None) -> DSLTypeError:
    return DSLTypeError(
        None,
        f"Type variable '{variable.__name__}' of '{definition.name}' has no type in this call: "
        f"{why}.",
        hints=[hint] if hint else [],
    )


def _generic(definition: Definition) -> Generic:
    if definition.kind == "program":
        raise _refused(definition, "Programs have no type variables.", "Make its operators so.")
    places = tuple(
        (name, path, variable)
        for name, annotation in definition.annotations
        if name != "return"
        for path, variable in type_variables(annotation)
    )
    choices = []
    for variable in definition.variables:
        name = variable.__name__
        if not any(variable is each for _, _, each in places):
            raise _refused(
                definition,
                f"Type variable '{name}' stands in no parameter, so no call says its type.",
                "Write the type in its place.",
            )
        choices.append(_constraints(variable))
        if not choices[-1]:
            raise _refused(
                definition,
                f"Type variable '{name}' does not name its types.",
                f"Write '{name} = TypeVar(\"{name}\", float32, float64)'.",
            )
    made = {types: _made(definition, types) for types in itertools.product(*choices)}
    return Generic(definition.variables, places, made)


def _refused(definition: Definition, message: str, hint: str) -> DSLTypeError:
    text = definition.source
    width = max(len(text.text.partition("\n")[0]), 1)
    return DSLTypeError(text.span(1, 0, 1, width), message, hints=[hint])


def _constraints(variable: Any) -> tuple[str, ...]:
    """Return the types that a variable may have; some names may mean the same type."""
    try:
        types = [type_from_annotation(each) for each in variable.__constraints__]
    except AnnotationError:
        return ()
    names = tuple(dict.fromkeys(str(each) for each in types))
    return names if all(name in SCALARS for name in names) else ()


def _made(definition: Definition, types: Types) -> Definition:
    chosen = dict(zip(definition.variables, types, strict=True))
    return at_types(definition, tuple(chosen.items()))


def at_types(definition: Definition, chosen: tuple[tuple[Any, str], ...]) -> Definition:
    """Return the instance of a definition for the type of each variable."""
    scalars = {variable: ScalarType(name) for variable, name in chosen}
    annotations = tuple((name, with_types(each, scalars)) for name, each in definition.annotations)
    closure = tuple((name, _chosen(value, scalars)) for name, value in definition.closure)
    made = classes.evolve(
        definition, annotations=annotations, closure=closure, variables=(), types=chosen
    )
    return classes.evolve(made, scan=_scan(made))


def _chosen(value: Any, scalars: Mapping[Any, ScalarType]) -> Any:
    """Return what a name means in an instance: a type for a variable or an alias with some."""
    if isinstance(value, typing.TypeVar) and value in scalars:
        return np.dtype(str(scalars[value])).type
    return with_types(value, scalars) if isinstance(value, GenericAlias) else value


def _scan(definition: Definition) -> ScanOptions | None:
    """Return the options of a scan; numbers of Python in `init` have the type of the state."""
    options = definition.scan
    if options is None or not definition.annotations:
        return options
    _, state = definition.annotations[0]
    return classes.evolve(options, init=in_type(state, options.init))
