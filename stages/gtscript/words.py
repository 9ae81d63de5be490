"""The words of GTScript that no definition gives another meaning."""

from __future__ import annotations

from typing import Final

PACKAGES: Final = ("", "gt4py.cartesian.", "fieldforge.cartesian.")  # 'migrate' writes the last
EXTERNAL_MODULES: Final = tuple(f"{package}__externals__" for package in PACKAGES)
MODULES: Final = (*EXTERNAL_MODULES, *(f"{package}__gtscript__" for package in PACKAGES))

AXES: Final = ("I", "J", "K")
ORDERS: Final = {"PARALLEL": "parallel", "FORWARD": "forward", "BACKWARD": "backward"}

# functions of the language, and the operations of the dataflow IR that they are
FUNCTIONS: Final = {
    "abs": "abs", "min": "minimum", "max": "maximum", "mod": "mod",
    "sin": "sin", "cos": "cos", "tan": "tan",
    "asin": "arcsin", "acos": "arccos", "atan": "arctan",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "sqrt": "sqrt", "exp": "exp", "log": "log", "gamma": "gamma", "cbrt": "cbrt",
    "isfinite": "isfinite", "isinf": "isinf", "isnan": "isnan",
    "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    "log10": "log10", "erf": "erf", "erfc": "erfc",
    "round": "round", "round_away_from_zero": "round_away_from_zero",
}  # fmt: skip
CASTS: Final = ("int32", "int64", "float32", "float64", "int", "float")

BUILTINS: Final = frozenset(
    (
        *ORDERS, *FUNCTIONS, *CASTS,
        "computation", "interval", "horizontal", "region", "compile_assert", "__INLINED",
        "I", "J", "K", "IJ", "IK", "JK", "IJK", "Field", "GlobalTable", "externals", "bool",
    )
)  # fmt: skip
