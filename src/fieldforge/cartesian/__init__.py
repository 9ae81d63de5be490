"""Counterpart of `gt4py.cartesian`: stencils in GTScript.

>>> import numpy as np
>>> from fieldforge.cartesian import gtscript
>>> from fieldforge.cartesian.gtscript import PARALLEL, Field, computation, interval
>>> @gtscript.stencil(backend="numpy")
... def slope(a: Field[float], b: Field[float]):
...     with computation(PARALLEL), interval(...):
...         b = a[1, 0, 0] - a
>>> a = np.arange(4.0).reshape(4, 1, 1) ** 2
>>> b = np.zeros((3, 1, 1))
>>> slope(a, b)
>>> b.ravel()
array([1., 3., 5.])
"""

import typing

from . import (
    backend,
    caching,
    config,
    definitions,
    frontend,
    gtscript,
    loader,
    stencil_builder,
    stencil_object,
    type_hints,
)
from .stencil_object import StencilObject

__all__ = [
    "StencilObject",
    "backend",
    "caching",
    "config",
    "definitions",
    "frontend",
    "gtscript",
    "loader",
    "stencil_builder",
    "stencil_object",
    "type_hints",
    "typing",
]
