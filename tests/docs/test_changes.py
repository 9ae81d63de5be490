"""News fragments have names that towncrier gathers; their types are those of its configuration."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEWS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]
TYPES = [each["directory"] for each in NEWS["type"]]
NAME = re.compile(rf"(?:\d+|\+[a-z0-9-]+)\.(?:{'|'.join(TYPES)})\.md")


def wrong(names: list[str]) -> list[str]:
    """Return the names of files that would not become a line of the changelog."""
    return [name for name in names if name != "README.md" and not NAME.fullmatch(name)]


def test_every_fragment_would_be_gathered() -> None:
    assert wrong([path.name for path in (ROOT / NEWS["directory"]).iterdir()]) == []


@pytest.mark.parametrize("name", ["levels.fixed.md", "+levels.mended.md", "40.md", "+levels.fixed"])
def test_a_fragment_without_a_known_type_is_found(name: str) -> None:
    assert wrong([name, "40.changed.md", "+levels.fixed.md"]) == [name]


def test_the_readme_lists_the_types() -> None:
    text = (ROOT / NEWS["directory"] / "README.md").read_text()

    assert [each for each in TYPES if f"`{each}`" not in text] == []


def test_the_changelog_has_the_place_for_the_next_version() -> None:
    assert "<!-- towncrier release notes start -->\n" in (ROOT / NEWS["filename"]).read_text()
