"""What `gt4py.next.ffront.fbuiltins` offers: the builtins, and what operators are written with."""

from ..runtime.annotations import Dims
from ..runtime.builtins import *  # noqa: F403  (the builtins of the language, by their '__all__')
from ..runtime.builtins import __all__ as _builtins
from ..runtime.connectivity import FieldOffset
from ..runtime.dimension import Dimension, DimensionKind
from ..runtime.field import Field

__all__ = ["Dimension", "DimensionKind", "Dims", "Field", "FieldOffset", *_builtins]
