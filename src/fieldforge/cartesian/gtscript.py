"""Counterpart of `gt4py.cartesian.gtscript`: the decorators, and the words of GTScript."""

# ruff: noqa: F401, PLC0414  (names that no star import takes are re-exported by 'as')
import types as types

from numpy import float32, float64, int32, int64

from ..runtime.words.axes import (
    IJ,
    IJK,
    IK,
    JK,
    Axis as Axis,
    AxisIndex as AxisIndex,
    AxisInterval as AxisInterval,
    I,
    J,
    K,
    ShiftedAxis as ShiftedAxis,
    mask_from_axes as mask_from_axes,
)
from ..runtime.words.field_types import (
    VALID_DATA_TYPES as _VALID_DATA_TYPES,
    Field,
    FieldDescriptor as _FieldDescriptor,
    GlobalTable as GlobalTable,
    Sequences as Sequence,
)
from ..runtime.words.vocabulary import BACKWARD, FORWARD, PARALLEL, WORDS as _WORDS
from ..workflows.cartesian.decorators import (
    enum as enum,
    function,
    lazy_function as lazy_function,
    lazy_stencil,
    stencil,
)

computation = _WORDS["computation"]
interval = _WORDS["interval"]
horizontal = _WORDS["horizontal"]
region = _WORDS["region"]
__INLINED = _WORDS["__INLINED"]
compile_assert = _WORDS["compile_assert"]
externals = _WORDS["externals"]
abs = _WORDS["abs"]  # noqa: A001  (the name in GTScript)
min = _WORDS["min"]  # noqa: A001  (the name in GTScript)
max = _WORDS["max"]  # noqa: A001  (the name in GTScript)
mod = _WORDS["mod"]
sin = _WORDS["sin"]
cos = _WORDS["cos"]
tan = _WORDS["tan"]
asin = _WORDS["asin"]
acos = _WORDS["acos"]
atan = _WORDS["atan"]
sinh = _WORDS["sinh"]
cosh = _WORDS["cosh"]
tanh = _WORDS["tanh"]
asinh = _WORDS["asinh"]
acosh = _WORDS["acosh"]
atanh = _WORDS["atanh"]
sqrt = _WORDS["sqrt"]
exp = _WORDS["exp"]
log = _WORDS["log"]
log10 = _WORDS["log10"]
gamma = _WORDS["gamma"]
cbrt = _WORDS["cbrt"]
isfinite = _WORDS["isfinite"]
isinf = _WORDS["isinf"]
isnan = _WORDS["isnan"]
floor = _WORDS["floor"]
ceil = _WORDS["ceil"]
trunc = _WORDS["trunc"]
erf = _WORDS["erf"]
erfc = _WORDS["erfc"]
round = _WORDS["round"]  # noqa: A001  (the name in GTScript)
round_away_from_zero = _WORDS["round_away_from_zero"]
__externals__ = "Placeholder"
__gtscript__ = "Placeholder"

# What a star import takes; the other names are imported one by one.
__all__ = [
    "BACKWARD",
    "FORWARD",
    "IJ",
    "IJK",
    "IK",
    "JK",
    "PARALLEL",
    "__INLINED",
    "Field",
    "I",
    "J",
    "K",
    "Sequence",
    "__externals__",
    "__gtscript__",
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cbrt",
    "ceil",
    "compile_assert",
    "computation",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "exp",
    "externals",
    "float32",
    "float64",
    "floor",
    "function",
    "gamma",
    "horizontal",
    "int32",
    "int64",
    "interval",
    "isfinite",
    "isinf",
    "isnan",
    "lazy_stencil",
    "log",
    "log10",
    "max",
    "min",
    "mod",
    "region",
    "round",
    "round_away_from_zero",
    "sin",
    "sinh",
    "sqrt",
    "stencil",
    "tan",
    "tanh",
    "trunc",
]
