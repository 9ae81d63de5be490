"""What decides how a program is scheduled: the target, and the options of the backend."""

from __future__ import annotations

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...machine import Machine


@classes.frozen
class Rules:
    """The target and the options that decide; `arrays` and `inline` name values, as in '%12'.

    With `columns_apart` a scan walks one column after another, whatever the layout; with `hands_on`
    scans over the same columns hand numbers on in the memory of their core. A program of
    `many_outputs`, as an adjoint, shares tiles among outputs on several boxes. `own` are the
    options of the platform, such as `GpuOptions`: its passes read them by its `options_of`.
    """

    target: Machine
    arrays: tuple[str, ...] = ()
    inline: tuple[str, ...] = ()
    units: tuple[tuple[str, Dimension], ...] = ()
    jam: bool = False
    checked: bool = False
    columns_apart: bool = False
    hands_on: bool = False
    many_outputs: bool = False
    own: object = None
