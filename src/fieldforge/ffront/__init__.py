"""Counterpart of `gt4py.next.ffront`: decorators and builtins."""
