"""Run the examples of the pages in a folder of their own: they write files."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
