from fieldforge.runtime.language.dimension import Dimension
from fieldforge.stages.codegen.schedule.order import level_of, loops_over, order_dims

from ..programs import I, J, K, whole


def test_most_fields_choose_the_vector_dimension() -> None:
    assert order_dims((I, J, K), [K, K, I])[0] == (I, J, K)
    assert order_dims((I, J, K), [I, I, K])[0] == (K, J, I)


def test_without_a_layout_our_allocators_choose() -> None:
    assert order_dims((I, J, K), [])[0] == (K, J, I)
    assert order_dims((I, K), [])[0] == (I, K)


def test_nothing_stands_between_loops_that_threads_share() -> None:
    loops = loops_over(whole("u", (I, J, K)), (K, J, I))
    assert [loop.kind for loop in loops] == ["parallel", "parallel", "vector"]
    assert [level_of(dims, loops) for dims in ((), (K,), (J,), (J, K), (I,))] == [0, 2, 2, 2, 3]


def test_a_fourth_dimension_is_walked_in_sequence() -> None:
    dims = (*map(Dimension, "ABC"), I)
    kinds = [loop.kind for loop in loops_over(whole("u", dims), dims)]
    assert kinds == ["parallel", "parallel", "sequential", "vector"]
