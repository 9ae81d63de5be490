"""The boxes of the values that stores need, as far as displacements lead.

A displacement may lead to all of its argument, whose bounds may be far apart. Where these are, its
distances are computed first, and only what they lead to is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...runtime.process import classes
from ..ir.bounds import Const, Range
from ..ir.dataflow import Displace, Ref, Store
from ..lower.boxes.areas import Area, Need
from .accesses import led_to
from .boxed import Spans
from .call import Call
from .values import values_of

MANY: Final = 1 << 16  # indices; for fewer it costs more to compute the distances twice


def needed(call: Call, stores: Sequence[tuple[Store, Spans]]) -> dict[Ref, Spans]:
    """Return the box of each value that these stores need, in the order of the rows."""

    def narrowed(value: Displace, whole: Range, need: Need) -> Range:
        start, stop = call.number(whole.start), call.number(whole.stop)
        if stop - start <= MANY or not need:
            return whole
        around, dims = call.walk.areas.of(value.dims, need), call.program.values[value.by].dims
        own = Area(tuple(each for each in around if each.dim in dims))
        boxes = exact.boxes(exact.walk.from_seeds([(value.by, call.walk.areas.number(own))]))
        by = values_of(call, boxes, {value.by}).boxed[value.by]
        spans = tuple((call.number(each.start), call.number(each.stop)) for each in around)
        places = led_to(value, by, spans, (start, stop))
        return Range(value.dim, Const(int(places.min())), Const(int(places.max()) + 1))

    exact = classes.evolve(call, walk=classes.evolve(call.walk, narrowed=narrowed))
    return exact.needed(list(stores))
