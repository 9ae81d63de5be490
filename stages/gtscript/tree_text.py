"""Print the typed tree of a stencil: one assignment a line."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.stencil import Assign, End, Limits, Number, Operation, Read, Ref, Stencil


def show(stencil: Stencil) -> str:
    """Return the listing of a stencil."""
    return "\n".join(_lines(stencil)) + "\n"


def _lines(stencil: Stencil) -> Iterator[str]:
    yield f"stencil {stencil.name}"
    for number, variable in enumerate(stencil.variables):
        given = (*variable.axes, *map(str, variable.sizes))
        axes = f"[{', '.join(given)}] " if given else ""
        yield f"  {variable.kind} v{number} {variable.name} : {axes}{variable.dtype}"
    for row, node in enumerate(stencil.nodes):
        yield f"  %{row} = {_node(stencil, row)} : {node.dtype}"
    for block in stencil.blocks:
        yield f"  {block.order} K: {block.start} .. {block.stop}"
        yield from (f"    {_assign(stencil, each)}" for each in block.body)


def _node(stencil: Stencil, row: Ref) -> str:
    match stencil.nodes[row]:
        case Number(text=text):
            return f"number {text}"
        case Read() as read:
            return f"read {stencil.variables[read.variable].name}{_place(read)}"
        case Operation(op=op, args=args):
            return " ".join([op, *(f"%{arg}" for arg in args)])
    raise TypeError(f"The tree of a stencil has no '{type(stencil.nodes[row]).__name__}'.")


def _place(read: Read) -> str:
    if read.places:
        return f".A[{', '.join(f'%{each}' for each in read.places)}]"
    i, j, k = read.offset
    if read.level is None:
        return f"[{i}, {j}, {k}]"
    return f"[{i}, {j}, {'at ' if read.is_absolute else ''}%{read.level}]"


def _assign(stencil: Stencil, assign: Assign) -> str:
    mask = "" if assign.mask is None else f" where %{assign.mask}"
    inside = "" if assign.region is None else f" inside {_region(assign.region)}"
    name = stencil.variables[assign.variable].name
    by = f"{assign.offset:+}" if assign.level is None else f"+%{assign.level}"
    moved = f"[K{by}]" if assign.moves else ""
    loops = "".join(f" while {each}" for each in assign.loops)
    return f"{assign.statement}{loops}: {name}{moved} = %{assign.value}{mask}{inside}"


def _region(limits: Limits) -> str:
    return ", ".join(f"{axis}: {_side(side)}" for axis, side in (("I", limits.i), ("J", limits.j)))


def _side(side: tuple[End | None, End | None]) -> str:
    start, stop = ("" if each is None else str(each) for each in side)
    return f"{start} .. {stop}".strip()
