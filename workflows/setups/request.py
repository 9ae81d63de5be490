"""`Request`: the arguments of one `setup`, checked against the parameters of the program."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from ...runtime.language.types import FieldType, ScalarType, Type, type_of_value
from ...runtime.process.errors import ArgumentError, FieldforgeError, nearest

VERTICAL: Final = "vertical"
HORIZONTAL: Final = "horizontal"
CONSTANTS: Final = "constants"
GROUPS: Final = (HORIZONTAL, VERTICAL, CONSTANTS)
_SAID: Final = {
    HORIZONTAL: "horizontal sizes", VERTICAL: "vertical sizes", CONSTANTS: "constants"
}  # fmt: skip
DEFAULT_STATIC: Final = (VERTICAL, CONSTANTS)
MANY_VARIANTS: Final = 32


class SetUpWarning(UserWarning):
    """A set-up probably compiles more variants than its author wants."""


@attrs.frozen(eq=False)
class Request:
    """The arguments that a set-up fixes, and those that it compiles in.

    Attributes:
        horizontal: horizontal bounds by parameter.
        vertical: vertical bounds by parameter.
        constants: other arguments that do not change: fields and scalars.
        static: the groups, and single parameters, whose values are compiled in.
        variants: all values of parameters that calls still give.

    """

    horizontal: Mapping[str, Any]
    vertical: Mapping[str, Any]
    constants: Mapping[str, Any]
    static: tuple[str, ...]
    variants: Mapping[str, tuple[Any, ...]]

    @property
    def fixed(self) -> dict[str, Any]:
        """Every argument that calls no longer give."""
        return {**self.constants, **self.horizontal, **self.vertical}

    def static_values(self, types: Mapping[str, Type]) -> dict[str, list[Any]]:
        """Return the values to compile in, by parameter."""
        values: dict[str, list[Any]] = {name: list(each) for name, each in self.variants.items()}
        for group, members in self._groups():
            for name, value in members.items():
                if _is_number(types[name]) and (group in self.static or name in self.static):
                    values[name] = [value]
        return values

    def reasons(self) -> dict[str, str]:
        """Return why each static parameter is one, by name."""
        found = dict.fromkeys(self.variants, "listed in 'variants'")
        for group, members in self._groups():
            for name in members:
                if name in self.static:
                    found[name] = "named in 'static_args'"
                elif group in self.static:
                    found[name] = f"one of the {_SAID[group]}"
        return found | dict.fromkeys(self.open_names(), "named in 'static_args'")

    def open_names(self) -> tuple[str, ...]:
        """Return the static parameters whose values only a call knows."""
        known = {*GROUPS, *self.fixed, *self.variants}
        return tuple(sorted(name for name in self.static if name not in known))

    def _groups(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        yield HORIZONTAL, self.horizontal
        yield VERTICAL, self.vertical
        yield CONSTANTS, self.constants


def make_request(
    program: str,
    types: Mapping[str, Type],
    horizontal: Mapping[str, Any] | None,
    vertical: Mapping[str, Any] | None,
    constants: Mapping[str, Any] | None,
    static: str | Iterable[str],
    variants: Mapping[str, Sequence[Any]] | None,
) -> Request:
    """Check the arguments of `setup`; a mistake is an error that names the argument."""
    groups = {
        "horizontal_sizes": dict(horizontal or {}),
        "vertical_sizes": dict(vertical or {}),
        "constant_args": dict(constants or {}),
        "variants": dict(variants or {}),
    }
    _check_names(program, types, groups)
    for where in ("horizontal_sizes", "vertical_sizes"):
        for name, value in groups[where].items():
            _check_size(program, where, name, types[name], value)
    for name, value in groups["constant_args"].items():
        _check_type(program, "constant_args", name, types[name], value)
    chosen = (static,) if isinstance(static, str) else tuple(static)
    _check_static(program, types, chosen)
    listed = {
        name: _listed(program, name, types[name], values)
        for name, values in groups["variants"].items()
    }
    horizontal_sizes, vertical_sizes, constant_args, _ = groups.values()
    return Request(horizontal_sizes, vertical_sizes, constant_args, chosen, listed)


def warn_of(program: str, types: Mapping[str, Type], request: Request, stacklevel: int) -> None:
    """Warn of static values that have no bound, of static floats, and of very many variants."""
    for name in request.open_names():
        warnings.warn(
            f"'{name}' of '{program}' ({types[name]}) is static, but its values are not known: "
            f"every new value compiles another variant. List them: 'variants={{\"{name}\": [...]}}'"
            ", or leave it out of 'static_args'.",
            SetUpWarning,
            stacklevel=stacklevel,
        )
    for name in request.variants:
        if _is_float(types[name]):
            warnings.warn(
                f"'{name}' of '{program}' is a {types[name]} in 'variants': only calls with "
                "exactly these numbers, to the last bit, find their variant.",
                SetUpWarning,
                stacklevel=stacklevel,
            )
    count = math.prod(len(values) for values in request.variants.values())
    if count > MANY_VARIANTS:
        sizes = ", ".join(f"{name}: {len(each)}" for name, each in request.variants.items())
        warnings.warn(
            f"The set-up of '{program}' compiles {count} variants ({sizes}).",
            SetUpWarning,
            stacklevel=stacklevel,
        )


def _check_names(
    program: str, types: Mapping[str, Type], groups: Mapping[str, Mapping[str, Any]]
) -> None:
    seen: dict[str, str] = {}
    for where, members in groups.items():
        for name in members:
            if name not in types:
                raise ArgumentError(
                    f"'{where}' names '{name}', which is no parameter of '{program}'.",
                    hint=_meant(name, types),
                )
            if name in seen:
                raise ArgumentError(
                    f"'{name}' of '{program}' is given twice: in '{seen[name]}' and in '{where}'."
                )
            seen[name] = where


def _check_static(program: str, types: Mapping[str, Type], chosen: Sequence[str]) -> None:
    for name in chosen:
        if name in GROUPS:
            continue
        if name not in types:
            raise ArgumentError(
                f"'static_args' names '{name}', which is neither a group nor a parameter of "
                f"'{program}'.",
                hint=_meant(name, [*GROUPS, *types]),
            )
        if not _is_number(types[name]):
            raise ArgumentError(
                f"'{name}' of '{program}' cannot be static: it is a '{types[name]}', and only "
                "scalars are compiled in."
            )


def _check_size(program: str, where: str, name: str, expected: Type, value: Any) -> None:
    if not (isinstance(expected, ScalarType) and expected.name.startswith("int")):
        raise ArgumentError(
            f"'{name}' in '{where}' is no size: '{program}' declares it as '{expected}'.",
            hint="Sizes are integers; give fields and other scalars as 'constant_args'.",
        )
    _check_type(program, where, name, expected, value)


def _check_type(program: str, where: str, name: str, expected: Type, value: Any) -> None:
    """Refuse a scalar or field of another type; the call itself checks arrays and collections."""
    is_field = getattr(type(value), "__fieldforge_field__", False)
    if not isinstance(expected, ScalarType) and not (isinstance(expected, FieldType) and is_field):
        return
    try:
        found: Any = type_of_value(value)
    except FieldforgeError:
        found = type(value).__name__
    if found != expected:
        raise ArgumentError(
            f"'{name}' in '{where}' of '{program}' must be a '{expected}', got a '{found}'.",
            hint="Numbers are never converted silently; give one of the type of the parameter.",
        )


def _listed(program: str, name: str, expected: Type, values: Any) -> tuple[Any, ...]:
    if not _is_number(expected):
        raise ArgumentError(
            f"'{name}' in 'variants' is a '{expected}'; only scalars of '{program}' have variants.",
            hint="Give fields that do not change as 'constant_args', others at the call.",
        )
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ArgumentError(
            f"'{name}' in 'variants' takes a list of values, got '{values!r}'.",
            hint=f"A single value is a constant: 'constant_args={{\"{name}\": {values!r}}}'.",
        )
    listed = tuple(dict.fromkeys(values))
    if not listed:
        raise ArgumentError(f"'{name}' in 'variants' of '{program}' has no values.")
    for value in listed:
        _check_type(program, "variants", name, expected, value)
    return listed


def _is_number(type_: Type) -> bool:
    return isinstance(type_, ScalarType)


def _is_float(type_: Type) -> bool:
    return isinstance(type_, ScalarType) and type_.name.startswith("float")


def _meant(name: str, known: Iterable[str]) -> str | None:
    close = nearest(name, known)
    return f"Did you mean '{close}'?" if close else None
