"""The summary of a definition that calls need without parsing it: signature and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from ...runtime.language import OperatorType
from ...runtime.process import classes
from ..ir import codec


@classes.frozen
class Summary:
    """The signature of a definition, and the neighbour tables that it and its callees use.

    `tables` are the names of the neighbour tables, sorted, each with whether the offset provider
    must have it; an optional table only tells where neighbours are missing. `outputs` lists, for
    each statement that writes several leaves without a domain, those leaves.
    """

    signature: OperatorType
    tables: tuple[tuple[str, bool], ...] = ()
    unstructured: bool = False
    outputs: tuple[tuple[str, ...], ...] = ()

    @property
    def text(self) -> str:
        """The signature, and the tables."""
        rows = [f"table {name}{'' if needed else ', if given'}" for name, needed in self.tables]
        grid = "unstructured" if self.unstructured else "cartesian"
        rows += [f"written together: {', '.join(names)}" for names in self.outputs]
        return "\n".join([str(self.signature), f"grid {grid}", *rows])

    def files(self) -> Mapping[str, bytes]:
        """One JSON table."""
        return {"summary.json": codec.encode(classes.astuple(self))}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Read the table back."""
        return cls(*codec.decode(files["summary.json"]))
