"""Errors of derivatives: how far two may differ, by the size of the terms that they add.

Terms may cancel, so their sum does not tell how large its rounding error may be. The tape computes
the sizes of terms: it adds their absolute values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

import numpy as np

import fieldforge as ff
from fieldforge.runtime.language.active_numbers import _Entry
from fieldforge.runtime.language.structure import leaves_of, map_leaves

from .derivative_calls import Incomparable, Subject

LARGEST: Final = 1e30
MOST: Final = 10  # units of rounding of all terms together, by which a dot product may differ


@contextmanager
def terms() -> Iterator[None]:
    """Let tapes add the sizes of the terms of derivatives in the place of the terms."""
    pull = _Entry.pull
    with patch.object(_Entry, "pull", lambda entry, place, b: np.abs(pull(entry, place, b))):
        yield


def sizes(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the absolute values of fields."""
    return {
        name: map_leaves(lambda leaf: ff.as_field(leaf.domain, np.abs(leaf.asnumpy())), value)
        for name, value in values.items()
    }


def check_equal(what: str, found: Any, expected: Any, size: Any, limit: float) -> None:
    """Raise `AssertionError` where a derivative differs from another by more than its terms may."""
    every = zip(leaves_of(found), leaves_of(expected), leaves_of(size), strict=True)
    for (path, one), (_, other), (_, term) in every:
        got, meant = one.asnumpy(), other.asnumpy()
        if not np.isfinite(meant).all():
            raise Incomparable("a derivative is not finite")
        most = float(np.abs(meant).max(initial=0.0))
        if most > LARGEST:
            raise Incomparable("a derivative is too large")
        known = np.where(np.isfinite(term.asnumpy()), term.asnumpy(), 0.0)
        wrong = ~(np.abs(got - meant) <= limit * np.maximum(known, max(most, 1.0)))
        if wrong.any():
            place = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise AssertionError(
                f"{what}{list(path) or ''} at {place}: meant {meant[place]}, got {got[place]}"
            )


def check_transposed(
    subject: Subject,
    moved: Mapping[str, Any],
    pulled: Mapping[str, Any],
    moved_terms: Mapping[str, Any],
    pulled_terms: Mapping[str, Any],
) -> None:
    """Raise `AssertionError` where `<y, A x>` is not `<A' y, x>`.

    `x` are the tangents of all that the program reads, and `y` the adjoints of all that it writes.
    A field that it reads and writes is in both, so `A` hands on the points that are not written. At
    those points of an output that is only written the tangent is 0 and no adjoint gets anything.
    """
    x, y = subject.tangents, subject.adjoints
    left, right = math.fsum(_products(y, moved)), math.fsum(_products(x, pulled))
    size = max(
        np.abs(_products(y, moved_terms)).sum(),
        np.abs(_products(x, pulled_terms)).sum(),
    )
    if not math.isfinite(size):
        raise Incomparable("the terms of a derivative are not finite")
    precision = subject.precision
    if not abs(left - right) <= MOST * float(precision.eps) * size + float(precision.tiny):
        raise AssertionError(f"dot product: the tangent has {left!r}, the adjoint {right!r}")


def _products(directions: Mapping[str, Any], found: Mapping[str, Any]) -> Any:
    """Return the products of all numbers of some directions with those that were found."""
    products = [
        np.float64(a.asnumpy()).ravel() * np.float64(b.asnumpy()).ravel()
        for name, value in directions.items()
        for (_, a), (_, b) in zip(leaves_of(value), leaves_of(found[name]), strict=True)
    ]
    return np.concatenate(products)
