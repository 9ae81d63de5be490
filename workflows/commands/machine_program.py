"""The program that `fieldforge doctor --machine` times: differences of neighbouring rows."""

from ...runtime.fields.field import Field
from ...runtime.language.annotations import Dims
from ...runtime.language.dimension import Dimension
from ..entries.decorators import field_operator, program

ROWS, COLUMNS = Dimension("I"), Dimension("J")
Plane = Field[Dims[ROWS, COLUMNS], float]


@field_operator
def difference(u: Plane) -> Plane:
    """Subtract each row from the next."""
    return u(ROWS + 1) - u


@program
def differ(u: Plane, out: Plane) -> None:
    """Write the differences."""
    difference(u, out=out)
