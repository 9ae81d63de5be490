"""Write a strip in which values slide: what the row computed ahead comes from registers.

A strip runs in stages. A value that slides is computed in one stage at the point furthest ahead;
between stages its register moves by some lanes, filled up from the strip before; later stages use
what came out. Values go from stage to stage in arrays of one register, which compilers dissolve.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ....ir.nests import Instruction, Load, Nest, Row, Store
from ...rows.body import NAMELESS, BodyText
from ...rows.operations import TYPES
from ..passes.sliding import live_rows

LINE: Final = 64


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


class Slides:
    """The stages of one nest's strips."""

    def __init__(self, nest: Nest, body: BodyText, lanes: int) -> None:
        self.nest, self.body, self.lanes = nest, body, lanes
        self.depth = len(nest.loops)
        self.slides = {row: (base, by) for row, base, by in nest.slides}
        self.bases = sorted({base for base, _ in self.slides.values()})
        self.live = sorted(live_rows(nest.body, self.slides))
        self.stages = self._stages()

    def functions(self, vector_bytes: int) -> dict[str, str]:
        """Return what the code calls, by names that sort types before their users."""
        found: dict[str, str] = {}
        for row, (_, by) in self.slides.items():
            found |= functions(self.nest.body[row].dtype, by, self.lanes, vector_bytes)
        return found

    def before(self, indent: str) -> Iterator[str]:
        """Define the registers that go from strip to strip, before the loop over strips."""
        for base in self.bases:
            yield f"{indent}{self._register(base)} h{base} = {{}};"
        yield f"{indent}bool is_first = true;"

    def first(self, indent: str) -> Iterator[str]:
        """Compute the values of the points before the first strip, as many as slide into it."""
        reach = max(by for _, by in self.slides.values())
        needed = live_rows_of(self.nest, self.bases)
        yield f"{indent}if (is_first) {{"
        yield f"{indent}  is_first = false;"
        for base in self.bases:
            yield f"{indent}  alignas({LINE}) {self._type(base)} a{base}[{self.lanes}] = {{}};"
        yield f"{indent}  for (s64 l = {self.lanes - reach}; l < {self.lanes}; ++l) {{"
        yield f"{indent}    const s64 i{self.depth - 1} = b - {self.lanes} + l;"
        for row in needed:
            yield f"{indent}    {self.body.line(row)}"
        yield from (f"{indent}    a{base}[l] = v{base};" for base in self.bases)
        yield f"{indent}  }}"
        yield from (f"{indent}  __builtin_memcpy(&h{b}, a{b}, sizeof(h{b}));" for b in self.bases)
        yield f"{indent}}}"

    def strip(self, kept: Mapping[str, str], simd: str, indent: str) -> Iterator[str]:
        """Write the stages of a strip; `kept` are the arrays of rows for non-temporal stores."""
        arrays = self._arrays()
        for row in sorted(arrays):
            yield f"{indent}alignas({LINE}) {self._type(row)} a{row}[{self.lanes}];"
        for stage in range(max(self.stages.values()) + 1):
            if stage:
                yield from self._moves(stage, indent)
            yield simd
            yield f"{indent}for (s64 l = 0; l < {self.lanes}; ++l) {{"
            yield f"{indent}  const s64 i{self.depth - 1} = b + l;"
            yield from self._stage(stage, arrays, kept, f"{indent}  ")
            yield f"{indent}}}"
        yield from (f"{indent}h{base} = g{base};" for base in self.bases)

    def _moves(self, stage: int, indent: str) -> Iterator[str]:
        """Move the registers whose values the next stage is the first to use."""
        for base in self.bases:
            if self.stages[base] == stage - 1:
                yield f"{indent}{self._register(base)} g{base};"
                yield f"{indent}__builtin_memcpy(&g{base}, a{base}, sizeof(g{base}));"
        for row, (base, by) in self.slides.items():
            if self.stages[row] == stage:
                moved = f"moved_{self._type(row)}_{by}(h{base}, g{base})"
                yield f"{indent}const {self._register(row)} m{row} = {moved};"
                yield f"{indent}__builtin_memcpy(a{row}, &m{row}, sizeof(m{row}));"

    def _stage(
        self, stage: int, arrays: set[Row], kept: Mapping[str, str], indent: str
    ) -> Iterator[str]:
        body = self.nest.body
        for number in self._rows_in(stage):
            row = body[number]
            own = self.stages[number] == stage and number not in self.slides
            if own or isinstance(row, Load):
                yield indent + self.body.line(number, kept)
                if number in arrays:
                    yield f"{indent}a{number}[l] = v{number};"
            else:
                yield f"{indent}const {self._type(number)} v{number} = a{number}[l];"

    def _rows_in(self, stage: int) -> list[Row]:
        """Return the rows of a stage, and those of stages before that it uses."""
        body = self.nest.body
        own = [
            number
            for number in self.live
            if self.stages.get(number) == stage
            and number not in self.slides
            and not isinstance(body[number], NAMELESS)
        ]
        used = {
            arg
            for number in own
            for arg in body[number].operands
            if arg in self.stages and not isinstance(body[arg], NAMELESS)
        }
        return sorted({*own, *used})

    def _arrays(self) -> set[Row]:
        """Return the rows whose values go from one stage to a later one."""
        found = {*self.bases, *self.slides}
        for number in self.live:
            if number in self.stages and number not in self.slides:
                found.update(
                    arg
                    for arg in self.nest.body[number].operands
                    if arg in self.stages
                    and self.stages[arg] < self.stages[number]
                    and not isinstance(self.nest.body[arg], (Load, *NAMELESS))
                )
        return found

    def _stages(self) -> dict[Row, int]:
        """Return the stage of each row in the loop: the first one that has its operands."""
        stages: dict[Row, int] = {}
        for number in _ordered(self.nest.body, self.live, self.slides):
            if self.nest.body[number].level < self.depth:
                continue
            if number in self.slides:
                stages[number] = stages[self.slides[number][0]] + 1
                continue
            operands = self.nest.body[number].operands
            stages[number] = max((stages.get(each, 0) for each in operands), default=0)
        return self._late(stages)

    def _late(self, stages: dict[Row, int]) -> dict[Row, int]:
        """Move rows to the stage of their first user, so that fewer values wait in arrays."""
        users: dict[Row, list[Row]] = {}
        for number in stages:
            if number not in self.slides:
                for each in self.nest.body[number].operands:
                    users.setdefault(each, []).append(number)
        for number in sorted(stages, reverse=True):
            row = self.nest.body[number]
            if number in self.slides or number in self.bases or isinstance(row, Store):
                continue
            if found := users.get(number):
                stages[number] = max(stages[number], min(stages[each] for each in found))
        return stages

    def _type(self, row: Row) -> str:
        return TYPES[self.nest.body[row].dtype][0]

    def _register(self, row: Row) -> str:
        return f"lanes_{self._type(row)}"


def live_rows_of(nest: Nest, roots: list[Row]) -> list[Row]:
    """Return the rows inside the innermost loop that compute some rows, without slides."""
    depth = len(nest.loops)
    found: set[Row] = set()
    waiting = list(roots)
    while waiting:
        row = waiting.pop()
        each = nest.body[row]
        if row not in found and each.level == depth and not isinstance(each, NAMELESS):
            found.add(row)
            waiting.extend(each.operands)
    return sorted(found)


def _ordered(
    body: tuple[Instruction, ...], live: list[Row], slides: Mapping[Row, tuple[Row, int]]
) -> list[Row]:
    """Return rows with all that they need before them; a slid row needs its origin."""
    order: dict[Row, None] = {}

    def add(number: Row) -> None:
        if number not in order:
            needed = (slides[number][0],) if number in slides else body[number].operands
            for each in needed:
                add(each)
            order[number] = None

    for number in live:
        add(number)
    return list(order)
