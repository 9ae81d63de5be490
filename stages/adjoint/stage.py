"""The stages `tangent` and `adjoint`: from the dataflow of a program to that of its derivative."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ...runtime.process import classes
from ..artifacts import Lowered
from ..base import Artifact, Stage
from ..numerics import EXACTNESS
from ..option_kinds import option
from .names import partner


@classes.frozen
class Tangent(Stage):
    """Add tangents to a program.

    Attributes:
        parameters: those of the tangent, in order.
        wrt: parameters of the program whose values at entry are active.
        of: parameters whose written values have tangents.
        names: the pattern of the names of tangents, such as '{}_d'.
        numerics: as for `lower`.

    """

    name: ClassVar[str] = "tangent"
    needs: ClassVar[tuple[str, ...]] = ("lowered", "variant")
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"lowered": Lowered}

    parameters: tuple[str, ...] = ()
    wrt: tuple[str, ...] = ()
    of: tuple[str, ...] = ()
    names: str = "{}_d"
    numerics: str = option(EXACTNESS, "contract")

    def annotations(self, given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the parameters with their annotations, from those of the program."""
        partners = {partner(name, self.names): each for name, each in given.items()}
        yield from ((name, given.get(name, partners.get(name))) for name in self.parameters)

    def run(self, **inputs: Any) -> Mapping[str, Artifact]:
        """Derive the tangent of `lowered`."""
        from .finishing import finished
        from .leaves import with_partners
        from .tangent import tangent

        program = inputs["lowered"].program
        program = classes.evolve(program, name=self.names.format(program.name))
        leaves = with_partners(program, self.parameters, self.names, inputs["variant"])
        made = tangent(program, self.wrt, self.of, self.names, leaves)
        return {"lowered": finished(made, self.numerics)}
