"""What derivatives must know of a program: its parameters, and what it reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ...runtime.language import (
    FLOATS,
    Definition,
    FieldOffset,
    FieldType,
    ScalarType,
    Type,
    leaves,
)
from ...runtime.meshes.transposed_fields import transposed_dims
from ...runtime.meshes.transposed_tables import transposed_names
from ...runtime.process import DerivativeError, classes, did_you_mean
from ...stages.adjoint.names import Weights, partner
from ...stages.ir import syntax
from ..builds.building import parsed, summary

Wanted: TypeAlias = Sequence[str] | None


@classes.frozen(eq=False)
class Program:
    """What a derivative must know of a program: its parameters, and what it reads and writes."""

    definition: Definition
    types: Mapping[str, Type]
    read: frozenset[str]
    written: frozenset[str]

    @property
    def name(self) -> str:
        """The name of the program."""
        return self.definition.name

    def floats(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of some parameters, in order, all of whose leaves are fields of floats."""
        chosen = frozenset(names)
        return tuple(
            name
            for name in self.types
            if name in chosen
            and all(isinstance(leaf, FieldType) for _, leaf in leaves(self.types[name]))
            and not self.not_floats(name)
        )

    def not_floats(self, name: str) -> str:
        """Return the first leaf type of a parameter that is no float; empty if there is none."""
        for _, leaf in leaves(self.types[name]):
            dtype = leaf.dtype if isinstance(leaf, FieldType) else leaf
            if not isinstance(dtype, ScalarType) or dtype.name not in FLOATS:
                return str(leaf)
        return ""

    def partner(self, name: str, names: str) -> str:
        """Return the name of the derivative of a parameter; one that is taken is an error."""
        found = partner(name, names)
        if found in self.types:
            raise DerivativeError(
                f"'{self.name}' has a parameter '{found}', the name of the derivative of '{name}'.",
                hint="Give another pattern, such as 'names=\"{}_tangent\"'.",
            )
        return found

    def chosen(self, what: str, given: Wanted, default: tuple[str, ...]) -> tuple[str, ...]:
        """Return the parameters that an argument `wrt` or `of` names, in their order."""
        if given is None:
            return default
        for name in given:
            self._check(what, name)
        return tuple(name for name in self.types if name in given)

    def kept(self, names: Iterable[str], value: bool) -> tuple[str, ...]:
        """Return the parameters that an argument `keep` names; a call with `value` writes them."""
        found = self.chosen("keep", tuple(names), ())
        for name in found:
            if name not in self.written:
                raise DerivativeError(
                    f"'keep' names '{name}', which '{self.name}' does not write.",
                    hint=f"It writes {', '.join(sorted(self.written))}.",
                )
        if found and value:
            raise DerivativeError(
                f"'keep' names '{found[0]}', and a call with 'value=True' writes it anew.",
                hint="Leave 'keep' or 'value' out.",
            )
        return found

    def weights(self, given: Mapping[str, FieldOffset]) -> Iterator[Weights]:
        """Yield the fields that an argument `transposed` names, in their order."""
        for name in self.chosen("transposed", tuple(given), ()):
            offset, own = given[name], self.types[name]
            if not isinstance(offset, FieldOffset) or offset.is_cartesian:
                raise DerivativeError(
                    f"'transposed' gives '{offset}' for '{name}', which is no offset of a table.",
                    hint="Give the 'FieldOffset' by which the program reads neighbours.",
                )
            if not (isinstance(own, FieldType) and {*offset.target} <= {*own.dims}):
                raise DerivativeError(
                    f"'transposed' names '{name}', a '{own}', which has no slots of "
                    f"'{offset.value}'.",
                    hint=f"A field on {' and '.join(dim.value for dim in offset.target)} has them.",
                )
            table, _ = transposed_names([offset.value])
            found = Weights(name, table, FieldType(transposed_dims(offset, own.dims), own.dtype))
            if found.name in self.types:
                raise DerivativeError(
                    f"'{self.name}' has a parameter '{found.name}', the name of the values of "
                    f"'{name}' along the transposed table.",
                    hint=f"Rename it, or leave '{name}' out of 'transposed'.",
                )
            yield found

    def scalars(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return those of some parameters that are scalars of floats."""
        return tuple(name for name in names if isinstance(self.types[name], ScalarType))

    def check_fields(self, what: str, names: Iterable[str]) -> None:
        """Refuse collections that hold scalars."""
        for name in names:
            if name not in self.floats([name]) and name not in self.scalars([name]):
                raise DerivativeError(
                    f"'{what}' names '{name}', a collection that holds scalars, and adjoints of "
                    "these are fields.",
                    hint="Pass the scalars one by one.",
                )

    def _check(self, what: str, name: str) -> None:
        if name not in self.types:
            raise DerivativeError(
                f"'{what}' names '{name}', which is no parameter of '{self.name}'.",
                hint=did_you_mean(name, self.types),
            )
        if what != "keep" and self.not_floats(name):
            raise DerivativeError(
                f"'{what}' names '{name}', and '{self.not_floats(name)}' has no derivative; only "
                "floats have one."
            )
        if what == "of" and name not in self.written:
            raise DerivativeError(
                f"'of' names '{name}', which '{self.name}' does not write.",
                hint=f"It writes {', '.join(sorted(self.written))}.",
            )


def program_of(entry: Any) -> Program:
    """Return what is known of a program; an operator is refused."""
    if not hasattr(entry, "_made"):
        raise DerivativeError(f"Derivatives are made of programs, got {entry!r}.")
    definition: Definition = entry._current()
    root = parsed(definition.origin or definition).root
    if not isinstance(root, syntax.Program):
        raise DerivativeError(
            f"'{entry.__name__}' is an operator; derivatives are made of programs.",
            hint="Call it in a program; or use 'jvp' and 'vjp', which run operators in Python.",
        )
    made = entry._made.derived
    if made is None:
        read = frozenset(node.id for node in root.nodes if isinstance(node, syntax.Name))
        written = frozenset(output.parameter for each in root.body for output in each.outputs)
    else:
        read, written = made.read, made.written
    types = dict(summary(definition).signature.parameters)
    return Program(definition, types, read, written)
