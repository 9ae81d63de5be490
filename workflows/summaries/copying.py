"""The program that measured runs are compared with: a copy of a field."""

from ...runtime.fields import Field
from ...runtime.language import Dimension, Dims
from ..entries.decorators import field_operator, program

ROWS, COLUMNS = Dimension("I"), Dimension("J")
Plane = Field[Dims[ROWS, COLUMNS], float]


@field_operator
def same(u: Plane) -> Plane:
    """Return the field."""
    return u


@program
def copy(u: Plane, out: Plane) -> None:
    """Copy a field."""
    same(u, out=out)
