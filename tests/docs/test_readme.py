"""README.md shows what was measured, and its links lead somewhere."""

import re
from pathlib import Path

import page
import pytest
from generate.distribution import EXAMPLE, absolute

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)#]+)")


def test_the_measured_table_is_that_of_the_results():
    shown = page.shown(page.README, page.README_BEGIN, page.README_END)
    assert shown == "\n".join(page.measured()).strip()


def test_the_summary_of_the_page_on_performance_is_that_of_the_results():
    shown = page.shown(page.PAGE, page.BEGIN, page.END)
    assert shown == "\n".join(page.summary()).strip()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_links_lead_to_files(page):
    links = LINK.findall((ROOT / page).read_text())
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


def test_links_are_absolute_for_a_package_index():
    text = absolute((ROOT / "README.md").read_text(), "https://example.org/tree/v1")
    assert LINK.findall(text)
    assert [link for link in LINK.findall(text) if "://" not in link] == []
    assert "https://example.org/tree/v1/docs/demo.png" in text


def test_the_readme_has_an_example_to_try():
    assert "laplacian(u, out=out)" in EXAMPLE.search((ROOT / "README.md").read_text())[1]


def test_the_version_is_written_once_more_in_each_place():
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[
        1
    ]
    assert f'__version__ = "{version}"' in (ROOT / "src/fieldforge/__init__.py").read_text()
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text()
