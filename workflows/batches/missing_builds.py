"""`check`: list the builds that are missing, before the first time step needs them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...cache.explain import Difference
from ...runtime.process import classes
from ..builds.order import Order
from ..engine.deep import STAGE
from ..engine.policy import NotStoredError
from ..engine.reasons import Reason, reason
from .orders import orders


@classes.frozen
class Missing:
    """A variant that is not in the store, the first stage that would run, and why."""

    program: str
    variant: str
    stage: str
    why: Reason

    @property
    def changed(self) -> tuple[Difference, ...]:
        """The components of the key that differ from the nearest build."""
        return self.why.changed

    def __str__(self) -> str:
        of = f" ({self.variant})" if self.variant else ""
        return f"{self.program}{of}: stage '{self.stage}' would run. {self.why}"


def check(programs: Iterable[Any]) -> tuple[Missing, ...]:
    r"""Return every variant of these programs that is not in the store, with the reason.

    Nothing is compiled or loaded. `precompile` describes the form of `programs`.

        missing = check([diffusion, advection])
        if missing:
            raise SystemExit("\n".join(map(str, missing)))

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator(backend=ff.cpu)
    ... def tripled(u: Line) -> Line:
    ...     return 3.0 * u
    >>> with ff.using(ff.Engine()):
    ...     (missing,) = check([tripled])
    >>> missing.stage, str(missing.why)
    ('lower', "'tripled' was never built into this store.")
    """
    found = (_missing(order) for order in orders(programs))
    return tuple(each for each in found if each is not None)


def _missing(order: Order) -> Missing | None:
    refused = order.missing()
    if refused is None:
        return None
    return Missing(order.name, order.about, refused.stage, why(order, refused))


def why(order: Order, refused: NotStoredError) -> Reason:
    """Compare an order with the nearest deep record, else with the nearest record of its stage."""
    whole = changes(order)
    if whole is not None and whole.record is not None:
        return whole
    return reason(order.engine.store, refused.kind, order.name, refused.components)


def changes(order: Order) -> Reason | None:
    """Compare an order with the nearest deep record; None if the build is stored. Runs nothing."""
    look = order.look()
    if look is None or look.results:
        return None
    return reason(order.engine.store, STAGE, order.name, look.components)
