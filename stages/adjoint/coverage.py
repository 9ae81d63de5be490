"""What a program reads of its fields, whatever a call finds empty or hides."""

from __future__ import annotations

from ..ir.dataflow import Dataflow, Input, Ranges, TableBound, parts
from ..lower.boxes.areas import Area, Firmness
from ..lower.boxes.infer_boxes import Walk


def exact_reads(program: Dataflow) -> frozenset[str]:
    """Return the fields that one statement surely reads on the box that inference gives them.

    Other boxes are larger than what some calls read: branches may be empty, and reads that `where`
    hides may lie outside of the field.
    """
    walk = Walk.of(program)
    found = set()
    for row, need in walk.needs(program.statements[0]).items():
        value = program.values[row]
        if not isinstance(value, Input):
            continue
        sure = {number: each for number, each in need.items() if _is_sure(walk.areas[number])}
        box = walk.areas.of(value.dims, need)
        if sure and walk.areas.of(value.dims, sure) == box and not _has_table(box):
            found.add(value.name)
    return frozenset(found)


def _is_sure(area: Area) -> bool:
    return area.certain and area.firmness is not Firmness.SOFT


def _has_table(ranges: Ranges) -> bool:
    ends = (end for each in ranges for end in (each.start, each.stop))
    return any(isinstance(part, TableBound) for part in parts(*ends))
