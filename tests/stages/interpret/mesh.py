"""A small mesh, its tables, and a call that runs an operator embedded and interpreted."""

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

import fieldforge as ff
from fieldforge.stages.artifacts import Lowered, Variant
from fieldforge.stages.interpret.stage import Entry
from fieldforge.stages.lower.passes import PASSES, lower
from fieldforge.stages.parse.trees import parse_all

from ...dimensions import C2CDim, C2EDim, Cell, E2CDim, Edge

LOCAL, VERTICAL = ff.DimensionKind.LOCAL, ff.DimensionKind.VERTICAL
K = ff.Dimension("K", VERTICAL)

EDGES = np.stack([np.arange(14) % 9, np.arange(14) * 2 % 9 + 1], axis=1) % 9
EDGES[3, 1] = EDGES[5] = -1

SIZES = {Cell: 9, Edge: 14, K: 6, E2CDim: 2, C2EDim: 3, C2CDim: 4}
PROVIDER = {
    "E2C": ff.as_connectivity(
        [Edge, E2CDim],
        Cell,
        EDGES,
    ),
    "C2E": ff.as_connectivity(
        [Cell, C2EDim], Edge, np.arange(27).reshape(9, 3) * 5 % 14, skip_value=None
    ),
    "C2C": ff.as_connectivity(
        [Cell, C2CDim],
        Cell,
        np.where(np.eye(9, 4, dtype=bool), -1, np.arange(36).reshape(9, 4) % 9),
    ),
    "Koff": K,
}
TABLES = tuple(
    (name, table.shape[1], table.skip_value is not None)
    for name, table in sorted(PROVIDER.items())
    if name != "Koff"
)


def field(*dims: ff.Dimension, dtype: Any = np.float64, seed: int = 0) -> Any:
    """Return random numbers; small ones if they are integers."""
    numbers = np.random.default_rng(seed)
    shape = [SIZES[dim] for dim in dims]
    whole = np.dtype(dtype).kind in "iu"
    data = numbers.integers(-5, 5, shape) if whole else numbers.normal(size=shape)
    return ff.as_field(list(dims), data.astype(dtype))


def leaves(value: Any) -> list[Any]:
    """Return the fields inside tuples."""
    return (
        [leaf for each in value for leaf in leaves(each)] if isinstance(value, tuple) else [value]
    )


def interpreted(
    operator: Any,
    args: tuple[Any, ...],
    out: Any,
    domain: Mapping[ff.Dimension, tuple[int, int]] | None = None,
    passes: Any = PASSES,
    **facts: Any,
) -> Lowered:
    """Lower an operator and run it with the interpreter; a listing is as good as the program."""
    variant = Variant(tables=TABLES, domain=domain is not None, **facts)
    lowered = lower(parse_all(operator.__definition__)["parsed"], variant, passes)
    again = Lowered.from_files(lowered.files())
    assert again == lowered
    bounds = [
        np.int64(bound)
        for leaf in leaves(out)
        for dim in (leaf.domain.dims if domain else ())
        for bound in (domain or {})[dim]
    ]
    Entry(again)(*args, out, *bounds, offset_provider=PROVIDER)
    return lowered


def assert_agreement(
    operator: Any,
    *args: Any,
    out: Any,
    domain: Mapping[ff.Dimension, tuple[int, int]] | None = None,
) -> None:
    """Compare embedded execution with the interpreter, with and without the passes."""
    expected = copy.deepcopy(out)
    given = {} if domain is None else {"domain": dict(domain)}
    operator(*args, out=expected, offset_provider=PROVIDER, **given)
    for passes in (PASSES, ()):
        result = copy.deepcopy(out)
        interpreted(operator, args, result, domain, passes)
        for ours, theirs in zip(leaves(result), leaves(expected), strict=True):
            np.testing.assert_array_equal(ours.asnumpy(), theirs.asnumpy(), strict=True)
