"""Draw the job: hill-shaded terrain before and after, what was taken away, and the slopes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SUN_AZIMUTH = 315.0  # degrees, the cartographers' habit: light from the north-west
SUN_ALTITUDE = 45.0


def draw(
    path: Path,
    title: str,
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    slopes: tuple[NDArray[np.float64], NDArray[np.float64]],
    spacing: tuple[float, float],
    max_slope: float,
) -> None:
    """Write the figure to `path`; heights in metres (ni, nj), spacing in metres."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.colors import Normalize

    figure, axes = plt.subplots(2, 2, figsize=(11.0, 9.2), layout="constrained")
    extent = (
        0.0,
        before.shape[0] * spacing[0] / 1000.0,
        0.0,
        before.shape[1] * spacing[1] / 1000.0,
    )
    heights = (float(before.min()), float(before.max()))
    for axis, field, name in ((axes[0, 0], before, "before"), (axes[0, 1], after, "after")):
        axis.imshow(_shaded(field, heights, spacing), extent=extent, origin="lower")
        axis.set_title(f"Terrain {name}")
    shades = plt.cm.ScalarMappable(Normalize(*heights), "gist_earth")
    figure.colorbar(shades, ax=axes[0, :], label="height (m)")
    change = (after - before).T
    most = float(np.abs(change).max()) or 1.0
    picture = axes[1, 0].imshow(
        change, extent=extent, origin="lower", cmap="RdBu_r", vmin=-most, vmax=most
    )
    axes[1, 0].set_title("After minus before")
    figure.colorbar(picture, ax=axes[1, 0], label="change (m)")
    for axis in (axes[0, 0], axes[0, 1], axes[1, 0]):
        axis.set_xlabel("west to east (km)")
        axis.set_ylabel("south to north (km)")
    _slopes(axes[1, 1], slopes, max_slope)
    figure.suptitle(title)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _shaded(
    field: NDArray[np.float64], heights: tuple[float, float], spacing: tuple[float, float]
) -> NDArray[np.float64]:
    from matplotlib.colors import LightSource

    # imshow draws row 0 at the bottom here, but LightSource takes row 0 as the northern edge
    light = LightSource(SUN_AZIMUTH, SUN_ALTITUDE)
    shaded = light.shade(
        field.T[::-1],
        _colours("gist_earth"),
        blend_mode="soft",
        vert_exag=2.0,
        dx=spacing[0],
        dy=spacing[1],
        vmin=heights[0],
        vmax=heights[1],
    )
    return np.asarray(shaded)[::-1]


def _colours(name: str):  # type: ignore[no-untyped-def]  # matplotlib has no type for a colour map
    import matplotlib as mpl

    return mpl.colormaps[name]


def _slopes(axis, slopes, max_slope: float) -> None:  # type: ignore[no-untyped-def]  # matplotlib
    width = max_slope / 40.0  # so that the limit is the edge of a bin
    bins = np.arange(0.0, float(slopes[0].max()) + 2.0 * width, width)
    for field, name, colour in zip(
        slopes, ("before", "after"), ("tab:brown", "tab:blue"), strict=True
    ):
        axis.hist(field.ravel(), bins, histtype="step", linewidth=1.5, label=name, color=colour)
    axis.axvline(max_slope, color="black", linestyle="--", linewidth=1.0, label="limit")
    axis.set_yscale("log")
    axis.set_xlabel("slope (rise over run)")
    axis.set_ylabel("cells")
    axis.set_title("Slopes")
    axis.legend()
