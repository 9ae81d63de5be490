"""Whatever Python can be written: a tree or a located error, never an internal exception."""

# ruff: noqa: E501, PT017, SIM905 - tables of snippets; both outcomes are right
import dataclasses
import enum
import math
import random
import types
from typing import NamedTuple

import attrs
import numpy as np
import pytest

from fieldforge.runtime.fields.field import Field
from fieldforge.runtime.language.connectivity import FieldOffset
from fieldforge.runtime.language.definition import ScanOptions
from fieldforge.runtime.process.errors import DSLError
from fieldforge.stages.parse.trees import parse_all

from ...dimensions import I, K


class Wind(NamedTuple):
    u: Field[[I], np.float64]
    v: float


class Const(enum.Enum):
    A = 1.5
    B = "b"


class Weight(np.float64, enum.Enum):
    A = 0.25


@dataclasses.dataclass(frozen=True)
class Consts:
    c: float


class Nasty:
    def __getattr__(self, name):
        raise RuntimeError(name)


ATOMS = (
    "x|y|n|k|c|b|t|w|1|0|-1|2.5|True|None|'a'|...|1j|I|J|K|Off|Wind|Const|Const.A|Const.A.value|C|CS|np|"
    "np.float32|math|math.pi|math.sin|where|broadcast|astype|sqrt|minimum|neighbor_sum|float64|int32|"
    "int|float|bool|abs|min|nasty|g|undefined|()|(I,)|(I, J)|(x, n)|w.u|t[0]|CS[0]|Const.Z|b'x'|"
    "x(I + 1)|y(I + 1, J - 1)|I + 1|Off[0]|x.y|10**30|99999999999999999999|"
    "C2E|E2C|E2C[0]|C2E[n]|C2EDim|C2EDim(0)|E2CDim(1)|Koff|Koff[-1]|K + 0.5|Ih - 1.5|e(C2E)|cc(E2C[1])|co|"
    "co[C2EDim(0)]|neighbor_sum(e(C2E), axis=C2EDim)|K < n|0 < K|K == 3|K != n|as_offset(Ioff, x)|"
    "scan|scan(x)|scan(k, n)|max_over(co, axis=C2EDim)|sw|W.A|W.A.value|consts.c"
).split("|")
TAME = ("x", "y", "n", "k", "c", "b", "t", "w", "1", "2.5", "True", "x(I + 1)", "t[0]", "w.u", "C")
FORMS = (
    "{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "{0} // {1}", "{0} % {1}", "{0} ** {1}",
    "{0} & {1}", "{0} | {1}", "{0} @ {1}", "{0} < {1}", "{0} == {1}", "{0} < {1} < {2}", "{0} is {1}",
    "-{0}", "+{0}", "~{0}", "not {0}", "{0} and {1}", "{0} if {1} else {2}", "({0}, {1})", "({0},)",
    "{0}[{1}]", "{0}[0]", "{0}[-1]", "{0}[{1}:]", "{0}.u", "{0}.value", "{0}({1})", "{0}({1}, {2})", "{0}()",
    "{0}(a={1})", "{0}({1}, k={2})", "where({0}, {1}, {2})", "broadcast({0}, ({1}, {2}))",
    "broadcast({0}, {1})", "astype({0}, {1})", "float64({0})", "int32({0})", "g({0}, {1})",
    "Wind({0}, v={1})", "[{0}]", "{{{0}: {1}}}", "lambda: {0}", "f'{{{0}}}'", "(z := {0})",
    "{0}(*{1})", "{0}(**{1})", "minimum({0}, {1})", "sqrt({0})", "I + {0}", "x(I + {0})", "x({0})",
    "K < {0}", "{0} <= K", "K == {0}", "concat_where({0}, {1}, {2})", "concat_where(K < {0}, {1}, {2})",
    "neighbor_sum({0}, axis=C2EDim)", "min_over({0}, axis={1})", "neighbor_sum({0}, {1})", "e({0})", "cc({0})",
    "as_offset({0}, {1})", "x(as_offset(Ioff, {0}))", "co[{0}]", "C2EDim({0})", "E2C[{0}]", "scan({0})",
    "scan(x={0}, y={1})", "{0}({1})({2})", "x(I + {0})(I - 1)", "(K < {0}) & {1}", "(K < {0}) | (I > {1})",
)  # fmt: skip
STATEMENTS = (
    "x = {0}", "scan({0}, 1.0, out={1})", "scan(x, {0}, out=x, domain={{I: ({1}, 3), K: (0, 1)}})", "z = {0}", "z = x = {0}", "z, y = {0}", "z, *y = {0}", "*z, = {0}", "z: float = {0}",
    "z: F = {0}", "z: {0} = {1}", "z: undefined.thing", "if {0}:\n        z = {1}", "return {0}",
    "if {0}:\n        return {1}\n    else:\n        z = {2}", "x += {0}", "pass", "{0}", "del x",
    "for i in {0}:\n        z = {1}", "z[0] = {0}", "(z, (y, x)) = {0}", "g({0}, out={1})",
    "g({0}, {1}, out={2}, domain={{I: ({0}, {1})}})", "g({0}, {1}, out=x[{2}:1])",
    "g({0}, {1}, out=({2}, y))", "g({0}, {1}, out=x, domain={2})", "g(x, {0}, out={1}[1:-1])",
    "g(x, 1.0, out=x, domain={{{0}: {1}}})", "g(x, 1.0, out={0}[{1}])", "g(x, 1.0, out={0}.u)",
)  # fmt: skip


def expression(numbers, depth):
    if depth == 0 or numbers.random() < 0.2:
        return numbers.choice(TAME if numbers.random() < 0.7 else ATOMS)
    parts = [expression(numbers, depth - 1) for _ in range(3)]
    text = numbers.choice(FORMS).format(*(f"({each})" for each in parts))
    return text if numbers.random() < 0.8 else f"({text})"


def function(numbers):
    rows = []
    for _ in range(numbers.randint(1, 4)):
        parts = [expression(numbers, numbers.randint(0, 2)) for _ in range(3)]
        rows.append("    " + numbers.choice(STATEMENTS).format(*parts))
    if numbers.random() < 0.5:
        rows.append(f"    return {expression(numbers, 2)}")
    return "\n".join(rows)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(60))
def test_odd_functions_give_a_tree_or_a_located_error(seed, define, operator, scan):
    numbers = random.Random(seed)
    parameters = (
        "x: F, y: IJ, n: int32, k: float, c: bool, b: B, t: tuple[F, float], w: Wind, e: EK, cc: CK, "
        "co: Coeff, sw: tuple[float, bool]"
    )
    text = f"def f({parameters}):\n"
    names = {
        "Off": FieldOffset("Off", I, (I,)), "Wind": Wind, "Const": Const, "C": 2.5, "math": math,
        "CS": (1, (2.0, I)), "nasty": Nasty(), "g": operator("def g(a: F, k: float):\n    return a * k"),
        "types": types, "W": Weight, "consts": Consts(2.0),
        "scan": scan("def scan(s: float, x: float, y: float):\n    return s + x * y"),
    }  # fmt: skip
    for _ in range(20):
        kind = numbers.choice(["field_operator", "field_operator", "program", "scan_operator"])
        options = ScanOptions(K, True, numbers.choice([0.0, (0.0, True)]))
        head = "def f(sw: tuple[float, bool], x: float, n: int32, k: float, c: bool, t: tuple[float]):\n"
        header = head if kind == "scan_operator" else text
        try:
            definition = define(header + function(numbers), kind, options=options, **names)
        except SyntaxError:
            continue
        try:
            found = parse_all(definition)
        except DSLError as error:
            assert error.location is not None
            assert error.__notes__
            assert str(error)
        else:
            assert found["parsed"].text
            assert len(found["spans"].nodes) == len(found["parsed"].root.nodes)


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "\0", "(" * 300, "def f(x: F):\n    return x +\n", "class A: pass", "lambda x: x",
        "async def f(): pass", "def f(x: F):\n  return (", "def f(): return " + "-" * 100_000 + "1",
        "def f(): return " + "(" * 150 + "1" + ")" * 150, "def f(x: F):\n    return x\n  x",
        "def f(x: F):\n    'unclosed", "def f():\n    return 1" + "0" * 5000,
    ],
)  # fmt: skip
def test_odd_text_gives_a_tree_or_a_located_error(text, define):
    definition = define("def f(x: F):\n    return x")
    odd = attrs.evolve(definition, source=attrs.evolve(definition.source, text=text))

    try:
        parse_all(odd)
    except DSLError as error:
        assert error.location is not None
    else:
        assert text.startswith("def f(): return (((")
