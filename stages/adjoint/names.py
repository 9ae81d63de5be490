"""The names of derivatives."""

from __future__ import annotations


def partner(name: str, names: str) -> str:
    """Return the name of the derivative of a parameter or of a leaf.

    >>> partner("u", "{}_b"), partner("pair.0.1", "{}_b")
    ('u_b', 'pair_b.0.1')
    """
    parameter, dot, path = name.partition(".")
    return names.format(parameter) + dot + path
