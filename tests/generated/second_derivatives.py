"""Second derivatives of generated programs, in two orders that share no step.

The tangent of the adjoint and the adjoint of the tangent both compute how `<y, A(u) x>` varies with
the inputs `u`: the first moves the adjoint of `y` along `x`, the second pulls `y` back through the
tangent along `x`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
import numpy as np

import fieldforge as ff
from fieldforge.runtime.language.structure import leaves_of, map_leaves

from .derivative_calls import ADJOINT, NAN, TANGENT, Incomparable, Subject, chosen, filled
from .derivative_errors import check_equal, sizes

SECOND: Final = "{}_e"
NUDGE: Final = 4  # units in the last place of inputs


def compare_second(subject: Subject, backend: Any = None) -> bool:
    """Raise `AssertionError` where both orders differ; tell whether any derivative is not 0."""
    found, meant = tangent_of_adjoint(subject, backend), adjoint_of_tangent(subject, backend)
    if _differ(found, meant, subject) and _are_rounding_errors(found, meant, subject, backend):
        raise Incomparable("terms cancel")
    _check(found, meant, subject)
    return any(leaf.asnumpy().any() for _, leaf in leaves_of(tuple(found.values())))


def tangent_of_adjoint(subject: Subject, backend: Any = None) -> dict[str, Any]:
    """Return how the adjoints of inputs move with these; those of outputs stand still."""
    wrt = tuple(subject.tangents)
    of = [ADJOINT.format(name) for name in wrt]
    derived = ff.tangent(ff.adjoint(subject.run), wrt=wrt, of=of, names=SECOND)
    still = {name: filled(subject.given[name], 0.0) for name in subject.adjoints}
    arguments = {
        **subject.of_adjoint(),
        **subject.partners(SECOND, subject.tangents, NAN),
        **subject.partners(SECOND.format(ADJOINT), still, NAN),
    }
    found = subject.called(derived.with_backend(backend), arguments)
    return chosen(SECOND.format(ADJOINT), found, wrt)


def adjoint_of_tangent(subject: Subject, backend: Any = None) -> dict[str, Any]:
    """Return what the tangents of outputs hand back to the inputs."""
    wrt = tuple(subject.tangents)
    of = [TANGENT.format(name) for name in subject.adjoints]
    derived = ff.adjoint(ff.tangent(subject.run), wrt=wrt, of=of, names=SECOND)
    arguments = {
        **subject.of_tangent(),
        **subject.partners(SECOND, {}, NAN),
        **subject.partners(SECOND.format(TANGENT), subject.adjoints, NAN),
    }
    found = subject.called(derived.with_backend(backend), arguments)
    return chosen(SECOND, found, wrt)


def _check(found: Mapping[str, Any], meant: Mapping[str, Any], subject: Subject) -> None:
    for name, size in sizes(meant).items():
        own = found[name], meant[name], size
        check_equal(f"second derivative of '{name}'", *own, subject.limit)


def _differ(found: Mapping[str, Any], meant: Mapping[str, Any], subject: Subject) -> bool:
    try:
        _check(found, meant, subject)
    except AssertionError:
        return True
    return False


def _are_rounding_errors(
    found: Mapping[str, Any], meant: Mapping[str, Any], subject: Subject, backend: Any
) -> bool:
    """Tell whether a derivative changes much when inputs change in their last place.

    The tape has no second derivatives, so nothing knows the terms that cancel in these.
    """
    near = _nudged(subject)
    return _differ(tangent_of_adjoint(near, backend), found, subject) or _differ(
        adjoint_of_tangent(near, backend), meant, subject
    )


def _nudged(subject: Subject) -> Subject:
    """Return a subject whose inputs differ by a few units in their last place."""
    rng = np.random.default_rng(0)

    def moved(leaf: Any) -> Any:
        if not hasattr(leaf, "domain") or leaf.dtype.dtype.kind != "f":
            return leaf
        numbers = leaf.asnumpy()
        by = rng.integers(-NUDGE, NUDGE, numbers.shape, endpoint=True)
        return ff.as_field(leaf.domain, numbers + (by * np.spacing(numbers)).astype(numbers.dtype))

    given = {name: map_leaves(moved, value) for name, value in subject.given.items()}
    return attrs.evolve(subject, given=given)
