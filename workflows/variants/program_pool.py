"""`ProgramPool`: the read-only view of a program's variants for hooks and metrics."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ...runtime.process import classes
from ...stages.artifacts import Variant
from ..backends.backend import Backend
from .table import VariantTable


@classes.frozen(eq=False)
class ProgramPool:
    """The variants of one program under one backend that are built by now.

    Attributes:
        name: the name of the program.
        backend: compiles it; None runs embedded, which has no variants.
        compiled_programs: the entry of each variant; it grows while programs are built.

    """

    name: str
    backend: Backend | None
    compiled_programs: Mapping[Variant, Any] = classes.field(repr=False)

    @property
    def root(self) -> tuple[str, str]:
        """The names of the program and of its backend."""
        return self.name, self.backend.name if self.backend else "embedded"


def pool_of(name: str, backend: Backend | None, *tables: VariantTable) -> ProgramPool:
    """Return the view of all variants in these tables, which belong to one program."""
    entries = ChainMap(*(table.entries for table in tables))
    return ProgramPool(name, backend, MappingProxyType(entries))
