"""`tangent` and `adjoint`: the derivatives of a program, as programs.

A derived definition has the body of another one, its origin, and parameters of its own. The stages
parse and lower the origin; one more stage after `lower` derives.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any, Final

from ...runtime.language import Definition, FieldOffset
from ...runtime.process import classes
from ...stages.adjoint.names import partner
from ...stages.adjoint.stage import Adjoint, Tangent
from ..backends.backend import Backend, reference
from ..graph.graph import Workflow
from .programs import Wanted, program_of

LOWER: Final = "lower"


@classes.frozen
class Derived:
    """How a program was derived: by stages after `lower`, in order; what it reads and writes."""

    stages: tuple[Any, ...]
    read: frozenset[str]
    written: frozenset[str]

    @property
    def under(self) -> tuple[str, ...]:
        """The names of the stages in workflows."""
        numbered = enumerate(self.stages)
        return tuple(f"{each.name}_{place}" if place else each.name for place, each in numbered)

    def onto(self, backend: Backend | None) -> Backend:
        """Return a backend with these stages; without a backend the interpreter runs them."""
        found = reference if backend is None else backend
        flow, before = found.workflow, LOWER
        for stage, under in zip(self.stages, self.under, strict=True):
            flow = _with_stage(flow, before, stage, under)
            before = under
        flow = _for_many_outputs(flow) if any(isinstance(s, Adjoint) for s in self.stages) else flow
        return found if flow is found.workflow else found.with_workflow(flow)


def _for_many_outputs(flow: Workflow) -> Workflow:
    """Return the stages with code generators that expect several outputs."""
    stages: Mapping[str, Any] = dict(flow.nodes)
    changed = {
        name: classes.evolve(stage, many_outputs=True)
        for name, stage in stages.items()
        if not getattr(stage, "many_outputs", True)
    }
    return flow.replace(**changed) if changed else flow


def _with_stage(flow: Workflow, before: str, stage: Any, under: str) -> Workflow:
    stages: Mapping[str, Any] = dict(flow.nodes)
    wanted = classes.evolve(stage, numerics=stages[LOWER].numerics)
    if under not in stages:
        return flow.insert_after(before, wanted, under=under)
    return flow if stages[under] == wanted else flow.replace(**{under: wanted})


def tangent(program: Any, *, wrt: Wanted = None, of: Wanted = None, names: str = "{}_d") -> Any:
    """Return a program that computes tangents beside the outputs of a program.

    Its parameters are those of the program, each followed by its tangent where it has one:
    `step(u, dt, out)` becomes `step_d(u, u_d, dt, out, out_d)`. The tangents of outputs that are
    written in part keep their values elsewhere.

    Args:
        program: a program.
        wrt: the parameters that move, by default all fields of floats that are read. Scalars may
            be named.
        of: the outputs whose tangents are wanted, by default all fields of floats that are written.
        names: the pattern of the names of tangents.

    Raises:
        DerivativeError: for a parameter that is unknown or no float, or a name that is taken.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator
    ... def square(u: Line) -> Line:
    ...     return u * u
    >>> @ff.program(backend=None)
    ... def step(u: Line, out: Line):
    ...     square(u, out=out)
    >>> u, out, out_d = ff.full({I: 2}, 3.0), ff.zeros({I: 2}), ff.zeros({I: 2})
    >>> ff.tangent(step)(u, ff.ones({I: 2}), out, out_d)
    >>> out_d.asnumpy()
    array([6., 6.])
    """
    known = program_of(program)
    moving = known.chosen("wrt", wrt, known.floats(known.read))
    # what is written and read again needs a place for its tangent
    between = known.floats(known.read & known.written)
    outputs = {*known.chosen("of", of, known.floats(known.written)), *between}
    parameters = []
    for name in known.types:
        parameters.append(name)
        if name in moving or name in outputs:
            parameters.append(known.partner(name, names))
    stage = Tangent(
        parameters=tuple(parameters), wrt=moving, of=tuple(sorted(outputs)), names=names
    )
    partners = {name: partner(name, names) for name in known.types}
    return _derived(
        program,
        stage,
        known.read | {partners[name] for name in moving},
        known.written | {partners[name] for name in outputs},
    )


def adjoint(
    program: Any,
    *,
    wrt: Wanted = None,
    of: Wanted = None,
    accumulate: bool | Sequence[str] = False,
    value: bool = False,
    keep: Sequence[str] = (),
    transposed: Mapping[str, FieldOffset] | None = None,
    names: str = "{}_b",
) -> Any:
    """Return a program that computes how a cost moves with the inputs of a program.

    Its parameters are the inputs of the program, valued at entry, then the adjoints of `of`, which
    are read, then those of `wrt`, which are written: `step(u, coeff, out)` becomes
    `step_b(u, coeff, out_b, u_b, coeff_b)`. A field that is written and read has one adjoint: at
    entry that of its final value, at exit that of its initial one. Every point of an adjoint is
    written, with 0 where nothing was read. An adjoint of tangents alone also takes the outputs
    beside them, for their domains.

    Args:
        program: a program.
        wrt: the inputs, by default all fields of floats that are read and not kept. Scalars may be
            named; the adjoint of a scalar is a field without dimensions.
        of: the outputs, by default all fields of floats that are written.
        accumulate: whether adjoints are added to what their fields hold, on the points that the
            program reads; or the names of the inputs for which they are.
        value: whether the program also writes its outputs.
        keep: fields that the program writes and then reads, such as fluxes: the adjoint takes them
            as the program left them, and does not compute them again.
        transposed: fields with a value for each slot of a table, such as weights of a mesh, by the
            offset of the table: the adjoint also takes `share_V2C_t` after `share`, the field that
            `ff.transposed_field` makes once, and does not look these values up in each call.
        names: the pattern of the names of adjoints.

    Raises:
        DerivativeError: for a parameter that is unknown or no field of floats, or a name that is
            taken.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator
    ... def rise(u: Line) -> Line:
    ...     return u * (u(I + 1) - u)
    >>> @ff.program(backend=None)
    ... def climb(u: Line, out: Line):
    ...     rise(u, out=out)
    >>> u, u_b = ff.as_field([I], [1.0, 2.0, 4.0]), ff.zeros({I: 3})
    >>> ff.adjoint(climb)(u, ff.ones({I: 2}), u_b)
    >>> u_b.asnumpy()
    array([0., 1., 2.])
    """
    known = program_of(program)
    kept = known.kept(keep, value)
    inputs = known.chosen("wrt", wrt, known.floats(known.read - {*kept}))
    outputs = known.chosen("of", of, known.floats(known.written))
    known.check_fields("wrt", inputs)
    known.check_fields("of", outputs)
    added = inputs if accumulate is True else known.chosen("accumulate", accumulate or (), ())
    also = {*kept, *_giving_domains(program, outputs)}
    weights = {each.parameter: each for each in known.weights(transposed or {})}
    entry = [
        each
        for name in known.types
        if value or name in known.read or name not in known.written or name in also
        for each in (name, *([weights[name].name] if name in weights else ()))
    ]
    both = dict.fromkeys((*outputs, *inputs))
    partners = [known.partner(name, names) for name in both]
    stage = Adjoint(
        parameters=(*entry, *partners),
        wrt=inputs,
        of=outputs,
        names=names,
        added=added,
        value=value,
        scalars=known.scalars(inputs),
        keep=kept,
        weights=tuple(weights.values()),
    )
    read = {*known.read, *kept, *(each.name for each in stage.weights)}
    read |= {*(partner(name, names) for name in (*outputs, *added))}
    written = {partner(name, names) for name in inputs} | (known.written if value else set())
    return _derived(program, stage, frozenset(read), frozenset(written))


def _giving_domains(program: Any, outputs: Sequence[str]) -> frozenset[str]:
    """Return the outputs that are not in `outputs`, but whose tangents are and lie there, too."""
    before: Derived | None = program._made.derived
    return frozenset(
        name
        for stage in (before.stages if before else ())
        if isinstance(stage, Tangent)
        for name in stage.of
        if partner(name, stage.names) in outputs and name not in outputs
    )


def _derived(program: Any, stage: Any, read: frozenset[str], written: frozenset[str]) -> Any:
    """Return a program with one more stage."""
    before: Derived | None = program._made.derived
    stages = (*(before.stages if before else ()), stage)
    made = Derived(stages, read & set(stage.parameters), written & set(stage.parameters))
    return program._changed(
        definition=derived_definition(program._current(), stage),
        derived=made,
        backend=made.onto(program.backend),
    )


def derived_definition(definition: Definition, stage: Any) -> Definition:
    """Return the definition of a derivative; its function only has a signature."""
    function = definition.function
    assert isinstance(function, FunctionType)
    annotations = dict(stage.annotations(dict(definition.annotations)))
    made = FunctionType(
        function.__code__, function.__globals__, stage.names.format(definition.name), None,
        function.__closure__,
    )  # fmt: skip
    made.__doc__, made.__module__ = function.__doc__, function.__module__
    made.__qualname__ = function.__qualname__
    made.__annotations__ = annotations
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind) for name in stage.parameters]
    made.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # of Python's own
    return classes.evolve(
        definition,
        name=stage.names.format(definition.name),
        function=made,
        annotations=tuple(annotations.items()),
        origin=definition.origin or definition,
    )
