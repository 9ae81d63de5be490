"""`gradient`: the sum of what a program writes, and how it moves with each input."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ...runtime.fields import full
from ...runtime.fields.reductions import sum as sum_of
from ...runtime.language import elements, leaves_of
from ...runtime.language.argument_binding import bind_arguments
from ...runtime.process import Device, classes
from ...stages.adjoint.names import partner
from .derivative import adjoint
from .programs import Wanted, program_of

NAMES = "{}_b"


def gradient(program: Any, *, wrt: Wanted = None, of: Wanted = None) -> Gradient:
    """Return what computes the sum of the outputs of a program, and its gradient.

    It takes the arguments of the program and gives the sum over all points of the outputs, which
    the call also writes, and the derivatives of this sum by the names of the inputs: new fields on
    the domains of the inputs, without dimensions for scalars. The program computes what a point
    adds to a cost: for a part of a domain, write fields on this part.

    Args:
        program: a program; its backend computes.
        wrt: the inputs, by default all fields of floats that are read. Scalars may be named.
        of: the outputs that count, by default all fields of floats that are written.

    Raises:
        DerivativeError: as for `adjoint`.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator
    ... def square(h: Line, seen: Line) -> Line:
    ...     return 0.5 * (h - seen) * (h - seen)
    >>> @ff.program(backend=None)
    ... def misfit(h: Line, seen: Line, out: Line):
    ...     square(h, seen, out=out)
    >>> h, seen = ff.as_field([I], [1.0, 2.0]), ff.as_field([I], [0.0, 4.0])
    >>> value, found = ff.gradient(misfit, wrt=("h",))(h, seen, ff.zeros({I: 2}))
    >>> value, found["h"].asnumpy()
    (2.5, array([ 1., -2.]))
    """
    known = program_of(program)
    outputs = known.chosen("of", of, known.floats(known.written))
    inputs = known.chosen("wrt", wrt, known.floats(known.read))
    run = adjoint(program, wrt=inputs, of=outputs, value=True, names=NAMES)
    return Gradient(run, known.name, tuple(known.types), inputs, outputs)


@classes.frozen(eq=False)
class Gradient:
    """Computes a sum and its gradient.

    Attributes:
        adjoint: the adjoint of the program, which also writes the outputs.
        name: that of the program.
        parameters: those of the program.
        wrt: the inputs.
        of: the outputs that count.

    """

    adjoint: Any
    name: str
    parameters: tuple[str, ...]
    wrt: tuple[str, ...]
    of: tuple[str, ...]

    def __call__(
        self, *args: Any, offset_provider: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> tuple[float, dict[str, Any]]:
        """Return the sum and its gradient, by the names of the inputs."""
        given = bind_arguments(self.name, self.parameters, args, kwargs)
        both = {partner(name, NAMES): _like(given[name], 0.0) for name in self.wrt}
        both |= {partner(name, NAMES): _like(given[name], 1.0) for name in self.of}
        self.adjoint(**given, **both, offset_provider=offset_provider)
        sums = (sum_of(leaf) for name in self.of for _, leaf in leaves_of(given[name]))
        return math.fsum(map(float, sums)), {name: both[partner(name, NAMES)] for name in self.wrt}


def _like(value: Any, number: float) -> Any:
    """Return new fields like one or a collection; that of a scalar has no dimensions."""
    parts = elements(value)
    if parts is not None:
        return tuple(_like(each, number) for each in parts)
    if not hasattr(value, "domain"):
        return full({}, number)
    device = Device(value.device_type, value.device_id)
    return full(value.domain, number, value.dtype.scalar_type, device=device)
