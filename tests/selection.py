"""Which tests run where, by one rule: `make test` takes a part, `make test-all` every test.

1. A test runs in `make test` unless it has the mark `in_full`; a smaller case stands beside it.
2. Tests that repeat others by a slow backend run in part: one in `n` of those with the mark
   `one_in(n)`, or of a name in `SHARES`. The first of them is drawn by the name of the test, so
   that the choice depends on nothing else that is collected.
3. A test with the mark `needs_gpu` runs where there is a GPU (`make test-gpu`).
4. Compilers optimise one test in eight, and all of them in `make test-all`: a compiler takes up to
   eighteen times as long to optimise a program as to translate it.

`make test-all` is `pytest --all`. A test that is named (`pytest file.py::test`) runs, too.
"""

import functools
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import pytest

HERE: Final = Path(__file__).parent
OPTIMISED: Final = 8  # one test in so many
NONE: Final = ("-O0",)
# Tests that DaCe repeats; the names are imported there.
SHARES: Final = {
    "stages/codegen/dace": {
        "test_random_programs_agree_bit_for_bit_with_the_oracle": 6,
        "test_every_operation_has_the_values_of_the_language": 4,
        "test_chains_of_stencils_agree_bit_for_bit_in_any_layout": 2,
        # the same in three layouts:
        "test_an_empty_domain_touches_nothing": 3,
        "test_a_region_of_neighbours_is_asked_by_their_index": 3,
        "test_an_array_of_one_branch_is_filled_where_that_branch_is_taken": 3,
        "test_a_branch_is_read_on_its_own_part_only": 2,
    }
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `make test-all`."""
    parser.addoption("--all", action="store_true", help="run every test in whole, as users compile")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what does not run here."""
    seen: dict[object, int] = {}
    left_out = {item for item in items if not _runs(item, seen)}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def runs_all(config: pytest.Config) -> bool:
    """Tell whether every test runs, and in whole."""
    return bool(config.option.all)


def _runs(item: pytest.Item, seen: dict[object, int]) -> bool:
    if item.get_closest_marker("needs_gpu") and not has_gpu():
        return False
    if runs_all(item.config) or any("::" in word for word in item.config.args):
        return True
    if item.get_closest_marker("in_full"):
        return False
    share, name = _share(item), f"{item.path}::{getattr(item, 'originalname', item.name)}"
    place = seen.setdefault((name, share), crc32(name.removeprefix(f"{HERE}/").encode()))
    seen[name, share] += 1
    return place % share == 0


def _share(item: pytest.Item) -> int:
    """Return of how many tests such as this one runs."""
    if mark := item.get_closest_marker("one_in"):
        return int(mark.args[0])
    name = getattr(item, "originalname", item.name)
    inside = [own for folder, own in SHARES.items() if item.path.is_relative_to(HERE / folder)]
    return next((own[name] for own in inside if name in own), 1)


@functools.cache
def has_gpu() -> bool:
    """Tell whether there is a GPU."""
    from fieldforge.runtime import gpu

    return gpu.is_available("cuda") or gpu.is_available("hip")


def is_optimised(request: Any) -> bool:
    """Tell whether a test compiles as users do."""
    return runs_all(request.config) or crc32(request.node.nodeid.encode()) % OPTIMISED == 0


def not_optimised(backend: Any) -> Any:
    """Return the backend with a compiler that optimises nothing."""
    return backend.with_options(flags=NONE)
