"""The C++ function of one exported program: it checks, computes integers, and enters a variant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...runtime.calls.plan import Access, Box, Code, Plan
from ...runtime.language import axis_name
from .header import declaration
from .program import C_TYPES, DTYPES, Built, Exported, Leaf

_INFIX: Final = {"add": "+", "sub": "-", "mul": "*"}
_CALLS: Final = {
    "min": "std::min<int64_t>",
    "max": "std::max<int64_t>",
    "floordiv": "floor_div",
    "mod": "floor_mod",
}
_SLOTS: Final = 64  # of a table, as bits of a word
_STATUS: Final = {
    "not_finite": ("FIELDFORGE_NOT_FINITE", "wrote a number to '{}' that is not finite."),
    "beyond": ("FIELDFORGE_BEYOND", "reads a field beyond its ends, maybe '{}'."),
}


def entry_name(library: str, program: str, part: str) -> str:
    """Return the name that the entry point of a part has in the library."""
    return f"{library}_{program}_entry_{part}"


def wrapper(library: str, program: Exported) -> str:
    """Return the function of a program and the functions of its variants."""
    parts = [
        *(_entry(library, program.name, part) for part, _ in program.parts()),
        *_variants(library, program),
        *_dispatch(library, program),
    ]
    return "\n".join(parts) + "\n"


def _entry(library: str, program: str, part: str) -> str:
    return (
        f'extern "C" int32_t {entry_name(library, program, part)}(const void* const*, '
        "const int64_t*, const void*, void*, const Context*);"
    )


# --- which variant runs ------------------------------------------------------------------------


def _dispatch(library: str, program: Exported) -> Iterator[str]:
    fields = [leaf for leaf in program.leaves if leaf.dims is not None]
    scalars = [leaf for leaf in program.leaves if leaf.dims is None]
    for leaf in fields:
        dims = ", ".join(f'"{axis_name(dim)}"' for dim in leaf.dims or ()) or "nullptr"
        yield f"static const char* const {program.name}_dims_{leaf.c}[] = {{{dims}}};"
    yield f"EXPORTED {declaration(library, program)} {{"
    rows = [
        f'      {{"{leaf.name}", {leaf.c}, {DTYPES.index(leaf.dtype)}, {len(leaf.dims or ())}, '
        f"{program.name}_dims_{leaf.c}, false, {{}}}},"
        for leaf in fields
    ]
    yield "  Argument ff_all[] = {"
    yield from rows or ['      {"", nullptr, 0, 0, nullptr, false, {}},']
    yield "  };"
    yield f"  for (int ff_k = 0; ff_k < {len(fields)}; ++ff_k)"
    yield f'    if (const int32_t ff_code = check_argument("{program.name}", ff_all[ff_k]))'
    yield "      return ff_code;"
    given = ", ".join(["ff_all", *(leaf.c for leaf in scalars)])
    selected = []
    for number, built in enumerate(program.variants):
        static = _has_static_values(built, program)
        fits = " && ".join([*static, *_fits(built.plan)]) or "true"
        selected += [f"({' && '.join(static)})"] if static else []
        yield f"  if ({fits}) return {program.name}_{number}({given});"
    if selected:
        yield f"  if (!({' || '.join(selected)}))"
        names = sorted(
            {name for each in program.variants for name in each.static} - {*program.fixed}
        )
        yield (
            f"    return refuse(FIELDFORGE_NOT_EXPORTED, \"'{program.name}' was not exported for "
            f'these values of {", ".join(names)}.");'
        )
    yield from _other_ranges(program)
    yield (
        f"  return refuse(FIELDFORGE_LAYOUT, \"No exported variant of '{program.name}' fits the "
        f'strides of the fields: {_layouts(program)}.");'
    )
    yield "}"


def _has_static_values(built: Built, program: Exported) -> list[str]:
    """Return the tests that select a variant by values of the call."""
    by_name = {leaf.name: leaf for leaf in program.leaves}
    return [
        f"{by_name[name].c} == {_literal(value)}"
        for name, value in built.static.items()
        if name in by_name
    ]


def _fits(plan: Plan) -> Iterator[str]:
    """Return the tests of strides and ranges that a plan relies on."""
    places = _field_places(plan)
    for number, argument in enumerate(plan.arguments):
        if argument.unit >= 0:
            yield f"has_unit(*ff_all[{places[number]}].field, {argument.unit})"
    for first, axis, second, other in plan.alike:
        one, two = f"ff_all[{places[first]}].field", f"ff_all[{places[second]}].field"
        yield f"{one}->start[{axis}] == {two}->start[{other}]"
        yield f"{one}->extent[{axis}] == {two}->extent[{other}]"
    for place, axis, start, stop in plan.ranges:
        field = f"ff_all[{places[place]}].field"
        yield f"{field}->start[{axis}] == {start}"
        yield f"stop_of(*{field}, {axis}) == {stop}"


def _other_ranges(program: Exported) -> Iterator[str]:
    """Refuse outputs that do not have the same range, where every variant relies on it."""
    plans = [each.plan for each in program.variants]
    places = _field_places(plans[0])
    for pair in plans[0].alike:
        if all(pair in plan.alike for plan in plans):
            first, axis, second, other = pair
            one, two = f"ff_all[{places[first]}], {axis}", f"ff_all[{places[second]}], {other}"
            yield f'  if (const int32_t code = check_alike("{program.name}", {one}, {two}))'
            yield "    return code;"


def _layouts(program: Exported) -> str:
    plan = program.variants[0].plan
    found = [
        f"'{each.name}' along '{axis_name(each.dims[each.unit])}'"
        for each in plan.arguments
        if each.unit >= 0
    ]
    return f"stride 1 is expected of {', '.join(found)}" if found else "outputs differ in range"


# --- one variant -------------------------------------------------------------------------------


def _variants(library: str, program: Exported) -> Iterator[str]:
    scalars = [leaf for leaf in program.leaves if leaf.dims is None]
    given = ", ".join(
        ["Argument* ff_all", *(f"{C_TYPES[leaf.dtype]} given_{leaf.c}" for leaf in scalars)]
    )
    for part, built in program.parts():
        yield f"static int32_t {program.name}_{part}({given}) {{"
        yield from (f"  {line}" for line in _body(library, program, part, built, scalars))
        yield "}"


def _body(
    library: str, program: Exported, part: str, built: Built, scalars: Sequence[Leaf]
) -> Iterator[str]:
    plan, places = built.plan, _field_places(built.plan)
    given = {leaf.name: f"given_{leaf.c}" for leaf in scalars}
    constants = {name: _literal(value) for name, value in built.static.items()}
    writer = _Codes(plan, places, {**given, **constants})
    name = f'"{program.name}"'
    yield from (f"(void){each};" for each in given.values())
    yield from _checks(name, plan, places, writer)
    if plan.is_inside:
        all_given = ", ".join(["ff_all", *given.values()])
        yield f"if (is_beyond) return {program.name}_{part}_beyond({all_given});"
    yield from _arguments(plan, places, {**constants, **given})
    yield f"const int64_t bytes = {writer.text(plan.workspace)};"
    yield "if (!workspace.has(bytes))"
    said = f"'{program.name}' needs %lld bytes for temporaries."
    yield f'  return refuse(FIELDFORGE_MEMORY, "{said}", (long long)bytes);'
    entry = entry_name(library, program.name, part)
    yield f"const int32_t code = {entry}(pointers, n, slots, workspace.data, &context);"
    yield from _outcome(program.name, plan)


def _checks(name: str, plan: Plan, places: Mapping[int, int], writer: _Codes) -> Iterator[str]:
    """Write the checks of tables, boxes and shared memory, and the integers that they need."""
    for place, argument in enumerate(plan.arguments):
        if argument.kind == "table":
            may_miss = str(argument.skip).lower()
            table = f"ff_all[{places[place]}], {argument.width}, {may_miss}"
            yield f"if (const int32_t code = check_table({name}, {table})) return code;"
    yield f"int64_t n[{max(len(plan.ints), 1)}] = {{}};"
    for index, code in enumerate(plan.ints):
        yield f"n[{index}] = {writer.text(code)};"
    if plan.is_inside:
        yield "bool is_beyond = false;"
    for access in plan.accesses:
        yield from _checked(name, access, plan, writer)
    yield from _unshared(name, plan, places)


def _arguments(plan: Plan, places: Mapping[int, int], values: Mapping[str, str]) -> Iterator[str]:
    """Define the addresses of the fields, and the slots with the values of scalars."""
    pointers = [f"origin(*ff_all[{place}].field)" for place in places.values()] or ["nullptr"]
    yield f"const void* const pointers[] = {{{', '.join(pointers)}}};"
    own = [argument for argument in plan.arguments if argument.kind == "scalar"]
    yield f"alignas(8) unsigned char slots[{8 * max(len(own), 1)}] = {{}};"
    for index, argument in enumerate(own):
        yield f"{{ const {C_TYPES[argument.dtype]} value = {values.get(argument.name, '0')};"
        yield f"  std::memcpy(slots + {8 * index}, &value, sizeof value); }}"


def _outcome(name: str, plan: Plan) -> Iterator[str]:
    """Write what the function returns for the code that the program returned."""
    for status in plan.statuses:
        argument = plan.arguments[status.argument]
        kind, said = _STATUS[status.kind]
        yield f"if (code == {status.code})"
        yield f"  return refuse({kind}, \"'{name}' {said.format(argument.name)}\");"
    yield "if (code != 0)"
    yield f"  return refuse(FIELDFORGE_BEYOND, \"'{name}' stopped with code %d.\", code);"
    yield "return FIELDFORGE_OK;"


def _checked(name: str, access: Access, plan: Plan, writer: _Codes) -> Iterator[str]:
    """Write the checks of one statement: nothing is read where a written box is empty."""
    yield "{"
    filled = []
    for number, box in enumerate(access.writes):
        place, rank = writer.places[box.argument], len(box.start)
        yield f"  const Range w{number}[] = {{{writer.box(box)}}};"
        yield f'  if (const int32_t code = check_box({name}, ff_all[{place}], "writes", w{number}))'
        yield "    return code;"
        filled.append(f"!is_empty(w{number}, {rank})")
    yield f"  if ({' && '.join(filled) or 'true'}) {{"
    for number, box in enumerate(access.reads):
        place = writer.places[box.argument]
        yield f"    Range r{number}[] = {{{writer.box(box)}}};"
        if box.hard:
            hard = ", ".join(f"{{{writer.text(a)}, {writer.text(b)}}}" for a, b in box.hard)
            yield f"    if (!lies_inside(*ff_all[{place}].field, r{number})) {{"
            yield f"      const Range hard[] = {{{hard}}};"
            yield f"      std::copy(hard, hard + {len(box.hard)}, r{number});"
            yield from ["      is_beyond = true;"] if plan.is_inside else ()
            yield from [f"      n[{plan.clamped}] = 1;"] if plan.clamped >= 0 else ()
            yield "    }"
        given = f'{name}, ff_all[{place}], "reads", r{number}'
        yield f"    if (const int32_t code = check_box({given}))"
        yield "      return code;"
    yield "  }"
    yield "}"


def _unshared(name: str, plan: Plan, places: Mapping[int, int]) -> Iterator[str]:
    """Write the comparisons of each written argument with itself and all others."""
    pointwise = {pair for access in plan.accesses for pair in access.pointwise}
    is_single = len(plan.accesses) == 1
    done = set()
    for number, written in enumerate(plan.arguments):
        if not written.written or written.kind != "field":
            continue
        yield f"if (const int32_t code = check_written(ff_all[{places[number]}])) return code;"
        for other, argument in enumerate(plan.arguments):
            if other == number or argument.kind == "scalar" or (other, number) in done:
                continue
            done.add((number, other))
            may = is_single and (number, other) in pointwise and not argument.written
            yield (
                f"if (const int32_t code = check_memory({name}, ff_all[{places[number]}], "
                f"ff_all[{places[other]}], {str(may).lower()})) return code;"
            )


def _field_places(plan: Plan) -> dict[int, int]:
    """Return the place among fields and tables of each such argument."""
    found = [number for number, each in enumerate(plan.arguments) if each.kind == "field"]
    found += [number for number, each in enumerate(plan.arguments) if each.kind == "table"]
    return {number: place for place, number in enumerate(found)}


def _literal(value: Any) -> str:
    """Write a number with all its bits.

    >>> _literal(np.float64(0.5)), _literal(np.bool_(True)), _literal(np.int64(-3))
    ('0x1.0000000000000p-1', 'true', 'INT64_C(-3)')
    """
    plain = np.asarray(value).item()
    if isinstance(plain, bool):
        return str(plain).lower()
    return float(plain).hex() if isinstance(plain, float) else f"INT64_C({plain})"


class _Codes:
    """Writes integer programs of a plan as C++."""

    def __init__(self, plan: Plan, places: Mapping[int, int], scalars: Mapping[str, str]) -> None:
        self.plan = plan
        self.places = places
        self.scalars = scalars

    def box(self, box: Box) -> str:
        """Write the ranges of a box."""
        pairs = zip(box.start, box.stop, strict=True)
        return ", ".join(f"{{{self.text(a)}, {self.text(b)}}}" for a, b in pairs)

    def text(self, code: Code) -> str:
        """Write one program as an expression."""
        stack: list[str] = []
        for word in code:
            if word.op in _INFIX:
                right, left = stack.pop(), stack.pop()
                stack.append(f"({left} {_INFIX[word.op]} {right})")
            elif word.op in _CALLS:
                right, left = stack.pop(), stack.pop()
                stack.append(f"{_CALLS[word.op]}({left}, {right})")
            elif word.op in ("lowest", "beyond"):
                stop, start = stack.pop(), stack.pop()
                mask = sum(1 << slot for slot in word.slots) if word.slots else (1 << _SLOTS) - 1
                table = f"*ff_all[{self.places[word.argument]}].field"
                stack.append(f"look({table}, {start}, {stop}, UINT64_C({mask})).{word.op}")
            else:
                stack.append(self._word(word))
        return stack[-1]

    def _word(self, word: Any) -> str:
        match word.op:
            case "const":
                return f"INT64_C({word.value})"
            case "int":
                return f"n[{word.value}]"
            case "patches":
                return "INT64_C(0)"  # no inspector is there: nests run one by one
        argument = self.plan.arguments[word.argument]
        if word.op == "scalar":
            return f"(int64_t){self.scalars[argument.name]}"
        field = f"ff_all[{self.places[word.argument]}].field"
        if word.op == "stop":
            return f"stop_of(*{field}, {word.axis})"
        return f"{field}->{word.op}[{word.axis}]"
