"""Hooks of mkdocs: add the generated pages and pictures to the site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from generate.pages import generated
from generate.rooms import drawn
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PICTURES = {"programs.png": "bench/results/programs.png"}
LATER = ("models.md",)  # pages that may not be written yet
OUTSIDE = {
    "../bench/results/": "",
    "../CONTRIBUTING.md": "contributing.md",
    "decisions/)": "decisions/index.md)",
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Leave pages out of the navigation that are not written yet."""
    missing = {name for name in LATER if not Path(config.docs_dir, name).exists()}
    config.nav = _without(config.nav, missing)
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add what is made from the code."""
    for path, text in generated().items():
        files.append(File.generated(config, path, content=text))
    for path, source in PICTURES.items():
        files.append(File.generated(config, path, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Point links at what the site has from outside `docs`, and draw the rooms."""
    for outside, inside in OUTSIDE.items():
        markdown = markdown.replace(f"]({outside}", f"]({inside}")
    return drawn(markdown)


def _without(nav: Any, missing: set[str]) -> Any:
    """Return the navigation without the pages `missing`."""
    if isinstance(nav, list):
        kept = [each for each in nav if not (isinstance(each, dict) and _names(each) & missing)]
        return [_without(each, missing) for each in kept]
    if isinstance(nav, dict):
        return {name: _without(each, missing) for name, each in nav.items()}
    return nav


def _names(entry: dict[str, Any]) -> set[str]:
    return {each for each in entry.values() if isinstance(each, str)}
