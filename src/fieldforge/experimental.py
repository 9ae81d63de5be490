"""Counterpart of `gt4py.next.experimental`: choice by region, and shifts by a field."""

from .runtime.embedded.builtins import as_offset, concat_where

__all__ = ["as_offset", "concat_where"]
