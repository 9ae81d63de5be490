"""All tests follow the rule of `selection.py`."""

from .selection import pytest_addoption, pytest_collection_modifyitems

__all__ = ["pytest_addoption", "pytest_collection_modifyitems"]
