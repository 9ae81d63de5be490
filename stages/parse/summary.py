"""What a call has to know of a definition without reading its tree: signature and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import attrs

from ...runtime.language.types import OperatorType
from ..ir import codec


@attrs.frozen
class Summary:
    """The signature of a definition, and what it reaches through everything that it calls.

    `tables` are the neighbour tables by name, sorted; those that must be in the offset provider
    are marked, the others only say where neighbours are missing. `outputs` are the leaves that
    the statements of a program write without a domain, for each statement that has several.
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
        return {"summary.json": codec.encode(attrs.astuple(self, recurse=False))}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Read the table back."""
        return cls(*codec.decode(files["summary.json"]))
