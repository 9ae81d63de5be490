"""Counterpart of `gt4py.next.ffront.experimental`; the same as `fieldforge.experimental`."""

from ..experimental import as_offset, concat_where

__all__ = ["as_offset", "concat_where"]
