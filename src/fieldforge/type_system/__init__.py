"""Counterpart of `gt4py.next.type_system`: the types of the language, and how to read them."""
