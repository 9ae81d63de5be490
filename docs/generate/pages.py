"""All generated pages of the site, by path."""

from __future__ import annotations

from pathlib import Path

from . import api, builtins, commands, decisions, errors, options, results, settings

ROOT = Path(__file__).parents[2]
COPIES = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}


def generated() -> dict[str, str]:
    """Return the text of every generated page."""
    return {
        "reference/builtins.md": builtins.page(),
        "reference/settings.md": settings.page(),
        "reference/options.md": options.page(),
        "reference/errors.md": errors.page(),
        "reference/commands.md": commands.page(),
        **api.pages(),
        **results.pages(),
        "decisions/index.md": decisions.page(),
        **{path: (ROOT / source).read_text() for path, source in COPIES.items()},
    }
