"""Counterpart of `gt4py.next.embedded`."""
