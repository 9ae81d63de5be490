"""Run a part of the tests that repeat by DaCe what others do by C++; `-m every_dace`: all."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
ONE_IN = {
    "test_random_programs_agree_bit_for_bit_with_the_oracle": 6,
    "test_every_operation_has_the_values_of_the_language": 4,
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases in order, so that the choice does not depend on what else is collected."""
    asked = "every_dace" in config.option.markexpr
    seen = dict.fromkeys(ONE_IN, 0)
    left_out = []
    for item in items:
        name = getattr(item, "originalname", item.name)
        if HERE not in item.path.parents or name not in ONE_IN:
            continue
        item.add_marker(pytest.mark.every_dace)
        if seen[name] % ONE_IN[name] and not asked:
            left_out.append(item)
        seen[name] += 1
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]
