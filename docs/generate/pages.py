"""All generated pages of the site, by path."""

from __future__ import annotations

from pathlib import Path

from . import api, builtins, commands, errors, options, settings

ROOT = Path(__file__).parents[2]
COPIES = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}


def decisions() -> str:
    """Return the list of decisions by their titles."""
    found = sorted((ROOT / "docs/decisions").glob("[0-9]*.md"))
    lines = [f"* [{path.read_text().partition(chr(10))[0][2:]}]({path.name})" for path in found]
    return "\n".join(["# Decisions\n\nWhy things are as they are, half a page each.\n", *lines, ""])


def generated() -> dict[str, str]:
    """Return the text of every generated page."""
    return {
        "reference/builtins.md": builtins.page(),
        "reference/settings.md": settings.page(),
        "reference/options.md": options.page(),
        "reference/errors.md": errors.page(),
        "reference/commands.md": commands.page(),
        **api.pages(),
        "decisions/index.md": decisions(),
        **{path: (ROOT / source).read_text() for path, source in COPIES.items()},
    }
