"""`differentiable`: a program as a function of arrays that other tools can differentiate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...runtime.fields import make
from ...runtime.fields.bare_array import device_of
from ...runtime.language import Domain, DomainLike, FieldType, domain as make_domain
from ...runtime.process import ArgumentError, DerivativeError, DeviceType, classes
from ...stages.adjoint.names import partner
from ..derivatives.derivative import adjoint
from ..derivatives.programs import Program, program_of

NAMES = "{}_adjoint"


def differentiable(
    program: Any,
    *,
    wrt: Mapping[str, DomainLike],
    of: Mapping[str, DomainLike],
    offset_provider: Mapping[str, Any] | None = None,
    **fixed: Any,
) -> Differentiable:
    """Return a program as a function of arrays, for JAX and PyTorch (`.jax`, `.torch`) and others.

    `.jax` takes an array for each of `wrt`, in this order, and returns one for each of `of`, or the
    array itself if there is one; JAX takes derivatives through it by the adjoint of the program,
    also inside `jax.jit`. `.torch` is the same for tensors and `backward`. `value` and `pull` are
    the two halves for arrays of NumPy, or for those of a GPU if the program runs on one: arrays and
    tensors that lie there are passed without a copy, others are brought there.

    Args:
        program: a program that writes `of` and reads none of these before it does.
        wrt: the fields that are arguments, each with its domain.
        of: the fields that are results, each with its domain.
        offset_provider: neighbour tables.
        fixed: all other arguments of the program.

    Raises:
        ArgumentError: an argument is missing, or is given twice.
        DerivativeError: a name is none of a field of floats.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator
    ... def rise(u: Line, by: float) -> Line:
    ...     return by * u * (u(I + 1) - u)
    >>> @ff.program(backend=ff.cpu)
    ... def climb(u: Line, by: float, out: Line):
    ...     rise(u, by, out=out)
    >>> f = ff.differentiable(climb, wrt={"u": {I: 3}}, of={"out": {I: 2}}, by=1.0)
    >>> u = np.array([1.0, 2.0, 4.0])
    >>> f.value([u]), f.pull([u], [np.ones(2)])
    ((array([1., 4.]),), (array([0., 1., 2.]),))
    """
    known = program_of(program)
    inputs, outputs = (
        {name: make_domain(domain) for name, domain in each.items()} for each in (wrt, of)
    )
    known.chosen("wrt", tuple(inputs), ())
    known.chosen("of", tuple(outputs), ())
    for name in known.types:
        times = (name in inputs) + (name in outputs) + (name in fixed)
        if times != 1:
            raise ArgumentError(
                f"Argument '{name}' of '{known.name}' is given {times} times, in 'wrt', in 'of' or "
                "by its name.",
                hint="Give it once; a field that is read and written is no result.",
            )
    for name in (*inputs, *outputs):
        if not isinstance(known.types[name], FieldType):
            raise DerivativeError(
                f"'{name}' of '{known.name}' is a '{known.types[name]}', and derivatives of arrays "
                "are those of fields."
            )
    return Differentiable(program, known, inputs, outputs, offset_provider, dict(fixed))


@classes.frozen(eq=False, slots=False)
class Differentiable:
    """A program as a function of arrays; `differentiable` makes it."""

    program: Any
    known: Program = classes.field(repr=False)
    wrt: Mapping[str, Domain]
    of: Mapping[str, Domain]
    offset_provider: Mapping[str, Any] | None = classes.field(repr=False)
    fixed: Mapping[str, Any] = classes.field(repr=False)

    def value(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Return the results for some arguments."""
        found = self._empty(self.of)
        given = self._fields(self.wrt, arrays) | self._fields(self.of, found)
        self.program(**given, **self.fixed, offset_provider=self.offset_provider)
        return found

    def pull(self, arrays: Sequence[Any], adjoints: Sequence[Any]) -> tuple[Any, ...]:
        """Return the adjoints of the arguments, from those of the results."""
        found = self._empty(self.wrt)
        given = self._fields(self.wrt, arrays)
        for domains, own in ((self.of, adjoints), (self.wrt, found)):
            fields = self._fields(domains, own).items()
            given |= {partner(name, NAMES): field for name, field in fields}
        given |= {name: each for name, each in self.fixed.items() if name in self._entry}
        self._adjoint(**given, offset_provider=self.offset_provider)
        return found

    @cached_property
    def jax(self) -> Callable[..., Any]:
        """The function of arrays of JAX."""
        from .jax_bridge import of_arrays

        return of_arrays(self)

    @cached_property
    def torch(self) -> Callable[..., Any]:
        """The function of tensors of PyTorch."""
        from .torch_bridge import of_tensors

        return of_tensors(self)

    def dtype(self, name: str) -> np.dtype[Any]:
        """Return the type of the elements of a field."""
        kind: Any = self.known.types[name]
        found: np.dtype[Any] = np.dtype(kind.dtype.name)
        return found

    def _fields(self, domains: Mapping[str, Domain], arrays: Sequence[Any]) -> dict[str, Any]:
        if len(arrays) != len(domains):
            raise ArgumentError(f"Expected {len(domains)} arrays, got {len(arrays)}.")
        return {
            name: make(self._brought(each, self.dtype(name)), own)
            for (name, own), each in zip(domains.items(), arrays, strict=True)
        }

    def _brought(self, array: Any, dtype: np.dtype[Any]) -> Any:
        """Return an array of the program's memory: the given one if it lies there."""
        if not self.on_gpu:
            return np.asarray(array, dtype)
        from ...runtime import gpu

        if device_of(array)[0] == self._device_type:
            found = gpu.Array.from_any(array)
            if found.dtype == dtype:
                return found
        return gpu.Array.from_host(np.asarray(array, dtype))

    def _empty(self, domains: Mapping[str, Domain]) -> tuple[Any, ...]:
        kinds = [(own.shape, self.dtype(name)) for name, own in domains.items()]
        if not self.on_gpu:
            return tuple(np.empty(*each) for each in kinds)
        from ...runtime import gpu

        return tuple(gpu.Array.empty(*each) for each in kinds)

    @property
    def on_gpu(self) -> bool:
        """Whether the program runs on a GPU, and its arrays lie there."""
        return self._device_type is not DeviceType.CPU

    @cached_property
    def _device_type(self) -> DeviceType:
        allocator = getattr(self.program.backend, "__gt_allocator__", None)
        return DeviceType(getattr(allocator, "__gt_device_type__", DeviceType.CPU))

    @cached_property
    def _adjoint(self) -> Any:
        return adjoint(self.program, wrt=tuple(self.wrt), of=tuple(self.of), names=NAMES)

    @cached_property
    def _entry(self) -> frozenset[str]:
        return frozenset(self._adjoint._made.derived.stages[-1].parameters)
