"""Boxes of indices: which lies in which, and what holds two."""

from .grids import Box


def inside(small: Box, large: Box) -> bool:
    """Tell whether one box lies in another."""
    return all(
        large[dim][0] <= start and stop <= large[dim][1] for dim, (start, stop) in small.items()
    )


def hull(one: Box | None, other: Box) -> Box:
    """Return the smallest box around two."""
    if one is None:
        return dict(other)
    return {
        dim: (min(one[dim][0], start), max(one[dim][1], stop))
        for dim, (start, stop) in other.items()
    }
