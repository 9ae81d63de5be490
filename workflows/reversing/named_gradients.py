"""Gradients with respect to arrays of xarray, as arrays of xarray."""

from __future__ import annotations

from typing import Any


def named(field: Any, name: str, start: Any) -> Any:
    """Return a gradient like the array of xarray that it belongs to; otherwise the field.

    It keeps dimensions and coordinates. Its units are those of a cost that has none.
    """
    if not hasattr(start, "coords"):
        return field
    made = start.copy(data=field.asnumpy())
    made.name = f"dJ_d{name}"
    own, units = start.attrs.get("long_name", name), start.attrs.get("units")
    made.attrs = {"long_name": f"derivative of the cost by {own}"}
    if units is not None:
        made.attrs["units"] = f"({units})-1"
    return made
