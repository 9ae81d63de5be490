"""Views of orders and of pools of builds, for reports and notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...runtime.process import FieldforgeError, classes
from ..reports.view import BuildView
from .building import trace
from .order import Order


def views_of_builds(
    builds: Iterable[tuple[Order, BaseException | None, Sequence[bool]]], *, whole: bool = True
) -> Iterator[BuildView]:
    """Yield the view of every build, given its order, its error and whether it was stored.

    `whole` adds the listings after each pass.
    """
    for order, error, stored in builds:
        if error is not None:
            yield _failed(order, "", error)
            continue
        view = view_of_order(order, whole=whole)
        said = "The store had it before." if any(stored) else "This batch built it."
        yield classes.evolve(view, note=view.note or said) if stored else view


def view_of_order(order: Order, name: str = "", *, whole: bool = True) -> BuildView:
    """Build an order, or load its results, and return the stages; an error becomes a note."""
    try:
        made = trace(order.definition, order.backend, order.variant, None)
    except FieldforgeError as error:
        return _failed(order, name, error)
    return made.view(_title(order, name), whole=whole)


def _failed(order: Order, name: str, error: BaseException) -> BuildView:
    return BuildView(_title(order, name), note=str(error))


def _title(order: Order, name: str) -> str:
    about = f", {order.about}" if order.about else ""
    return f"{name or order.name} on '{order.backend.name}'{about}"
