"""A list of the events that a store reports."""

import pytest

from ..cache.conftest import Events


@pytest.fixture
def events() -> Events:
    return Events()
