"""Write a strip in which values slide: what the row computed ahead comes from registers.

A strip runs in stages. A value that slides is computed in one stage at the point furthest ahead;
between stages its register moves by some lanes, filled up from the strip before; later stages use
what came out. Values go from stage to stage in arrays of one register, which compilers dissolve.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .....runtime.process import classes
from ....ir.loops import ITEMSIZES, LINE, Instruction, Load, Row, Store, reached
from ...rows import NAMELESS, TYPES, Body, line
from ..passes.sliding import live_rows
from .threads import indented


def functions(dtype: str, by: int, lanes: int, vector_bytes: int) -> dict[str, str]:
    """Return the type of a register and the function that moves it by some lanes, by name."""
    type_ = TYPES[dtype][0]
    whole = {"float32": "s32", "float64": "s64"}[dtype]
    register = f"__attribute__((vector_size({vector_bytes})))"
    places = ", ".join(str(lanes - by + lane) for lane in range(lanes))
    return {
        f"0lanes_{type_}": f"typedef {type_} lanes_{type_} {register};",
        f"1moved_{type_}_{by}": f"""\
static inline lanes_{type_} moved_{type_}_{by}(lanes_{type_} before, lanes_{type_} here) {{
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(before, here, {places});
#else
  typedef {whole} places {register};
  return __builtin_shuffle(before, here, places{{{places}}});
#endif
}}""",
    }


@classes.frozen
class Slides:
    """The stages of one nest's strips.

    Attributes:
        body: the rows of the nest.
        lanes: the points of a strip.
        slides: of each row that slides: whose value it has, and how many points before.
        bases: the rows whose values slide.
        live: the rows that stores need.
        stages: the stage of each row inside the loop.
        reach: how many points a value moves at most.

    """

    body: Body
    lanes: int
    slides: Mapping[Row, tuple[Row, int]]
    bases: Sequence[Row]
    live: Sequence[Row]
    stages: Mapping[Row, int]
    reach: int


def slides_of(body: Body, slides: Sequence[tuple[Row, Row, int]], lanes: int) -> Slides | None:
    """Return the stages of a body in which rows slide, if a strip of them is one register."""
    options = body.scope.options
    fits = all(
        lanes * ITEMSIZES[body.rows[row].dtype] == options.vector_bytes for row, _, _ in slides
    )
    if not slides or options.checked or not fits:
        return None
    by_row = {row: (base, by) for row, base, by in slides}
    dtype, moves = body.rows[slides[0][0]].dtype, {by for _, _, by in slides}
    for by in (*moves, lanes - max(moves)):
        body.scope.uses.functions.update(functions(dtype, by, lanes, options.vector_bytes))
    live = sorted(live_rows(body.rows, by_row))
    bases = sorted({base for base, _ in by_row.values()})
    stages = _late(body.rows, _stages(body, live, by_row), by_row, bases)
    return Slides(body, lanes, by_row, bases, live, stages, max(moves))


def before_strips(slides: Slides) -> Iterator[str]:
    """Define the registers that go from strip to strip, before the loop over strips."""
    yield from (f"{_register(slides, base)} h{base} = {{}};" for base in slides.bases)
    yield "bool is_first = true;"


def sliding_strip(slides: Slides, simd: str) -> Iterator[str]:
    """Write the stages of a strip, before the first one what slides into it."""
    arrays = _arrays(slides)
    yield from _before_first(slides, simd)
    yield from (
        f"alignas({LINE}) {_type(slides, row)} a{row}[{slides.lanes}];" for row in sorted(arrays)
    )
    for stage in range(max(slides.stages.values()) + 1):
        yield from (
            *(_moves(slides, stage) if stage else ()),
            simd,
            f"for (s64 l = 0; l < {slides.lanes}; ++l) {{",
            f"  const s64 i{slides.body.depth - 1} = b + l;",
            *indented(_stage(slides, stage, arrays)),
            "}",
        )
    yield from (f"h{base} = g{base};" for base in slides.bases)


def _before_first(slides: Slides, simd: str) -> Iterator[str]:
    """Compute the values of the points before the first strip, as many as slide into it.

    A register of them takes as long as one point; their places are the last ones.
    """
    reach, lanes, bases = slides.reach, slides.lanes, slides.bases
    rows = slides.body.rows
    needed = (
        row
        for row in reached(bases, lambda row: rows[row].operands)  # without slides
        if rows[row].level == slides.body.depth and not isinstance(rows[row], NAMELESS)
    )
    yield from (
        "if (is_first) {",
        "  is_first = false;",
        *(f"  alignas({LINE}) {_type(slides, base)} a{base}[{lanes}];" for base in bases),
        simd,
        f"  for (s64 l = 0; l < {lanes}; ++l) {{",
        f"    const s64 i{slides.body.depth - 1} = b - {reach} + l;",
        *(f"    {line(slides.body, row)}" for row in sorted(needed)),
        *(f"    a{base}[l] = v{base};" for base in bases),
        "  }",
        *(f"  __builtin_memcpy(&h{base}, a{base}, sizeof(h{base}));" for base in bases),
        *(
            f"  h{base} = moved_{_type(slides, base)}_{lanes - reach}(h{base}, h{base});"
            for base in bases
        ),
        "}",
    )


def _moves(slides: Slides, stage: int) -> Iterator[str]:
    """Move the registers whose values the next stage is the first to use."""
    for base in slides.bases:
        if slides.stages[base] == stage - 1:
            yield from (
                f"{_register(slides, base)} g{base};",
                f"__builtin_memcpy(&g{base}, a{base}, sizeof(g{base}));",
            )
    for row, (base, by) in slides.slides.items():
        if slides.stages[row] == stage:
            moved = f"moved_{_type(slides, row)}_{by}(h{base}, g{base})"
            yield from (
                f"const {_register(slides, row)} m{row} = {moved};",
                f"__builtin_memcpy(a{row}, &m{row}, sizeof(m{row}));",
            )


def _stage(slides: Slides, stage: int, arrays: set[Row]) -> Iterator[str]:
    for number in _rows_in(slides, stage):
        own = slides.stages[number] == stage and number not in slides.slides
        if own or isinstance(slides.body.rows[number], Load):
            yield line(slides.body, number)
            if number in arrays:
                yield f"a{number}[l] = v{number};"
        else:
            yield f"const {_type(slides, number)} v{number} = a{number}[l];"


def _rows_in(slides: Slides, stage: int) -> list[Row]:
    """Return the rows of a stage, and those of stages before that it uses."""
    rows = slides.body.rows
    own = [
        number
        for number in slides.live
        if slides.stages.get(number) == stage
        and number not in slides.slides
        and not isinstance(rows[number], NAMELESS)
    ]
    used = {
        arg
        for number in own
        for arg in rows[number].operands
        if arg in slides.stages and not isinstance(rows[arg], NAMELESS)
    }
    return sorted({*own, *used})


def _arrays(slides: Slides) -> set[Row]:
    """Return the rows whose values go from one stage to a later one."""
    rows, stages = slides.body.rows, slides.stages
    used = (
        arg
        for number in stages.keys() - slides.slides.keys()
        for arg in rows[number].operands
        if stages.get(arg, stages[number]) < stages[number]
    )
    waiting = (arg for arg in used if not isinstance(rows[arg], (Load, *NAMELESS)))
    return {*slides.bases, *slides.slides, *waiting}


def _stages(
    body: Body, live: Sequence[Row], slides: Mapping[Row, tuple[Row, int]]
) -> dict[Row, int]:
    """Return the stage of each row in the loop: the first one that has its operands."""
    stages: dict[Row, int] = {}

    def add(number: Row) -> None:  # a slid row may precede its origin
        if number not in stages:
            needed = (slides[number][0],) if number in slides else body.rows[number].operands
            for each in needed:
                add(each)
            stages[number] = max((stages[each] for each in needed), default=0) + (number in slides)

    for number in live:
        add(number)
    return {number: at for number, at in stages.items() if body.rows[number].level == body.depth}


def _late(
    rows: Sequence[Instruction],
    stages: dict[Row, int],
    slides: Mapping[Row, tuple[Row, int]],
    bases: Sequence[Row],
) -> dict[Row, int]:
    """Move rows to the stage of their first user, so that fewer values wait in arrays."""
    users: dict[Row, list[Row]] = {}
    for number in stages:
        if number not in slides:
            for each in rows[number].operands:
                users.setdefault(each, []).append(number)
    for number in sorted(stages, reverse=True):
        if number in slides or number in bases or isinstance(rows[number], Store):
            continue
        if found := users.get(number):
            stages[number] = max(stages[number], min(stages[each] for each in found))
    return stages


def _type(slides: Slides, row: Row) -> str:
    return TYPES[slides.body.rows[row].dtype][0]


def _register(slides: Slides, row: Row) -> str:
    return f"lanes_{_type(slides, row)}"
