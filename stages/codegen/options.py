"""The options that all code generators have, each with one meaning."""

from __future__ import annotations

from ...runtime.process import classes
from .. import EXACTNESS, FLAG, FUNCTIONS, VALUE_NAMES, VALUES, option


@classes.frozen(kw_only=True)
class CodegenOptions:
    """The options of a code generator.

    Attributes:
        arrays: values that become arrays, against the cost model: rows of the listing of `lower`
            (as in '%12'), or digests of expressions (as in '%:5d0f32b2c1a4'), which outlast edits.
        inline: values that are recomputed at each use, against the cost model.
        numerics: 'strict' keeps to scalar functions of the C library; 'contract' vectorises them
            (within 4 ulp); 'fast' lets the compiler reorder sums and multiply by reciprocals.
        mathematics: 'own' writes our transcendental functions out (`mathematics/`) where `numerics`
            is 'contract' and the target has a fused multiply-add, so that all targets give the same
            values; 'library' takes those of the C library or of the GPU's vendor.
        checked: whether writing a number that is not finite is an error, and a missing neighbour
            is NaN; `program.checked` sets it.

    """

    arrays: tuple[str, ...] = option(VALUE_NAMES, (), tune=[VALUES])
    inline: tuple[str, ...] = option(VALUE_NAMES, (), tune=[VALUES])
    numerics: str = option(EXACTNESS, "contract")
    mathematics: str = option(FUNCTIONS, "own")
    checked: bool = option(FLAG, False)
