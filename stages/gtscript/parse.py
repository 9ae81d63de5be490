"""Parse a `StencilDefinition`: read its text, check its meaning, and tell what calls need."""

from __future__ import annotations

import ast

from .. import Artifact, Spans
from ..ir.stencil import Stencil
from .check.info import info_of_tables
from .check.races import check_races
from .definition import StencilDefinition
from .errors import GTScriptSyntaxError
from .info import used_by
from .parsed import ParsedStencil
from .read.stencil import read_stencil


def parse(definition: StencilDefinition) -> dict[str, Artifact]:
    """Return the typed tree, the facts for calls, and the places in the source."""
    try:
        return _parse(definition)
    except RecursionError:
        text = definition.source
        raise GTScriptSyntaxError(
            text.span(1, 0, 1, 1),
            f"Definition '{definition.name}' is nested too deeply to be read.",
        ) from None


def _parse(definition: StencilDefinition) -> dict[str, Artifact]:
    tables, source = read_stencil(definition)
    check_races(tables)
    docstring = ast.get_docstring(source.function) or ""
    info = info_of_tables(tables, docstring)
    used = tuple(each.name for each in used_by(info))
    root = Stencil(
        definition.name, tuple(tables.variables), tuple(tables.nodes), tuple(tables.blocks)
    )
    spans = Spans(source.name, tuple(tables.places))
    return {"parsed": ParsedStencil(root, used), "info": info, "spans": spans}
