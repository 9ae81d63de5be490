"""What embedded operators see besides their arguments."""

import threading

from fieldforge.runtime.fields import context
from fieldforge.runtime.fields.constructors import as_connectivity
from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.language.ranges import UnitRange

from ...dimensions import Edge, K, Vertex

Local = Dimension("V2E", DimensionKind.LOCAL)
TABLE = as_connectivity([Vertex, Local], Edge, [[0, 1]])


def test_levels_are_those_of_the_statement_and_none_without_one():
    assert context.levels_along(K) is None
    with context.running({}, {K: UnitRange(1, 4)}) as around:
        assert not around.walked
        assert context.levels_along(K) == UnitRange(1, 4)
        assert around.walked == {K}
    with context.running({}, {}):
        assert context.levels_along(K) == UnitRange(0, 0)


def test_a_thread_does_not_see_what_another_runs():
    seen = []
    with context.running({"V2E": TABLE}):
        thread = threading.Thread(target=lambda: seen.append(context.active()))
        thread.start()
        thread.join()
        assert context.active()

    assert seen == [False]
