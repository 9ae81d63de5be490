from fieldforge.stages.lower.graph import Graph
from fieldforge.stages.lower.scans import body_of, trimmed


def body(*used: int):
    """s0 + a_i + a_j + ... among three arguments."""
    graph = Graph()
    rows = [graph.scalar(f"a{index}", "float64") for index in range(3)]
    total = graph.scalar("s0", "float64")
    for index in used:
        total = graph.map("add", (total, rows[index]))
    return body_of(graph, (total,))


def names(body):
    return sorted(value.name for value in body.values if hasattr(value, "name"))


def test_rows_that_the_next_state_does_not_need_are_left_out():
    assert names(body(1)) == ["a1", "s0"]


def test_arguments_that_are_unused_or_given_twice_are_left_out():
    kept, args = trimmed(body(1, 2), (10, 11, 11))

    assert args == (11,)
    assert names(kept) == ["a0", "s0"]


def test_a_body_that_uses_all_its_arguments_stays_as_it_is():
    whole = body(0, 1, 2)

    assert trimmed(whole, (10, 11, 12)) == (whole, (10, 11, 12))
