"""Calls of derivatives of a generated program, with moderate numbers and random directions."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs
import numpy as np

import fieldforge as ff
from fieldforge.runtime.language.structure import map_leaves

from .building import define
from .case import Case
from .memory import arguments_of, grouped

SINGLE, DOUBLE = 2e-4, 1e-9
TANGENT, ADJOINT = "{}_d", "{}_b"  # the names of derivatives
NAN: Final = float("nan")


class Incomparable(Exception):
    """The numbers of a program cannot be compared; the text says why."""


@attrs.frozen
class Subject:
    """A program, its arguments, and the directions of its derivatives.

    Attributes:
        run: the program.
        given: its arguments.
        tables: its neighbour tables.
        tangents: a direction for each input that is active.
        adjoints: a direction for each output that is.
        is_single: whether it computes in float32 somewhere.

    """

    run: Any
    given: Mapping[str, Any]
    tables: Mapping[str, Any]
    tangents: Mapping[str, Any]
    adjoints: Mapping[str, Any]
    is_single: bool

    @classmethod
    def of(cls, case: Case) -> Subject:
        """Define the program of a case, and draw numbers for it."""
        names = define(case.text, case.unstructured)
        run, rng = names["program_under_test"], np.random.default_rng(case.seed)
        given = grouped(case, _finite(arguments_of(case), rng), names)
        try:
            wrt, of = _active(run)
        except ff.errors.DerivativeError as error:
            raise Incomparable(str(error).partition(",")[0]) from None
        if not wrt or not of:
            raise Incomparable("nothing is active")
        tangents = {name: _like(given[name], rng) for name in wrt}
        adjoints = {name: _like(given[name], rng) for name in of}
        is_single = "float32" in case.text
        return cls(run, given, names.get("tables", {}), tangents, adjoints, is_single)

    @property
    def limit(self) -> float:
        """The error that is allowed, relative to the terms of a derivative."""
        return SINGLE if self.is_single else DOUBLE

    @property
    def precision(self) -> Any:
        """What NumPy knows of the narrowest floats of the program."""
        return np.finfo(np.float32 if self.is_single else np.float64)

    def of_tangent(self) -> dict[str, Any]:
        """Return the arguments of the tangent: an output that is only written does not move yet."""
        return {**self.given, **self.partners(TANGENT, self.tangents, 0.0)}

    def of_adjoint(self) -> dict[str, Any]:
        """Return the arguments of the adjoint: what is only written is poisoned with NaN."""
        return {**self.given, **self.partners(ADJOINT, self.adjoints, NAN)}

    def partners(self, names: str, known: Mapping[str, Any], otherwise: float) -> dict[str, Any]:
        """Return a derivative for each active parameter, by its own name."""
        return {
            names.format(name): known[name] if name in known else filled(value, otherwise)
            for name, value in self.given.items()
            if name in self.tangents or name in self.adjoints
        }

    def called(self, derived: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a derivative with copies of its arguments; return these by name."""
        names = inspect.signature(derived.definition).parameters
        found = {name: map_leaves(_copy, arguments[name]) for name in names}
        derived(**found, offset_provider=self.tables)
        return found

    def pushed(self, backend: Any) -> dict[str, Any]:
        """Return the tangents of outputs, as the tangent of the program computes them."""
        found = self.called(ff.tangent(self.run).with_backend(backend), self.of_tangent())
        return chosen(TANGENT, found, self.adjoints)

    def pulled(self, backend: Any) -> dict[str, Any]:
        """Return the adjoints of inputs, as the adjoint of the program computes them."""
        found = self.called(ff.adjoint(self.run).with_backend(backend), self.of_adjoint())
        return chosen(ADJOINT, found, self.tangents)


def chosen(names: str, found: Mapping[str, Any], parameters: Iterable[str]) -> dict[str, Any]:
    """Return the derivatives of some parameters."""
    return {name: found[names.format(name)] for name in parameters}


def filled(value: Any, number: float) -> Any:
    """Return fields like others that hold one number."""
    return map_leaves(
        lambda leaf: ff.as_field(leaf.domain, np.full(leaf.shape, number, leaf.dtype.dtype)), value
    )


def _active(run: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the inputs and outputs that have derivatives."""
    ff.tangent(run)
    stage = ff.adjoint(run)._made.derived.stages[0]
    return stage.wrt, stage.of


def _finite(arguments: Mapping[str, Any], rng: Any) -> dict[str, Any]:
    """Return arguments with moderate numbers in the place of all floats."""
    found: dict[str, Any] = {}
    for name, value in arguments.items():
        if isinstance(value, np.floating):
            found[name] = type(value)(rng.uniform(0.5, 2.0))
        elif hasattr(value, "domain") and value.dtype.dtype.kind == "f":
            numbers = rng.uniform(0.2, 2.0, value.shape) * rng.choice([1, 1, 1, -1], value.shape)
            found[name] = ff.as_field(value.domain, numbers.astype(value.dtype.dtype))
        else:
            found[name] = value
    return found


def _like(value: Any, rng: Any) -> Any:
    return map_leaves(
        lambda leaf: ff.as_field(leaf.domain, rng.normal(size=leaf.shape).astype(leaf.dtype.dtype)),
        value,
    )


def _copy(leaf: Any) -> Any:
    return ff.as_field(leaf.domain, leaf.asnumpy().copy()) if hasattr(leaf, "domain") else leaf
