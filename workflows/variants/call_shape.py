"""`CallShape`: the parameters of one function, and the variant that a call of it needs.

Static arguments: scalars whose values are compiled in and select the variant of a call.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...runtime.fields.bare_array import with_fields
from ...runtime.language import Definition, ScalarType, Type, leaves, leaves_of, type_of_value
from ...runtime.language.operations import of_same_value
from ...runtime.process import DSLTypeError, FieldforgeError, classes
from ...stages.artifacts import Variant
from ...stages.ir.literal import number, spell
from ...stages.parse.summary import Summary
from ..builds.building import OUT, call_parameters, summary
from ..engine.handle import Handle
from .known_domains import ranges_of, ranges_told
from .naming import Groups, alike_outputs, all_alike, default_variant, leaf_name, variant_of
from .tables import tables_of

Provider: TypeAlias = Mapping[str, Any] | None


@classes.define(eq=False)
class CallShape:
    """The parameters of one function, and the variant that a call of it needs.

    Attributes:
        source: returns the definition as it is now.
        parameters: names of the call's parameters in order.
        static: parameters whose values are compiled in.
        static_domains: whether the domains of all fields are compiled in.
        alike: outputs of an operator that are written on the same ranges; None for all.
        checked: the summary of the function, if a check has made it.

    """

    source: Callable[[], Definition]
    parameters: tuple[str, ...]
    static: tuple[str, ...] = ()
    static_domains: bool = False
    alike: Groups | None = None
    checked: Handle | None = classes.field(default=None, init=False)
    _summary: Summary | None = classes.field(default=None, init=False)

    @property
    def summary(self) -> Summary:
        """The signature of the function and the neighbour tables that it reads."""
        found = self._summary
        if found is None:
            definition = self.source()  # drops what was checked if the function has changed
            found = summary(definition) if self.checked is None else self.checked.get()
            self._summary = found
        return found

    @property
    def types(self) -> Mapping[str, Type]:
        """The types of the function's own parameters."""
        return dict(self.summary.signature.parameters)

    def choose_static(self, names: tuple[str, ...]) -> None:
        """Compile in the values of these parameters."""
        self.static = names

    def forget(self) -> None:
        """Read the signature again at its next use."""
        self._summary = self.checked = None

    def by_name(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments by name, with fields in the place of bare arrays."""
        return self.with_fields({**dict(zip(self.parameters, args, strict=False)), **kwargs})

    def with_fields(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Replace bare arrays by fields where the parameter is a field."""
        types = dict(call_parameters(self.summary))
        return {name: with_fields(types.get(name), value) for name, value in values.items()}

    def variant(self, values: Mapping[str, Any], provider: Provider) -> Variant:
        """Return the variant for arguments by name; without ranges, see `with_ranges`."""
        tables = tables_of(provider, self.summary.tables)
        static = self.static_of(values) if self.static else ()
        found = variant_of(self.parameters, (), values, tables, static)
        # with `domain=`, `alike` is already the result of comparing its bounds
        alike = self._alike() if found.domain else alike_outputs(self._alike(), values)
        return classes.evolve(found, alike=alike)

    def with_ranges(self, variant: Variant, values: Mapping[str, Any]) -> Variant:
        """Return the variant that has the domains of these arguments compiled in."""
        return classes.evolve(variant, ranges=ranges_of(self.parameters, values))

    def default(
        self, provider: Provider, static: Static = (), domains: Mapping[Any, Any] | None = None
    ) -> Variant:
        """Return the variant for fields that our own constructors make.

        `domains` are compiled in; `ranges_told` describes their form.
        """
        known = self.summary
        parameters = call_parameters(known)
        found = default_variant(parameters, False, tables_of(provider, known.tables), static)
        ranges = () if domains is None else ranges_told(self.source().name, parameters, domains)
        return classes.evolve(found, alike=self._alike(), ranges=ranges)

    def static_of(self, values: Mapping[str, Any]) -> Static:
        """Return the static leaves of a call, none where a value is no number of its type."""
        types = self.types
        try:
            found = [spelled(types, name, values[name]) for name in sorted(self.static)]
        except (KeyError, ValueError, OverflowError, TypeError):
            return ()  # the native core refuses the call
        return tuple(leaf for leaves in found for leaf in leaves)

    def _alike(self) -> Groups:
        """Return the groups of outputs that the variant writes on the same ranges."""
        result = self.summary.signature.result
        if result is None:
            return self.summary.outputs
        return all_alike(OUT, result) if self.alike is None else self.alike


Static: TypeAlias = tuple[tuple[str, str], ...]


def combinations(types: Mapping[str, Type], given: Mapping[str, Sequence[Any]]) -> Iterator[Static]:
    """Yield every combination of static values, as leaves and their canonical spelling.

    >>> int32 = ScalarType("int32")
    >>> list(combinations({"n": int32, "m": int32}, {"n": [1, 2], "m": [3]}))
    [(('m', '3'), ('n', '1')), (('m', '3'), ('n', '2'))]
    """
    columns = [[_checked(name, types, value) for value in given[name]] for name in sorted(given)]
    for row in itertools.product(*columns):
        yield tuple(itertools.chain.from_iterable(row))


def check_names(types: Mapping[str, Type], names: Iterable[str], program: str) -> None:
    """Refuse static parameters that do not exist, or whose values cannot be compiled in."""
    for name in names:
        if name not in types:
            raise DSLTypeError(
                None,
                f"Invalid parameter expression '{name}' in the static parameters of '{program}'.",
                hints=[f"Its parameters are {', '.join(map(repr, types)) or 'none'}."],
            )
        if any(not isinstance(leaf, ScalarType) for _, leaf in leaves(types[name])):
            raise DSLTypeError(
                None,
                f"Invalid static argument '{name}' with type '{types[name]}'.",
                hints=["Only scalars and tuples of scalars can be static."],
            )


def spelled(types: Mapping[str, Type], name: str, value: Any) -> Static:
    """Return the static leaves of the argument of a call; `ValueError` if it does not fit."""
    found = dict(leaves_of(_plain(value)))
    return tuple(
        (leaf_name(name, path), _text(found[path], leaf))
        for path, leaf in leaves(types[name])
        if isinstance(leaf, ScalarType)
    )


def static_rows(
    types: Mapping[str, Type], names: Sequence[str], static: Static
) -> Iterator[tuple[str, object, Callable[[object], bool]]]:
    """Yield each static parameter with its value in a variant and a test for other values.

    A variant without values serves calls whose values are no numbers, and refuses them.
    """
    known = dict(static)
    for name in names:
        if not static:
            yield name, static_rows, _Unfit(types, name)
            continue
        wanted = tuple(
            (leaf, known[leaf])
            for leaf in (leaf_name(name, path) for path, _ in leaves(types[name]))
        )
        yield name, _single(types[name], wanted), _Same(types, name, wanted)


@classes.frozen
class _Same:
    """Tests whether a value is the variant's: whether the code spells it the same."""

    types: Mapping[str, Type]
    name: str
    wanted: Static

    def __call__(self, given: object) -> bool:
        return spelled(self.types, self.name, given) == self.wanted


@classes.frozen
class _Unfit:
    """Tests whether a value is no number of its type."""

    types: Mapping[str, Type]
    name: str

    def __call__(self, given: object) -> bool:
        try:
            spelled(self.types, self.name, given)
        except (KeyError, ValueError, OverflowError, TypeError):
            return True
        return False


def _single(type_: Type, wanted: Static) -> object:
    """Return the number of a scalar parameter, or the leaves of a tuple."""
    if isinstance(type_, ScalarType):
        return number(wanted[0][1], type_.name).item()
    return wanted


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, enum.Enum) else value


def _text(value: Any, type_: ScalarType) -> str:
    value = _plain(value)
    if not isinstance(value, bool | int | float | np.generic):
        raise ValueError("Only numbers are static.")
    return spell(np.dtype(type_.name).type(value))


def _checked(name: str, types: Mapping[str, Type], value: Any) -> Static:
    expected = types[name]
    try:
        found: Any = type_of_value(value)
    except FieldforgeError:
        found = type(value).__name__
    if found != expected and _as_declared(value, expected) is None:
        raise DSLTypeError(
            None,
            f"Invalid static argument '{name}': expected '{expected}', but static value "
            f"'{value}' has type '{found}'.",
            hints=["Give a number that the type of the parameter represents exactly."],
        )
    return spelled(types, name, value)


def _as_declared(value: Any, type_: Type) -> Any:
    """Return a Python number as one of a scalar type; None if the type lacks that number."""
    return of_same_value(_plain(value), type_.name) if isinstance(type_, ScalarType) else None
