"""Which leaves of the arguments a program writes."""

from __future__ import annotations

from collections.abc import Collection

from ...runtime.language import Definition
from ...stages.artifacts import Parsed
from ...stages.ir import syntax
from ..builds.building import OUT


def written_leaves(parsed: Parsed) -> set[str]:
    """Return the names of the fields that a program writes, or `out` and its parts."""
    root = parsed.root
    if not isinstance(root, syntax.Program):
        return {OUT}
    outputs = (output for statement in root.body for output in statement.outputs)
    return {".".join([each.parameter, *map(str, each.path)]) for each in outputs}


def leaves_written_by(definition: Definition, parsed: Parsed) -> set[str]:
    """Return the names of the fields that a program or stencil writes; a stencil knows them."""
    own = getattr(definition, "written", None)
    return written_leaves(parsed) if own is None else set(own)


def is_written(leaf: str, written: Collection[str]) -> bool:
    """Tell whether a leaf is, or lies in, one of these.

    >>> is_written("out.0", {"out"}), is_written("u", {"out"})
    (True, False)
    """
    return any(leaf == name or leaf.startswith(f"{name}.") for name in written)
