"""Counterpart of `gt4py.next.embedded.nd_array_field`: the class of every field with memory."""

from ..runtime.fields.field import Field as NdArrayField

__all__ = ["NdArrayField"]
