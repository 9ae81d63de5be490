"""Hooks of mkdocs: add generated pages, pictures and scripts, weigh the search, check files."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from generate.pages import generated
from generate.rooms import drawn
from generate.scripts import PAGES, as_sessions, script_of, with_copies
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
RESULTS = "../bench/results/"
PICTURE = re.compile(rf"!\[[^]]*\]\({re.escape(RESULTS)}([^)]+)\)")
LINK = re.compile(r"<(?:img|a) [^>]*?(?:src|href)=\"?([^\"#?>\s]+)")
# What a page weighs in the search: a page that explains a word stands before those that mention it.
WEIGHTS = {
    "decisions/": 0.005, "changelog.md": 0.05, "performance.md": 0.1, "results/": 0.01,
    "reliability.md": 0.3,
    "architecture.md": 0.3, "loops.md": 0.3, "reference/api/": 0.4, "reference/": 0.6,
    "tutorial.md": 2.0, "language.md": 2.0, "boundaries.md": 2.0, "data.md": 2.0, "calls.md": 2.0,
}  # fmt: skip
log = logging.getLogger("mkdocs.hooks")  # a warning makes a strict build fail
LATER = ("models.md",)  # pages that may not be written yet
OUTSIDE = {
    RESULTS: "",
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
    pages = {path.name: path.read_text() for path in sorted(Path(config.docs_dir).glob("*.md"))}
    for path in sorted({each for text in pages.values() for each in PICTURE.findall(text)}):
        files.append(File.generated(config, path, abs_src_path=str(ROOT / "bench/results" / path)))
    for name in PAGES:
        script = name.replace(".md", ".py")
        text, kept = script_of(pages[name], script), InclusionLevel.INCLUDED
        # Without `inclusion`, '*.py' of `exclude_docs` leaves the script out.
        files.append(File.generated(config, script, content=text, inclusion=kept))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Point links at what the site has from outside `docs`, draw the rooms, weigh the page."""
    path = page.file.src_uri
    weight = next((each for start, each in WEIGHTS.items() if path.startswith(start)), 1.0)
    page.meta.setdefault("search", {"boost": weight})
    if path in PAGES:
        markdown += f"\n\n[The examples of this page as a script]({path.replace('.md', '.py')})\n"
    markdown = as_sessions(markdown).replace("\n<BLANKLINE>\n", "\n\n")  # doctest's word
    for outside, inside in OUTSIDE.items():
        markdown = markdown.replace(f"]({outside}", f"]({inside}")
    return drawn(markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Let a block's button copy what is typed, without prompts and output."""
    return with_copies(html)


def on_post_build(*, config: MkDocsConfig) -> None:
    """Warn of pictures and links of a page that the site lacks; mkdocs itself lets some pass."""
    for page, target in missing_files(Path(config.site_dir)):
        log.warning("%s names '%s', which the site does not have.", page, target)


def missing_files(site: Path) -> list[tuple[str, str]]:
    """Return pages, and what their pictures and links name that is neither file nor page."""
    return [
        (str(page.relative_to(site)), target)
        for page in sorted(site.rglob("*.html"))
        for target in LINK.findall(page.read_text())
        if ":" not in target and not _is_there(site if target[0] == "/" else page.parent, target)
    ]


def _is_there(folder: Path, target: str) -> bool:
    path = folder / unquote(target).lstrip("/")
    return path.is_file() or (path / "index.html").is_file()


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
