"""Record the calls of a model step, and replay them in one call of the native core.

A recording has the calls of programs and operators by this thread: variant, fields and numbers.
Slots are named fields and numbers that a replay may exchange. Other Python code is not recorded. A
step that cannot be replayed natively makes its calls one by one and warns.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ...runtime import _core
from ...runtime.language import leaves_of, map_leaves
from ...runtime.process import ArgumentError

if TYPE_CHECKING:  # imported by the method that needs it, see decision 0005
    from ..reversing.step_adjoint import StepAdjoint


@contextmanager
def record(**slots: Any) -> Iterator[Step]:
    """Record the calls in the block while they run; calling the result replays them.

    The keywords name fields and numbers that a replay may exchange, such as swapped time levels. A
    number is one of NumPy, such as `np.float64(dt)`: slots are known by their objects, and equal
    numbers of Python may be one object. It is an argument of its own, no element of a tuple.

    Raises:
        ArgumentError: a slot is neither, no call takes it, or a call takes another view of its
            memory.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator
    ... def doubled(u: Line) -> Line:
    ...     return u + u
    >>> @ff.program(backend=ff.cpu)
    ... def double(u: Line, out: Line):
    ...     doubled(u, out=out)
    >>> a, b = ff.ones({I: 3}), ff.zeros({I: 3})
    >>> with record(now=a, new=b) as step:
    ...     double(a, b)
    >>> step(now=b, new=a)
    >>> a.asnumpy()
    array([4., 4., 4.])
    """
    step = Step(slots)
    step.begin()
    try:
        yield step
    finally:
        step.end()
    step.check()


class Step(_core.Recorder):
    """Recorded calls; call it with a field or number for each slot, by name.

    Other fields, numbers and neighbour tables are those of the recording. Two threads may replay a
    step at once.
    """

    _told: bool = False

    def __new__(cls, slots: Mapping[str, Any]) -> Self:
        """Make a step without calls."""
        held: list[Step] = []  # the core takes its callback before the object exists
        try:
            self = super().__new__(
                cls,
                dict(slots),
                lambda *given: held[0]._ordinarily(*given),  # noqa: PLW0108  (not there yet)
            )
        except TypeError as error:
            raise ArgumentError(
                f"{error}.".replace("..", "."),
                hint=_as_numpy(slots),
            ) from None
        held.append(self)
        return self

    def check(self) -> None:
        """Refuse unused slots, and calls that take another view of a slot's memory."""
        uses, views = self.survey()
        if views:
            number, name = views[0]
            raise ArgumentError(
                f"Call {number} of the recording takes another view of the memory of slot "
                f"'{name}', which a replay could not exchange.",
                hint=f"Pass the field of slot '{name}' itself, or give the view a slot of its own.",
            )
        self._check_tuples()
        used = {name for _, name in uses} | set(self._used_in_python())
        unused = [name for name in self.slots if name not in used]
        if unused:
            raise ArgumentError(
                f"No recorded call takes the {self._kind(unused[0])} of slot '{unused[0]}'.",
                hint=f"A slot is known by its {self._kind(unused[0])}: pass the very object that "
                "was named.",
            )

    def _check_tuples(self) -> None:
        """Refuse numbers of slots inside tuples: they may be compiled in."""
        numbers = {
            id(value): name for name, value in self.slots.items() if isinstance(value, np.generic)
        }
        for place, (_, args, kwargs, _) in enumerate(self.calls):
            for path, leaf in leaves_of((*args, *(kwargs or {}).values())):
                if len(path) > 1 and id(leaf) in numbers:
                    raise ArgumentError(
                        f"Call {place} of the recording takes the number of slot "
                        f"'{numbers[id(leaf)]}' inside a tuple, where a replay cannot exchange it.",
                        hint="Give the number a parameter of its own.",
                    )

    def adjoint(
        self,
        *,
        wrt: Sequence[str],
        of: Sequence[str],
        constant: Sequence[str] = (),
        names: str = "{}_b",
    ) -> StepAdjoint:
        """Return the adjoint of the step: how a cost moves with slots at entry.

        Calls give all slots with their values at entry, the adjoints of `of` after the step, which
        are read, and those of `wrt`, which are written. A slot in both has one adjoint field.
        Slots of `wrt` keep their values; other fields of the step hold other ones afterwards: its
        calls run again, as far as adjoints need them.

        Args:
            wrt: the slots whose adjoints are computed.
            of: the slots whose adjoints are given.
            constant: parameters of the programs whose fields never change, such as weights of a
                mesh. Those with a value for each slot of a table are looked up along the transposed
                table once, when the adjoint is planned, and not in each call.
            names: the pattern of the names of adjoints.

        Raises:
            DerivativeError: a name is none of a field of floats, a call is none of a program, has
                no adjoint, or takes a part of memory that another call writes; what is constant is
                a slot, is written, or no parameter.

        >>> import fieldforge as ff
        >>> I = ff.Dimension("I")
        >>> Line = ff.Field[ff.Dims[I], ff.float64]
        >>> @ff.field_operator
        ... def squared(u: Line) -> Line:
        ...     return u * u
        >>> @ff.program(backend=ff.cpu)
        ... def square(u: Line, out: Line):
        ...     squared(u, out=out)
        >>> a, b = ff.full({I: 2}, 3.0), ff.zeros({I: 2})
        >>> with ff.record(now=a) as step:
        ...     square(a, b)
        ...     square(b, a)
        >>> back, a_b = step.adjoint(wrt=["now"], of=["now"]), ff.ones({I: 2})
        >>> back(now=ff.full({I: 2}, 3.0), now_b=a_b)
        >>> a_b.asnumpy()
        array([108., 108.])
        """
        from ..reversing.step_adjoint import StepAdjoint  # most steps have none

        return StepAdjoint(self.slots, self.calls, wrt, of, constant, names, record)

    def _kind(self, slot: str) -> str:
        return "number" if isinstance(self.slots[slot], np.generic) else "field"

    def __len__(self) -> int:
        return len(self.calls)

    def __str__(self) -> str:
        rows = (f"{number:>4}  {_name(row[0])}" for number, row in enumerate(self.calls))
        slots = ", ".join(self.slots) or "none"
        return "\n".join([f"step of {len(self)} calls, slots: {slots}", *rows])

    def __repr__(self) -> str:
        return f"<step of {len(self)} calls>"

    def _repr_html_(self) -> str:
        from ..reports.page import step_fragment
        from ..reports.recorded_calls import view_of_calls

        return step_fragment(view_of_calls(self.calls, self.slots))

    def _only_exchanges(self) -> bool:
        """Tell whether all calls that run in Python are those that must, between ranks."""
        from ...runtime.decomposition.exchange import Exchange  # most steps have none

        noted = [call for call, _, kwargs, _ in self.calls if kwargs is not None]
        return bool(noted) and all(isinstance(call, Exchange) for call in noted)

    def _used_in_python(self) -> Iterator[str]:
        for _, args, kwargs, _ in self.calls:
            given = {id(leaf) for _, leaf in leaves_of((*args, *(kwargs or {}).values()))}
            yield from (name for name, field in self.slots.items() if id(field) in given)

    def _ordinarily(self, fields: Mapping[str, Any], why: str | None) -> None:
        """Make the calls one by one, with the fields given for the slots."""
        if why is not None and not self._told and not self._only_exchanges():
            self._told = True
            reason = why.partition("\n")[0].rstrip(".")
            warnings.warn(f"A recorded step makes its calls one by one: {reason}.", stacklevel=3)
        others = {id(field): fields[name] for name, field in self.slots.items()}

        def exchanged(value: Any) -> Any:
            return map_leaves(lambda leaf: others.get(id(leaf), leaf), value)

        call: Any
        for call, args, kwargs, provider in self.calls:
            if (
                kwargs is None
            ):  # a native program: all arguments in order, the output of an operator last
                named = zip(call.parameters, map(exchanged, args), strict=True)
                call(**dict(named), offset_provider=provider)
            else:
                call(*map(exchanged, args), **{n: exchanged(v) for n, v in kwargs.items()})


def _name(call: Any) -> str:
    return getattr(call, "__name__", None) or getattr(call, "name", None) or repr(call)


def _as_numpy(slots: Mapping[str, Any]) -> str:
    """Return how to write the first slot that is a number of Python."""
    kinds = {int: "np.int32", float: "np.float64"}
    numbers = ((name, kinds[type(value)]) for name, value in slots.items() if type(value) in kinds)
    name, kind = next(numbers, ("dt", "np.float64"))
    return (
        "Equal numbers of Python may be one object: before the recording write "
        f"'{name} = {kind}({name})', and pass '{name}' to the calls."
    )
