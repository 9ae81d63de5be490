"""The stages `tangent` and `adjoint`: from the dataflow of a program to that of its derivative."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ...runtime.language import Dimension
from ...runtime.process import classes
from .. import EXACTNESS, Artifact, Lowered, Stage, Variant, option
from ..ir.dataflow import Bound, Dataflow, Leaf
from .names import Weights, partner
from .symbols import Ends

if TYPE_CHECKING:  # the stage imports its work when it runs, see docs/decisions/0005
    from .adjoint import Derived


@classes.frozen(kw_only=True)
class Derivation(Stage):
    """A stage that derives.

    Attributes:
        parameters: those of the derivative, in order.
        wrt: the parameters of the program that are active at entry.
        of: the outputs whose derivatives are computed or given.
        names: the pattern of the names of derivatives.
        numerics: as for `lower`.
        weights: the parameters that are given along transposed tables, too.

    """

    needs: ClassVar[tuple[str, ...]] = ("lowered", "variant")
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"lowered": Lowered}

    parameters: tuple[str, ...] = ()
    wrt: tuple[str, ...] = ()
    of: tuple[str, ...] = ()
    names: str = "{}_d"
    numerics: str = option(EXACTNESS, "contract")
    weights: tuple[Weights, ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """The scalars whose partners are fields."""
        return ()

    def annotations(self, given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the parameters with their annotations, from those of the program."""
        partners = {partner(name, self.names): each for name, each in given.items()}
        yield from ((name, given.get(name, partners.get(name))) for name in self.parameters)

    def run(self, **inputs: Any) -> Mapping[str, Artifact]:
        """Derive `lowered`."""
        return {"lowered": self.derived(*self._given(inputs))}

    def _given(self, inputs: Mapping[str, Any]) -> tuple[Dataflow, tuple[Leaf, ...], Variant]:
        """Return the program under its new name, the leaves of the derivative, and the variant."""
        from .leaves import with_partners

        program, variant = inputs["lowered"].program, inputs["variant"]
        program = classes.evolve(program, name=self.names.format(program.name))
        fields = frozenset(partner(name, self.names) for name in self.fields)
        leaves = with_partners(program, self.parameters, self.names, variant, fields, self.weights)
        return program, leaves, variant

    def derived(self, program: Dataflow, leaves: tuple[Leaf, ...], variant: Variant) -> Lowered:
        """Return the derivative of a program, with these leaves."""
        raise NotImplementedError


@classes.frozen(kw_only=True)
class Tangent(Derivation):
    """Add tangents to a program."""

    name: ClassVar[str] = "tangent"

    def derived(self, program: Dataflow, leaves: tuple[Leaf, ...], variant: Variant) -> Lowered:
        """Return the tangent."""
        from .finishing import finished
        from .tangent import tangent

        made = tangent(program, self.wrt, self.of, self.names, leaves)
        return finished(made, self.numerics)


@classes.frozen(kw_only=True)
class Adjoint(Derivation):
    """Replace a program by its adjoint.

    Attributes:
        added: the parameters of `wrt` whose adjoints are added to what their fields hold.
        value: whether the outputs are written too.
        scalars: the parameters of `wrt` that are scalars; their adjoints are fields.
        keep: outputs that are read as the program left them, and not computed again.

    """

    name: ClassVar[str] = "adjoint"

    added: tuple[str, ...] = ()
    value: bool = False
    scalars: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """The scalars whose partners are fields."""
        return self.scalars

    def annotations(self, given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the parameters with their annotations: the partner of a scalar is a field."""
        from ...runtime.fields.field import Field
        from ...runtime.language.annotations import field_alias

        fields: dict[str, Any] = {
            partner(name, self.names): field_alias(Field, ([], given[name]))
            for name in self.scalars
        }
        fields |= {each.name: each.type for each in self.weights}
        for name, each in super().annotations(given):
            yield name, fields.get(name, each)

    def derived(self, program: Dataflow, leaves: tuple[Leaf, ...], variant: Variant) -> Lowered:
        """Return the adjoint."""
        from .finishing import finished
        from .symbols import with_ends

        found = self._swept(program, leaves, variant)
        return finished(
            with_ends(found.program, self._ends(leaves, variant)),
            self.numerics,
            found.forward,
            found.bodies,
            self.weights,
        )

    def after_passes(self, **inputs: Any) -> Mapping[str, str]:
        """Return what the adjoint does with each value of the program, as `values`."""
        from .explaining import explained

        program, leaves, variant = self._given(inputs)
        found = self._swept(program, leaves, variant)
        return {"values": explained(found.program, found.told, program)}

    def _swept(self, program: Dataflow, leaves: tuple[Leaf, ...], variant: Variant) -> Derived:
        from .adjoint import Wanted, adjoint
        from .gathers import Tables

        def leaves_of(parameters: Sequence[str]) -> tuple[str, ...]:
            return tuple(
                leaf.name for leaf in program.leaves if leaf.name.partition(".")[0] in parameters
            )

        wanted = Wanted(
            leaves_of(self.wrt),
            leaves_of(self.of),
            frozenset(leaves_of(self.added)),
            self.value,
            self.names,
            leaves_of(self.keep),
        )
        return adjoint(program, wanted, leaves, Tables.of(program, variant))

    def _ends(self, leaves: tuple[Leaf, ...], variant: Variant) -> Ends:
        """Return the ends of fields: an output has those of its adjoint, alike fields the same."""
        from ..lower.domains import alike_in, ends

        here = {leaf.name: leaf for leaf in leaves}
        alike = alike_in(variant, here)

        def found(field: str, dim: Dimension) -> tuple[Bound, Bound] | None:
            leaf = here.get(field) or here.get(partner(field, self.names))
            return None if leaf is None else ends(leaf, dim, alike)

        return found
