"""The programs that `fieldforge doctor --machine` times: differences of rows, and products."""

from ...runtime.fields import Field
from ...runtime.language import Dimension, Dims
from ..entries.decorators import field_operator, program

ROWS, COLUMNS = Dimension("I"), Dimension("J")
Plane = Field[Dims[ROWS, COLUMNS], float]


@field_operator
def difference(u: Plane) -> Plane:
    """Subtract each row from the next."""
    return u(ROWS + 1) - u


@field_operator
def product(u: Plane) -> Plane:
    """Multiply and add often, with few loads."""
    v = u * u + 1.0
    v = v * u + 2.0
    v = v * u + 3.0
    v = v * u + 4.0
    v = v * u + 5.0
    v = v * u + 6.0
    v = v * u + 7.0
    return v * u + 8.0


@program
def multiply(u: Plane, out: Plane) -> None:
    """Write the products."""
    product(u, out=out)


@program
def differ(u: Plane, out: Plane) -> None:
    """Write the differences."""
    difference(u, out=out)
