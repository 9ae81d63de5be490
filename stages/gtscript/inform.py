"""Tell what calls of a stencil need to know, without an engine."""

from __future__ import annotations

from .definition import StencilDefinition
from .info import StencilInfo
from .parse import parse


def info_of(definition: StencilDefinition) -> StencilInfo:
    """Return accesses, boundaries and least levels of a stencil."""
    info = parse(definition)["info"]
    assert isinstance(info, StencilInfo)  # the port has this class
    return info
