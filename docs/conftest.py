"""Run the examples of the pages in a folder of their own: they write files."""

from __future__ import annotations

import importlib.util

import pytest

# Pages that need the extras 'xarray' and 'demo' are left out where these are not installed.
_IS_COMPLETE = all(map(importlib.util.find_spec, ("xarray", "netCDF4", "matplotlib")))
collect_ignore = [] if _IS_COMPLETE else ["columns.md", "data.md", "tutorial.md"]
if importlib.util.find_spec("checkpoint_schedules") is None:  # the extra 'adjoint'
    collect_ignore.append("adjoint.md")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
