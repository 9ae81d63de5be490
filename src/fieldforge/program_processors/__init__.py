"""Counterpart of `gt4py.next.program_processors`."""
