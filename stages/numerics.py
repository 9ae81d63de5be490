"""The options `numerics` and `mathematics`: how exact floats must be, and whose functions run."""

from __future__ import annotations

from typing import Final

from .option_kinds import one_of

# strict: the bits of embedded execution, except transcendental functions (within 4 ulp)
# contract: also fused multiply-adds and vectorised functions
# fast: also sums in any order, and products with reciprocals for quotients
NUMERICS: Final = ("strict", "contract", "fast")
EXACTNESS: Final = one_of(NUMERICS)

# the source of transcendental functions in generated C++ where numerics is not strict
FUNCTIONS: Final = one_of(("own", "library"))
