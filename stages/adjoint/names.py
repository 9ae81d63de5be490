"""The names of derivatives, and of what they take beside the parameters of a program."""

from __future__ import annotations

from ...runtime.language import FieldType
from ...runtime.process import classes


def partner(name: str, names: str) -> str:
    """Return the name of the derivative of a parameter or of a leaf.

    >>> partner("u", "{}_b"), partner("pair.0.1", "{}_b")
    ('u_b', 'pair_b.0.1')
    """
    parameter, dot, path = name.partition(".")
    return names.format(parameter) + dot + path


@classes.frozen
class Weights:
    """A parameter that is also given along a transposed table.

    Attributes:
        parameter: a field with a value for each slot of a table.
        table: the name of its transpose.
        type: what is given, with the slots of the transpose.

    """

    parameter: str
    table: str
    type: FieldType

    @property
    def name(self) -> str:
        """The parameter that has the values along the transpose.

        >>> from fieldforge.runtime.language import ScalarType
        >>> Weights("share", "V2C_t", FieldType((), ScalarType("float64"))).name
        'share_V2C_t'
        """
        return f"{self.parameter}_{self.table}"
