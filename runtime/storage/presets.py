"""Storage presets: the layout of the arrays of each backend, ours and gt4py's."""

from __future__ import annotations

from typing import Final, Literal

from .layout import LayoutInfo, layout_checker_factory, layout_maker_factory

I_FIRST: Final = (2, 1, 0)
J_FIRST: Final = (1, 2, 0)
K_FIRST: Final = (0, 1, 2)

# name: device, elements that rows and addresses are aligned to, layout map of (I, J, K)
_PRESETS: Final[dict[str, tuple[Literal["cpu", "gpu"], int, tuple[int, int, int]]]] = {
    "numpy": ("cpu", 1, K_FIRST),
    "debug": ("cpu", 1, K_FIRST),
    "gt:cpu_kfirst": ("cpu", 1, K_FIRST),
    "gt:cpu_ifirst": ("cpu", 1, I_FIRST),
    "gt:gpu": ("gpu", 32, I_FIRST),
    "dace:cpu": ("cpu", 1, J_FIRST),
    "dace:cpu_kfirst": ("cpu", 1, K_FIRST),
    "dace:cpu_KJI": ("cpu", 1, I_FIRST),
    "dace:gpu": ("gpu", 1, I_FIRST),
    "dace:gpu_IJK": ("gpu", 1, K_FIRST),
    "cpu": ("cpu", 8, I_FIRST),
    "rows": ("cpu", 8, I_FIRST),
    "dace_cpu": ("cpu", 8, I_FIRST),
    "reference": ("cpu", 8, I_FIRST),
    "gpu": ("gpu", 32, I_FIRST),
    "gpu-host": ("cpu", 8, I_FIRST),
    "dace_gpu": ("gpu", 32, I_FIRST),
    "dace_gpu-host": ("cpu", 8, I_FIRST),
}

REGISTRY: Final[dict[str, LayoutInfo]] = {}
"""The presets by name."""


def from_name(name: str) -> LayoutInfo | None:
    """Return the preset of a backend, None if there is none.

    >>> preset = from_name("gt:cpu_ifirst")
    >>> preset["device"], preset["alignment"], preset["layout_map"](("I", "J", "K"))
    ('cpu', 1, (2, 1, 0))
    """
    return REGISTRY.get(name)


def register(name: str, info: LayoutInfo | None = None) -> None:
    """Set the preset of a name; None removes it.

    >>> register("mine", from_name("numpy"))
    >>> from_name("mine") == from_name("numpy")
    True
    >>> register("mine", None)
    >>> from_name("mine")
    """
    if info is None:
        REGISTRY.pop(name, None)
    else:
        REGISTRY[name] = info


def _preset(
    device: Literal["cpu", "gpu"], alignment: int, base: tuple[int, int, int]
) -> LayoutInfo:
    layout_map = layout_maker_factory(base)
    return {
        "alignment": alignment,
        "device": device,
        "layout_map": layout_map,
        "is_optimal_layout": layout_checker_factory(layout_map),
    }


for _name, _row in _PRESETS.items():
    register(_name, _preset(*_row))
