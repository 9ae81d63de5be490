"""README.md shows what was measured, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from generate.measured import measured, shown

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)#]+)")


def test_the_measured_table_is_that_of_the_page_on_performance():
    assert shown() == measured()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_links_lead_to_files(page):
    links = LINK.findall((ROOT / page).read_text())
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []
