"""`report`: one file of HTML that tells builds, runs and recorded steps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..reports.page import page
from .collecting import shown, sorted_out


def report(
    *things: Any, to: str | os.PathLike[str] = "report.html", measured: bool = False
) -> Path:
    """Write a page about builds: one file of HTML, at most 1 MB, that needs no network.

    Args:
        things: programs and operators; pairs of one and the arguments of a call by name, which is
            then measured; traces; steps of `record`; results of `precompile`; plans; paths of lock
            files.
        to: the file, which is replaced.
        measured: whether the calls of recorded steps are measured. Fields that they write have
            their values back afterwards.

    Raises:
        ArgumentError: for anything else.

    >>> import tempfile
    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator(backend=ff.cpu)
    ... def doubled(u: Line) -> Line:
    ...     return u + u
    >>> arguments = {"u": ff.ones({I: 1000}), "out": ff.zeros({I: 1000})}
    >>> path = report((doubled, arguments), to=f"{tempfile.mkdtemp()}/doubled.html")
    >>> "of a copy" in path.read_text()
    True
    """
    builds, steps = sorted_out(view for thing in things for view in shown(thing, measured=measured))
    path = Path(to)
    path.write_text(page(builds, steps), encoding="utf-8")
    return path
