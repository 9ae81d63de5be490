"""Counterpart of `gt4py._core`."""
