"""Counterpart of `gt4py.next.custom_layout_allocators`; the same as `allocators`."""

from .allocators import *  # noqa: F403  (the same names)
from .allocators import __all__  # noqa: F401
