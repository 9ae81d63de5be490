"""Plans as text."""

from fieldforge.runtime.calls.plan import Access, Argument, Box, Plan, Word
from fieldforge.runtime.calls.plan_text import show_plan
from fieldforge.runtime.language.dimension import Dimension

I, J = Dimension("I"), Dimension("J")


def test_every_argument_integer_and_box_has_a_line():
    field = Argument("u", (0, 1), "field", "float32", (I, J), unit=1, read=True)
    out = Argument("out", (1,), "field", "float32", (I,), written=True)
    count = Argument("n", (2,), "scalar", "int32")
    before = (Word("start", argument=1), Word("const", 1), Word("sub"))
    after = (Word("scalar", argument=2), Word("int", 0), Word("min"))
    columns = (Word("const", 0),), (Word("const", 4),)
    access = Access(
        writes=(Box(1, (before,), (after,)),),
        reads=(Box(0, (before, columns[0]), (after, columns[1])),),
        pointwise=((1, 0),),
    )
    size = (
        Word("scalar", argument=2),
        Word("const", 2),
        Word("add"),
        Word("const", 8),
        Word("mul"),
    )
    plan = Plan(
        *("p", ("pair", "out", "n"), (field, out, count), (before,), (access,), size),
        alike=((0, 0, 1, 0),),
        ranges=((0, 1, -1, 8),),
    )

    text = show_plan(plan)

    assert text.splitlines() == [
        "program p(pair, out, n): backend cpu, ABI 1",
        "argument 0   u = Field[[I, J], float32] at parameter 0[1], read, unit stride along J",
        "argument 1   out = Field[[I], float32], written",
        "argument 2   n = int32",
        "int 0        start(out, I) - 1",
        "statement 0",
        "  writes     out[start(out, I) - 1:min(n, ints[0])]",
        "  reads      u[start(out, I) - 1:min(n, ints[0]), 0:4]",
        "  pointwise  out may be u",
        "fits where   u and out have one range along I",
        "fits where   u has the range -1:8 along J",
        "workspace    (n + 2) * 8 bytes",
    ]


def test_a_field_without_axes_is_shown_with_empty_brackets():
    out = Argument("out", (0,), "field", "bool", (), written=True)

    text = show_plan(Plan("p", ("out",), (out,), (), (Access((Box(0, (), ()),), ()),)))

    assert "argument 0   out = Field[[], bool], written" in text
    assert "  writes     out[]" in text
