"""What notebooks show of a field: dimensions, memory and statistics, in the colours of the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final

import numpy as np

from ..language import axis_name
from ..process import DeviceType

MOST: Final = 50_000_000  # elements up to which statistics are worth their time
_CELL: Final = "text-align:left;padding:.1em .9em .1em 0;border-bottom:1px solid currentColor"


def field_html(field: Any) -> str:
    """Return a table of the dimensions of a field, and lines about its memory and values.

    >>> from ..language.dimension import Dimension
    >>> from .constructors import full
    >>> html = field_html(full({Dimension("I"): (-1, 3)}, 2.0))
    >>> "-1:3" in html, "min 2, mean 2, max 2" in html
    (True, True)
    """
    kind = ", ".join(map(axis_name, field.dims))
    rows = (
        (axis_name(dim), str(dim.kind), f"{start}:{start + size}", str(size), str(stride))
        for dim, start, size, stride in zip(
            field.dims, field.starts, field.shape, field.strides, strict=True
        )
    )
    table = rows_html(("dimension", "kind", "range", "size", "bytes to the next"), rows)
    lines = [_place(field), *_statistics(field)]
    body = "".join(f"<div>{escape(line)}</div>" for line in lines)
    return f"<div><b>Field[[{escape(kind)}], {field.dtype}]</b>{table}{body}</div>"


def rows_html(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose colours are those of the page."""
    head = "".join(f'<th style="{_CELL}">{escape(each)}</th>' for each in heads)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(each)}</td>' for each in row) + "</tr>"
        for row in rows
    )
    return f'<table style="color:inherit;border-collapse:collapse"><tr>{head}</tr>{body}</table>'


def _place(field: Any) -> str:
    size = int(np.prod(field.shape, dtype=np.int64)) * np.dtype(str(field.dtype)).itemsize
    shown = next(
        f"{size / unit:.3g} {name}"
        for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "bytes"))
        if size >= unit or unit == 1
    )
    where = "host memory"
    if field.device_type != DeviceType.CPU:
        where = f"device {DeviceType(field.device_type).name}:{field.device_id}"
    return f"{shown} in {where}"


def _statistics(field: Any) -> list[str]:
    """Return smallest, mean and largest value of a field of numbers on the host."""
    array = field.ndarray
    if not isinstance(array, np.ndarray) or not 0 < array.size <= MOST or array.dtype.kind == "b":
        return []
    good = np.isfinite(array)
    values = array[good]
    bad = array.size - values.size
    lines = []
    if values.size:
        mean = values.mean(dtype=np.float64)
        lines = [f"min {values.min():.6g}, mean {mean:.6g}, max {values.max():.6g}"]
    return [*lines, *([f"{bad} values are not finite"] if bad else [])]
