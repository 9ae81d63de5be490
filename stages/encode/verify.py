"""The rules of encoded programs: each place exists, and is written before it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .program import Access, Code, Nest, Program, Tiles


class EncodingError(ValueError):
    """A program that the native core must not run."""


def verify(program: Program) -> Program:
    """Return the program; raise `EncodingError` with all problems if it breaks a rule."""
    nests = [
        nest
        for node in (*program.nodes, *program.clamped)
        for nest in (
            [member.nest for member in node.body.members]
            if isinstance(node.body, Tiles)
            else [node.body]
        )
    ]
    problems = [
        f"nest {number}: {problem}"
        for number, nest in enumerate(nests)
        for problem in _problems(nest, len(program.buffers))
    ]
    if problems:
        listed = "\n  ".join(problems)
        raise EncodingError(f"Program '{program.name}' is not encoded by the rules:\n  {listed}")
    return program


def _problems(nest: Nest, buffers: int) -> Iterator[str]:
    for number, access in enumerate(nest.accesses):
        if not 0 <= access.buffer < buffers:
            yield f"a{number} is of a buffer that does not exist"
    known = {f"v{loop}" for loop in range(len(nest.loops))}
    known |= {f"v{each.value}" for each in nest.known}
    yield from _of_code(nest, nest.around[0], known)
    # what stands right around the lanes reads what many of its indices have computed
    for code in (*nest.around[1:-1], nest.rows, *nest.around[1:][-1:], nest.first):
        yield from _of_code(nest, code, known)
    for part in nest.parts:
        inside = set(known)
        yield from _of_code(nest, part.code, inside)


def _of_code(nest: Nest, code: Code, known: set[str]) -> Iterator[str]:
    """Yield the problems of steps, and add to `known` the places that they write."""
    for step in code:
        for place in _read(nest, step.name, step.out, step.args):
            if place not in known:
                yield f"'{step.name}' reads {place} before it is written"
        if step.name.partition(".")[0] != "store":
            known.add(step.out)
        if not _exists(nest, step.out):
            yield f"there is no place {step.out}"


def _read(nest: Nest, name: str, out: str, args: Iterable[str]) -> Iterator[str]:
    """Yield the places that a step reads; an access must point to a row by then."""
    for place in args:
        yield f"t{place[1:]}" if place[0] == "r" else place
    told = [place for place in (out, *args) if place[0] == "a"]
    if name != "point":
        yield from told
    for place in told:
        number = int(place[1:])
        if number < len(nest.accesses):
            yield from _indices(nest.accesses[number], is_point=name == "point")


def _indices(access: Access, *, is_point: bool) -> Iterator[str]:
    for kind, number, _ in access.axes:
        if kind == "value":
            yield f"v{number}"
        elif kind == "row" or (kind == "block" and not is_point):
            yield f"t{number}"


def _exists(nest: Nest, place: str) -> bool:
    counts = {"a": len(nest.accesses), "t": nest.blocks, "v": nest.values}
    return place[:1] in counts and int(place[1:]) < counts[place[0]]
