"""`jvp` and `vjp`: derivatives of operators and programs in embedded execution, by a tape.

They run a body once on active numbers and need no rule for any access to other points. They are
made to try things out and to compare with; `tangent` and `adjoint` make programs that are fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ..fields import ActiveField, ActiveNumber, Field, make, running
from ..fields.bare_array import with_fields
from ..language import (
    FLOATS,
    CollectionType,
    Definition,
    DimensionKind,
    Domain,
    FieldType,
    ScalarType,
    TupleType,
    Type,
    domain as make_domain,
    elements,
    leaves_of,
    map_leaves,
    rebuilt,
)
from ..language.active_numbers import Tape, is_active, plain, taped
from ..language.argument_binding import bind_arguments
from ..language.operations import literal
from ..process import ArgumentError, classes
from .embedded import evaluated, instance_for, prepared
from .missing_values import check_exists
from .piecewise_field import AnyValue, on_box
from .walking import walked

Primals: TypeAlias = Mapping[str, Any] | Sequence[Any]
Provider: TypeAlias = Mapping[str, Any] | None
Pull: TypeAlias = Callable[[Any], Any]

RESULT: Final = ""  # the name of the result of an operator


def jvp(
    function: Any,
    primals: Primals,
    tangents: Primals,
    *,
    domain: Any = None,
    offset_provider: Mapping[str, Any] | None = None,
) -> tuple[Any, Any]:
    """Return the result of an operator and its tangent, for tangents of its arguments.

    Arguments and tangents are given in order or by name; a tangent that is missing, or None, is 0.
    The result of a program are the fields that it writes, by name; no argument is changed.

    Args:
        function: a field operator, a scan operator or a program.
        primals: the arguments.
        tangents: a field or number for each argument, of the same shape.
        domain: where the result of an operator is wanted; by default wherever it exists.
        offset_provider: neighbour tables.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator(backend=None)
    ... def square(u: Line) -> Line:
    ...     return u * u
    >>> out, out_d = ff.jvp(square, [ff.full({I: 2}, 3.0)], [ff.ones({I: 2})])
    >>> out.asnumpy(), out_d.asnumpy()
    (array([9., 9.]), array([6., 6.]))
    """
    run = _run(function, primals, domain, offset_provider)
    given = _bound(run, tangents)
    seeds = [
        (leaf.array, _like(leaf, dict(leaves_of(given[name])).get(path), name))
        for name, value in run.variables.items()
        for path, leaf in leaves_of(value)
        if isinstance(leaf, ActiveField) and given.get(name) is not None
    ]
    found = run.tape.pushed(seeds)
    return run.result(_value), run.result(lambda leaf: _found(leaf, found))


def vjp(
    function: Any,
    primals: Primals,
    *,
    domain: Any = None,
    offset_provider: Mapping[str, Any] | None = None,
) -> tuple[Any, Pull]:
    """Return the result of an operator, and a function from its adjoint to those of the arguments.

    The arguments are those of `jvp`. The function takes an adjoint like the result and returns the
    adjoints of the arguments as these were given, by name or in order, None for those that are not
    floats. It may be called several times.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator(backend=None)
    ... def rise(u: Line) -> Line:
    ...     return u(I + 1) - u
    >>> out, pull = ff.vjp(rise, {"u": ff.ones({I: 3})})
    >>> pull(ff.ones({I: 2}))["u"].asnumpy()
    array([-1.,  0.,  1.])
    """
    run = _run(function, primals, domain, offset_provider)

    def pull(adjoint: Any) -> Any:
        given = adjoint if run.of_program else {RESULT: adjoint}
        seeds = [
            (leaf.array, _like(leaf, dict(leaves_of(given.get(name))).get(path), "the result"))
            for name, value in run.results.items()
            for path, leaf in leaves_of(value)
            if isinstance(leaf, ActiveField)
        ]
        adjoints = run.tape.pulled(seeds)
        found = [
            map_leaves(lambda leaf: _found(leaf, adjoints), value)
            for value in run.variables.values()
        ]
        return dict(zip(run.variables, found, strict=True)) if run.by_name else tuple(found)

    return run.result(_value), pull


@classes.frozen(eq=False)
class _Run:
    """One run of a body: its arguments and its results, whose float leaves are active."""

    by_name: bool
    of_program: bool
    variables: Mapping[str, Any]
    results: Mapping[str, Any]
    tape: Tape

    def result(self, of_leaf: Callable[[Any], Any]) -> Any:
        """Return the results as a caller gets them, with something for each leaf."""
        found = {name: map_leaves(of_leaf, value) for name, value in self.results.items()}
        return found if self.of_program else found[RESULT]


def _run(function: Any, primals: Primals, domain: Any, provider: Provider) -> _Run:
    definition: Definition = function.__definition__
    args: Sequence[Any] = () if isinstance(primals, Mapping) else primals
    kwargs: Mapping[str, Any] = primals if isinstance(primals, Mapping) else {}
    definition = instance_for(definition, args, kwargs)
    types = dict(prepared(definition).parameters[definition.scan is not None :])
    given = bind_arguments(definition.name, tuple(types), args, kwargs)
    tape = Tape()
    variables = {name: _variable(tape, types[name], given[name]) for name in types}
    of_program = definition.kind == "program"
    with taped(tape):
        results = (_program if of_program else _operator)(definition, variables, domain, provider)
    return _Run(isinstance(primals, Mapping), of_program, variables, results, tape)


def _variable(tape: Tape, type_: Type, value: Any) -> Any:
    """Return an argument with new numbers for its floats; nothing shares memory with it."""
    value = with_fields(type_, value)
    if isinstance(type_, TupleType | CollectionType):
        parts = zip(type_.elements, elements(value) or (), strict=True)
        return rebuilt(value, tuple(_variable(tape, *part) for part in parts))
    dtype = type_.dtype if isinstance(type_, FieldType) else type_
    assert isinstance(dtype, ScalarType)  # of an instance
    if isinstance(value, Field):
        array = value.asnumpy().copy()
        is_float = array.dtype.kind == "f"
        return make(tape.variable(array) if is_float else array, value.domain)
    if dtype.name in FLOATS and isinstance(value, int | float | np.floating):
        return ActiveNumber(tape.variable(np.asarray(value, dtype.name)), Domain())
    return value


def _operator(
    definition: Definition, variables: Mapping[str, Any], given: Any, provider: Provider
) -> dict[str, Any]:
    box = None if given is None else make_domain(given)
    levels = {dim: own for dim, own in box or () if dim.kind is DimensionKind.VERTICAL}
    with running(provider, None if box is None else levels):
        result = map_leaves(walked, evaluated(definition, (), variables, warn=False)[0])
        return {RESULT: map_leaves(lambda leaf: _on(definition.name, leaf, box), result)}


def _on(name: str, value: Any, box: Domain | None) -> Any:
    """Return a leaf of the result on its part of a domain."""
    if not isinstance(value, AnyValue):
        return make(literal(value), Domain())
    whole = value.domain if box is None else box
    part = Domain(*(whole[own.dim] if own.dim in whole.dims else own for own in value.domain))
    if not part.is_finite():
        raise ArgumentError(
            f"The result of '{name}' has no ends along '{part}'.", hints=["Give a 'domain'."]
        )
    check_exists(name, "the result", value, part)
    return on_box(value, part)


def _program(
    definition: Definition, variables: Mapping[str, Any], _: Any, provider: Provider
) -> dict[str, Any]:
    """Run a program on copies of its arguments; return the fields that it writes, by name."""
    copies = {name: map_leaves(_copied, value) for name, value in variables.items()}
    with running(provider):
        evaluated(definition, (), copies, warn=False)
    return {name: copies[name] for name in copies if name in prepared(definition).written}


def _copied(leaf: Any) -> Any:
    is_memory = isinstance(leaf, Field | ActiveField) and not isinstance(leaf, ActiveNumber)
    return make(leaf.ndarray.copy(), leaf.domain) if is_memory else leaf


def _bound(run: _Run, given: Primals) -> Mapping[str, Any]:
    """Return tangents by name."""
    if isinstance(given, Mapping):
        for name in given:
            if name not in run.variables:
                known = ", ".join(f"'{each}'" for each in run.variables)
                raise ArgumentError(f"'{name}' is no argument, expected one of {known}.")
        return given
    return dict(zip(run.variables, given, strict=False))


def _like(leaf: ActiveField, given: Any, name: str) -> Any:
    """Return the array of a tangent or an adjoint of an active leaf."""
    if given is None:
        return np.zeros(leaf.array.shape)
    array = given.asnumpy() if isinstance(given, Field) else np.asarray(given)
    if array.shape != leaf.array.shape:
        raise ArgumentError(
            f"Expected a derivative of shape {leaf.array.shape} for '{name}', got {array.shape}."
        )
    return array


def _value(leaf: Any) -> Any:
    is_active = isinstance(leaf, ActiveField)
    return make(plain(leaf.ndarray), leaf.domain) if is_active else leaf


def _found(leaf: Any, derivatives: Any) -> Any:
    """Return the derivative of a leaf in its dtype; None if it is no float."""
    if not isinstance(leaf, Field | ActiveField) or leaf.dtype.dtype.kind != "f":
        return None
    array = leaf.ndarray
    found = derivatives[array["number"]] if is_active(array) else np.zeros(array.shape)
    return make(found.astype(leaf.dtype.dtype), leaf.domain)
