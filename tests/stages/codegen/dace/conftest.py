"""Run a part of the tests that repeat by DaCe what others do by C++; `-m every_dace`: all."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = f"{Path(__file__).parent}/"
ONE_IN = {
    "test_random_programs_agree_bit_for_bit_with_the_oracle": 6,
    "test_every_operation_has_the_values_of_the_language": 4,
    "test_chains_of_stencils_agree_bit_for_bit_in_any_layout": 2,
    # the same in three layouts:
    "test_an_empty_domain_touches_nothing": 3,
    "test_sparse_coefficients_levels_and_scalars_meet_in_any_layout": 3,
    "test_a_region_of_neighbours_is_asked_by_their_index": 3,
    "test_an_array_of_one_branch_is_filled_where_that_branch_is_taken": 3,
    "test_the_first_and_last_level_need_no_neighbours_below_and_above": 3,
    "test_a_branch_is_read_on_its_own_part_only": 2,
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases in order, so that the choice does not depend on what else is collected."""
    asked = "every_dace" in config.option.markexpr
    seen = dict.fromkeys(ONE_IN, 0)
    left_out = []
    for item in items:
        name = getattr(item, "originalname", item.name)
        if name not in ONE_IN or not str(item.path).startswith(HERE):
            continue
        item.add_marker(pytest.mark.every_dace)
        if seen[name] % ONE_IN[name] and not asked:
            left_out.append(item)
        seen[name] += 1
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]
