"""The error of a variant that cannot go on; needs nothing but Python."""

from __future__ import annotations


class GaveUpError(Exception):
    """A variant cannot run any more; it takes no part in further rounds and has no times."""
