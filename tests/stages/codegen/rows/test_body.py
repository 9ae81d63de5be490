"""Rows as C++: by addresses that a platform chooses; names in the text are known without search."""

import attrs

from fieldforge.runtime.language.dimension import Dimension
from fieldforge.stages.codegen.interface import integers
from fieldforge.stages.codegen.rows.addresses import Element, InRow
from fieldforge.stages.codegen.rows.body import Body, body_of, pointers, states, written
from fieldforge.stages.codegen.rows.dialect import cpp
from fieldforge.stages.codegen.rows.options import WriterOptions
from fieldforge.stages.codegen.rows.scope import Scope, places_of
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.traverse import nests_of

FALLING = """\
kernel falling
  dimension I horizontal
  dimension K vertical
  scalar rate float64
  field u float64 [I, K] unit K
  field out float64 [I, K] unit K
  table next int32 [I] unit I
  group 0 (I: 0 .. start(u, I), K: 0 .. 40)
  step 0
    nest n0 group 0 states float64 %0
      sequential I: 0 .. start(u, I)
        %1 int32 load next[0]
        sequential K: 0 .. 40
          %2 float64 load u[%1, 1]
          %3 float64 load u[%1, -1]
          %4 float64 add %2 %3
          %5 float64 state 0
          %6 float64 argument rate
          %7 float64 fma %5 %6 %4
          %8 float64 advance 0 %7
          %9 float64 store out[0, 0] %7
      %0 float64 constant 0.0
"""


def falling() -> Body:
    kernel = read(FALLING)
    options = WriterOptions(0)
    scope = Scope(kernel, places_of(integers(kernel)), options, cpp(options))
    return body_of(scope, nests_of(kernel)[0])


def test_loads_of_one_row_share_a_pointer_that_has_the_outer_indices():
    body = falling()

    assert list(pointers(body)) == [
        'f64* r0 = p0 + v1 * n0; asm("" : "+r"(r0));',
        "f64* r1 = p1 + i0 * n1;",
    ]
    assert list(states(body)) == ["f64 s0 = 0x0p+0;"]
    assert list(written(body, 1)) == ["const s32 v1 = p2[i0];"]
    assert list(written(body, 2)) == [
        "const f64 v2 = r0[(i1 + 1)];",
        "const f64 v3 = r0[(i1 - 1)];",
        "const f64 v4 = v2 + v3;",
        "const f64 v5 = s0;",
        "const f64 v7 = __builtin_fma(v5, x0, v4);",
        "s0 = v7;",
        "r1[i1] = v7;",
    ]


def test_uses_are_what_the_text_has_asked_for():
    body = falling()
    list(pointers(body))
    before = body.scope.uses.arguments
    list(written(body, 2))

    assert before == (("pointer", 0), ("pointer", 1), ("int", 0), ("int", 1))
    assert set(body.scope.uses.arguments) - set(before) == {("scalar", 0)}
    assert body.scope.apart().uses.arguments == ()


def test_a_platform_chooses_addresses_lines_and_names():
    body = falling()
    given = {**body.addresses, 2: Element("q0", "3"), 9: InRow("r1", "h0 + near[2]")}
    own = attrs.evolve(
        body, addresses=given, instead={7: ""}, names={4: "w4"}, same={3: 2},
        positions={**body.positions, Dimension("K"): "k"},
    )  # fmt: skip

    lines = list(written(own, 2))

    assert "const f64 v2 = q0[3];" in lines
    assert "const f64 w4 = v2 + v2;" in lines
    assert "f64* r1 = h0 + near[2];" in list(pointers(own))
    assert not any("fma" in line for line in lines)
