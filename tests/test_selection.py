"""The rule of `selection.py`: which tests run where."""

from itertools import pairwise
from types import SimpleNamespace

import pytest

from . import selection


class Hook:
    def pytest_deselected(self, items):
        pass


class Each(SimpleNamespace):
    __eq__, __hash__ = object.__eq__, object.__hash__


def item(name="test_it", number=0, *, args=("tests",), every=False, **marks):
    """Return what the rule asks of a test."""
    config = SimpleNamespace(option=SimpleNamespace(all=every), args=list(args), hook=Hook())
    found = {mark: SimpleNamespace(args=given) for mark, given in marks.items()}
    return Each(
        originalname=name, name=f"{name}[{number}]", path=selection.HERE / "test_file.py",
        config=config, get_closest_marker=found.get,
    )  # fmt: skip


def left(*items):
    kept = list(items)
    selection.pytest_collection_modifyitems(items[0].config, kept)
    return [items.index(each) for each in kept]


def test_tests_in_full_run_where_all_do_or_where_they_are_named():
    assert left(item(), item(in_full=())) == [0]
    assert left(item(every=True), item(in_full=(), every=True)) == [0, 1]
    named = ["tests/test_file.py::test_it"]
    assert left(item(args=named), item(in_full=(), args=named)) == [0, 1]


@pytest.mark.parametrize("share", [2, 12, 48])
def test_one_in_so_many_cases_of_a_test_runs_each_time_the_same(share):
    cases = [item(number=number, one_in=(share,)) for number in range(3 * share)]

    found = left(*cases)

    assert len(found) == 3
    assert {later - earlier for earlier, later in pairwise(found)} == {share}
    assert found == left(*cases, item("test_other", one_in=(share,)))[:3]


def test_tests_of_one_case_run_in_part():
    alone = [item(f"test_{number}", one_in=(12,)) for number in range(600)]

    assert 20 < len(left(*alone)) < 80


def test_a_gpu_is_needed_also_where_all_tests_run(monkeypatch):
    monkeypatch.setattr(selection, "has_gpu", lambda: False)
    assert left(item(every=True), item(needs_gpu=(), every=True)) == [0]
    monkeypatch.setattr(selection, "has_gpu", lambda: True)
    assert left(item(), item(needs_gpu=())) == [0, 1]
