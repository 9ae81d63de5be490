"""Counterpart of `gt4py.next.ffront.fbuiltins`: the builtins, types and classes of operators."""

from ..runtime.embedded.builtins import *  # noqa: F403  (the builtins of the language, by their '__all__')
from ..runtime.embedded.builtins import __all__ as _builtins
from ..runtime.fields.field import Field
from ..runtime.language.annotations import Dims
from ..runtime.language.connectivity import FieldOffset
from ..runtime.language.dimension import Dimension, DimensionKind

__all__ = ["Dimension", "DimensionKind", "Dims", "Field", "FieldOffset", *_builtins]
