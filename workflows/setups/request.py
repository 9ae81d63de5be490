"""`Request`: the arguments of one `setup`, checked against the parameters of the program."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ...runtime.fields.bare_array import advice
from ...runtime.language import FieldType, ScalarType, Type, type_of_value
from ...runtime.language.operations import of_same_value
from ...runtime.process import ArgumentError, FieldforgeError, classes, did_you_mean

VERTICAL: Final = "vertical"
HORIZONTAL: Final = "horizontal"
CONSTANTS: Final = "constants"
BOUND: Final = "bound_args"
BOUND_STATIC: Final = "bound_static_args"
# By argument of `setup`: the group of `static_args` that compiles it in, and its name in words.
_GROUP_OF: Final[Mapping[str, tuple[str, str]]] = {
    "horizontal_sizes": (HORIZONTAL, "horizontal sizes"),
    "vertical_sizes": (VERTICAL, "vertical sizes"),
    "constant_args": (CONSTANTS, "constants"),
}
SIZES: Final = ("horizontal_sizes", "vertical_sizes")
GROUPS: Final = tuple(group for group, _ in _GROUP_OF.values())
DEFAULT_STATIC: Final = (VERTICAL, CONSTANTS)
MANY_VARIANTS: Final = 32

Static: TypeAlias = str | Iterable[str] | Mapping[str, Sequence[Any]]


class SetUpWarning(UserWarning):
    """A set-up probably compiles more variants than its author wants."""


@classes.frozen(eq=False)
class Request:
    """The arguments that a set-up fixes, and those that it compiles in.

    Attributes:
        given: by argument of `setup`, such as 'vertical_sizes', the values that it fixes.
        static: the groups, and single parameters, whose values are compiled in.
        variants: all values of parameters that calls still give.

    """

    given: Mapping[str, Mapping[str, Any]]
    static: tuple[str, ...]
    variants: Mapping[str, tuple[Any, ...]]

    @property
    def fixed(self) -> dict[str, Any]:
        """Every argument that calls no longer give."""
        return {name: value for _, name, value in self._rows()}

    def static_values(self, types: Mapping[str, Type]) -> dict[str, list[Any]]:
        """Return the values to compile in, by parameter."""
        values: dict[str, list[Any]] = {name: list(each) for name, each in self.variants.items()}
        for where, name, value in self._rows():
            if _is_number(types[name]) and self._why(where, name) is not None:
                values[name] = [value]
        return values

    def reasons(self) -> dict[str, str]:
        """Return why each static parameter is one, by name."""
        found = dict.fromkeys(self.variants, "listed in 'setup'")
        for where, name, _ in self._rows():
            why = self._why(where, name)
            if why is not None:
                found[name] = why
        return found | dict.fromkeys(self.open_names(), "named in 'static_args'")

    def open_names(self) -> tuple[str, ...]:
        """Return the static parameters whose values only a call knows."""
        known = {*GROUPS, *self.fixed, *self.variants}
        return tuple(sorted(name for name in self.static if name not in known))

    def _why(self, where: str, name: str) -> str | None:
        """Return why a fixed scalar is compiled in; None if it is not."""
        if name in self.static:
            return "named in 'static_args'"
        if where == BOUND_STATIC:
            return f"given in '{BOUND_STATIC}'"
        group, said = _GROUP_OF.get(where, ("", ""))
        return f"one of the {said}" if group in self.static else None

    def _rows(self) -> Iterator[tuple[str, str, Any]]:
        for where, members in self.given.items():
            yield from ((where, name, value) for name, value in members.items())


def make_request(
    program: str,
    types: Mapping[str, Type],
    given: Mapping[str, Mapping[str, Any] | None],
    static: Static,
    variants: Mapping[str, Sequence[Any]] | None,
) -> Request:
    """Check the arguments of `setup`; a mistake is an error that names the argument.

    Args:
        program: its name.
        types: the type of each parameter.
        given: by argument of `setup`, the values that it fixes.
        static: what is compiled in; a mapping has all values of parameters, as `variants` has.
        variants: all values of parameters that calls still give.

    """
    fixed = {where: dict(members or {}) for where, members in given.items()}
    listed = {"variants": dict(variants or {})}
    if isinstance(static, Mapping):
        listed["static_args"], static = dict(static), DEFAULT_STATIC
    _check_names(program, types, fixed | listed)
    taken = {
        where: {
            name: _fixed(program, where, name, types[name], value)
            for name, value in members.items()
        }
        for where, members in fixed.items()
    }
    chosen = (static,) if isinstance(static, str) else tuple(static)
    _check_static(program, types, chosen)
    values = {
        name: _listed(program, where, name, types[name], each)
        for where, members in listed.items()
        for name, each in members.items()
    }
    return Request(taken, chosen, values)


def warn_of(program: str, types: Mapping[str, Type], request: Request, stacklevel: int) -> None:
    """Warn of static values that have no bound, of static floats, and of very many variants."""
    for name in request.open_names():
        warnings.warn(
            f"'{name}' of '{program}' ({types[name]}) is static, but its values are not known: "
            f'every new value compiles another variant. List them (\'static_args={{"{name}": '
            "[...]}'), or leave it out.",
            SetUpWarning,
            stacklevel=stacklevel,
        )
    for name in request.variants:
        if _is_float(types[name]):
            warnings.warn(
                f"'{name}' of '{program}' is a {types[name]} with listed values: only calls with "
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
                    hint=did_you_mean(name, types),
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
                hint=did_you_mean(name, [*GROUPS, *types]),
            )
        if not _is_number(types[name]):
            raise ArgumentError(
                f"'{name}' of '{program}' cannot be static: it is a '{types[name]}', and only "
                "scalars are compiled in."
            )


def _fixed(program: str, where: str, name: str, expected: Type, value: Any) -> Any:
    """Return a value as `_typed` does; refuse sizes that are no integers, and static fields."""
    if where == BOUND_STATIC and not _is_number(expected):
        raise ArgumentError(
            f"'{name}' in '{where}' of '{program}' must be a scalar, which is compiled in, got a "
            f"'{expected}'.",
            hint="Give it in 'constant_args'.",
        )
    if where in SIZES and not (
        isinstance(expected, ScalarType) and expected.name.startswith("int")
    ):
        raise ArgumentError(
            f"'{name}' in '{where}' is no size: '{program}' declares it as '{expected}'.",
            hint="Sizes are integers; give fields and other scalars as 'constant_args'.",
        )
    return _typed(program, where, name, expected, value)


def _typed(program: str, where: str, name: str, expected: Type, value: Any) -> Any:
    """Return a value, a Python number as the type of its parameter if that has the same number.

    Scalars and fields of other types are refused; the call itself checks arrays and collections.
    """
    is_field = getattr(type(value), "__fieldforge_field__", False)
    if not isinstance(expected, ScalarType) and not (isinstance(expected, FieldType) and is_field):
        return value
    try:
        found: Any = type_of_value(value)
    except FieldforgeError:
        found = type(value).__name__
    if found == expected:
        return value
    same = of_same_value(value, expected.name) if isinstance(expected, ScalarType) else None
    if same is None:
        raise ArgumentError(
            f"'{name}' in '{where}' of '{program}' must be a '{expected}', got a '{found}'.",
            hint=advice(name, expected, value),
        )
    return same


def _listed(program: str, where: str, name: str, expected: Type, values: Any) -> tuple[Any, ...]:
    if not _is_number(expected):
        raise ArgumentError(
            f"'{name}' in '{where}' is a '{expected}'; only scalars of '{program}' have variants.",
            hint="Give fields that do not change as 'constant_args', others at the call.",
        )
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ArgumentError(
            f"'{name}' in '{where}' takes a list of values, got '{values!r}'.",
            hint=f"A single value is a constant: 'constant_args={{\"{name}\": {values!r}}}'.",
        )
    listed = tuple(_typed(program, where, name, expected, value) for value in values)
    if not listed:
        raise ArgumentError(f"'{name}' in '{where}' of '{program}' has no values.")
    return tuple(dict.fromkeys(listed))


def _is_number(type_: Type) -> bool:
    return isinstance(type_, ScalarType)


def _is_float(type_: Type) -> bool:
    return isinstance(type_, ScalarType) and type_.name.startswith("float")
