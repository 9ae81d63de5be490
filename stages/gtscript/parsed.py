"""`ParsedStencil`: the typed tree of a stencil as an artifact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from ...runtime.process import classes
from ..ir import codec

if TYPE_CHECKING:  # whoever names the artifact need not import the tree
    from ..ir import stencil


@classes.frozen
class ParsedStencil:
    """The typed tree of a stencil, functions inlined and constants resolved.

    `used` are the arguments that its statements mention, in the order of the definition.
    """

    root: stencil.Stencil
    used: tuple[str, ...]

    @property
    def text(self) -> str:
        """The tree, one assignment a line."""
        from .tree_text import show

        return show(self.root)

    def files(self) -> Mapping[str, bytes]:
        """One JSON table."""
        return {"stencil.json": codec.encode((self.root, self.used))}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Read the table back."""
        return cls(*codec.decode(files["stencil.json"]))
