"""Each option of the backends has an effect that shows in the text; `test_passes.py` has others."""

from typing import Any

import pytest

from fieldforge.stages import Generated, Lowered, ThreadBlock
from fieldforge.stages.codegen.dace.gpu.stage import CodegenDaceGpu
from fieldforge.stages.codegen.dace.stage import CodegenDace
from fieldforge.stages.lower.graph import Graph

from ..programs import TARGET, I, J, K, all_unit, make_program, whole

pytestmark = pytest.mark.needs_dace


def exponential(*, of_sum: bool) -> Lowered:
    """Return the exponential of a sum of products, or a sum of exponentials of them."""
    graph, dims = Graph(), (I, J)
    product = graph.map("mul", [graph.input(name, dims, "float64") for name in "uw"])
    value = product if of_sum else graph.map("exp", (product,))
    for dim in dims:
        value = graph.map("add", (value, graph.shift(value, dim, 1)))
    value = graph.map("exp", (value,)) if of_sum else value
    fields = [(name, "float64", dims) for name in ("u", "w", "out")]
    return make_program("exponential", graph, fields, [("out", whole("out", dims), value)])


def generated(lowered: Lowered, **options: Any) -> Generated:
    stage = CodegenDace(target=TARGET, **options)
    found = stage.run(lowered=lowered, variant=all_unit(lowered, I))["generated"]
    assert isinstance(found, Generated)
    return found


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"arrays": ("%2",)}, "arena @"),
        ({"mathematics": "library"}, "exp("),
        ({"numerics": "strict"}, "exp("),
        ({"parallel_from": 77}, ">= 77)"),
    ],
    ids=str,
)
def test_an_option_of_the_cpu_shows_in_the_text(options: dict[str, Any], word: str) -> None:
    lowered = exponential(of_sum=True)
    plain, chosen = (generated(lowered, **each) for each in ({}, options))
    texts = [each.source + each.loops for each in (plain, chosen)]
    assert (word in texts[1]) > (word in texts[0])


def test_rows_are_together_unless_an_option_says_no() -> None:
    graph, dims = Graph(), (I, J)
    u = graph.input("u", dims, "float64")
    value = graph.map("mul", (u, u))
    for dim in dims:
        further = (graph.shift(value, dim, 1), graph.shift(value, dim, 2))
        value = graph.map("add", (graph.map("add", (value, further[0])), further[1]))
    fields = [(name, "float64", dims) for name in ("u", "out")]
    lowered = make_program("nine_points", graph, fields, [("out", whole("out", dims), value)])
    assert "i_J += 4" in generated(lowered).source
    assert "i_J += 4" not in generated(lowered, jam=False).source


def test_fast_numerics_is_told_to_the_compiler() -> None:
    lowered = exponential(of_sum=True)
    plain, fast = (generated(lowered, numerics=each).flags for each in ("contract", "fast"))
    assert set(fast) > set(plain)


def test_a_value_that_is_an_array_may_be_computed_in_place() -> None:
    lowered = exponential(of_sum=False)
    plain, chosen = (generated(lowered, inline=each).loops for each in ((), ("%3",)))
    assert plain.count("arena @") == 1
    assert "arena @" not in chosen


def test_blocks_of_three_dimensions_are_in_the_text_of_a_gpu() -> None:
    graph, dims = Graph(), (I, J, K)
    value = graph.map("neg", (graph.input("u", dims, "float64"),))
    fields = [(name, "float64", dims) for name in ("u", "out")]
    lowered = make_program("negative", graph, fields, [("out", whole("out", dims), value)])
    stage = CodegenDaceGpu(block_3d=ThreadBlock(x=16, y=4, z=2))
    made = stage.run(lowered=lowered, variant=all_unit(lowered, I))["generated"]
    assert isinstance(made, Generated)
    assert "dim3(16, 4, 2)" in made.source
