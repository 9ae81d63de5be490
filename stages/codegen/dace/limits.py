"""What the DaCe backend cannot write yet, refused before DaCe is asked."""

from __future__ import annotations

from typing import Final

from ...ir import dataflow
from ..errors import CodegenError

_WORDS: Final[tuple[tuple[type[dataflow.Value], str], ...]] = (
    (dataflow.Gather, "reads a neighbour, as in 'f(E2C[0])'"),
    (dataflow.Neighbours, "reads all neighbours, as in 'f(E2C)'"),
    (dataflow.Reduce, "reduces over neighbours, as 'neighbor_sum' does"),
    (dataflow.Local, "reads one slot of a sparse field, as in 'f(E2CDim(0))'"),
    (dataflow.Displace, "reads at an offset that a field gives, as with 'as_offset'"),
    (dataflow.Region, "chooses by index, as 'concat_where' does"),
    (dataflow.Scan, "has a scan"),
)


def refuse_unsupported(program: dataflow.Dataflow) -> None:
    """Raise an error that names the first value that an SDFG cannot hold yet."""
    for row, value in enumerate(program.values):
        found = [words for kind, words in _WORDS if isinstance(value, kind)]
        if isinstance(value, dataflow.Shift) and value.onto is not value.dim:
            found = ["reads a staggered field"]
        if found:
            raise CodegenError(
                f"Program '{program.name}' {found[0]} (%{row} in the listing of stage 'lower'), "
                "which is not supported by the dace backend yet.",
                hint="Use the backend 'cpu'.",
            )
