"""Define stencils of tests by text, lower them, and run them on arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from fieldforge.runtime.fields.field import make
from fieldforge.runtime.language.domain import domain as make_domain
from fieldforge.stages.artifacts import Lowered, Variant
from fieldforge.stages.gtscript import AXES, StencilDefinition, StencilInfo
from fieldforge.stages.gtscript.capture import capture
from fieldforge.stages.gtscript.stage import LowerStencil, ParseStencil
from fieldforge.stages.interpret.stage import Entry

from ...sources import names_of
from .words import NAMES

Array = np.ndarray[Any, Any]


def define(text: str) -> dict[str, Any]:
    """Run the text of a module; return its names."""
    file = f"<stencil {hashlib.sha256(text.encode()).hexdigest()[:16]}>"
    return names_of(text, file, __name__="stencils", **NAMES)


def definition_of(text: str, name: str = "s", **options: Any) -> StencilDefinition:
    """Return a stencil in a text; `EXTERNALS` and `DTYPES` in it are its options."""
    names = define(text)
    given = {"externals": names.get("EXTERNALS"), "dtypes": names.get("DTYPES"), **options}
    return capture(names[name], **given)


@attrs.frozen
class Made:
    """A stencil that has been lowered."""

    info: StencilInfo
    lowered: Lowered

    def arguments(
        self, given: Mapping[str, Any], origin: Mapping[str, Any], domain: tuple[int, ...]
    ) -> list[Any]:
        """Bind arrays and numbers to the parameters of the program."""
        found = []
        sizes = dict(zip(AXES, domain, strict=True))
        for name in self.lowered.program.parameters:
            head, *place = name.split(".")
            if head == "domain":
                found.append(np.int64(sizes[place[0]]))
                continue
            value = given[head]
            leaf = next(each for each in self.lowered.program.leaves if each.name == name)
            if leaf.kind == "scalar":
                found.append(np.dtype(leaf.dtype).type(value))
                continue
            value = value[(..., *map(int, place))]
            starts = [-each for each in origin.get(head, ())[: len(leaf.dims)]]
            starts = starts or [0] * len(leaf.dims)
            ranges = {
                dim: (start, start + count)
                for dim, start, count in zip(leaf.dims, starts, value.shape, strict=True)
            }
            found.append(make(value, make_domain(ranges)))
        return found


def made(definition: StencilDefinition, variant: Variant | None = None, **options: Any) -> Made:
    """Parse and lower a stencil."""
    outputs: Any = ParseStencil().run(definition=definition)
    stage = LowerStencil(numerics="strict", **options)
    lowered: Any = stage.run(parsed=outputs["parsed"], variant=variant or Variant())["lowered"]
    return Made(outputs["info"], lowered)


def interpreted(
    text: str,
    given: Mapping[str, Any],
    domain: tuple[int, ...],
    origin: Mapping[str, Any] | None = None,
    **options: Any,
) -> Made:
    """Run a stencil by the interpreter on arrays, which it changes."""
    found = made(definition_of(text, **options))
    with np.errstate(all="ignore"):
        Entry(found.lowered)(*found.arguments(given, origin or {}, domain))
    return found
