"""What decides how a program is scheduled: the target, and the options of the backend."""

from __future__ import annotations

import attrs

from ....runtime.language.dimension import Dimension
from ...machine import Machine
from ..gpu_choices import NO_CHOICES, GpuChoices


@attrs.frozen
class Rules:
    """The target and the options that decide; `arrays` and `inline` name values, as in '%12'.

    With `columns_apart` a scan walks one column after another, whatever the layout. `tile_size`
    points of a tile lie along the dimension that tiles divide; with 0 the cache size decides.
    `gpu` is what options say about the threads of a GPU, `patches` what they say about patches of a
    mesh on a CPU.
    """

    target: Machine
    arrays: tuple[str, ...] = ()
    inline: tuple[str, ...] = ()
    units: tuple[tuple[str, Dimension], ...] = ()
    jam: bool = False
    checked: bool = False
    columns_apart: bool = False
    gpu: GpuChoices = NO_CHOICES
    tile_size: int = 0
    patches: tuple[int, ...] = ()
