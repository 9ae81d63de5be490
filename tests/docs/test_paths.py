"""Files, folders and names in backticks exist: in pages, decision records, docstrings, comments."""

import pkgutil
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("*.md", ":!CHANGELOG.md")
SOURCES = ("*.py", "*.pyi", "*.cpp", "*.h", ":!tests/docs/test_paths.py")
MADE = ("lib/small.h", "capsule.json", "pack.json", "model.tuned.toml")  # by commands
FILE = re.compile(r"`([\w.-]+(?:/[\w.-]+)*\.(?:py|pyi|cpp|h|inc|json|toml))`")
FOLDER = re.compile(
    r"`((?:runtime|cache|stages|workflows|tests|docs|bench|examples)(?:/[\w.-]+)+)/?`"
)
PLACE = re.compile(r"`([A-Za-z_][\w.]*)` in `([\w./-]+\.(?:py|h|cpp))`")
PUBLIC = re.compile(r"`((?:ff|fieldforge)(?:\.\w+)+)")


@cache
def tracked(*patterns: str) -> tuple[str, ...]:
    """Return the files of the repository that fit patterns of git."""
    words = ["git", "ls-files", "--", *patterns]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("git does not list the files: this is no checkout")
    return tuple(done.stdout.split())


@cache
def ends() -> frozenset[str]:
    """Return the paths of all files and folders, and their ends after a '/'."""
    parts = [Path(name).parts for name in tracked()]
    return frozenset(
        "/".join(each[first:last])
        for each in parts
        for last in range(1, len(each) + 1)
        for first in range(last)
    )


def lost(page: str, text: str) -> Iterator[str]:
    """Yield what a text names that does not exist.

    A decision record may tell of a file that is gone, by its name without a folder.
    """
    old = "decisions/" in page
    for word in (*FILE.findall(text), *FOLDER.findall(text)):
        if word not in ends() and word not in MADE and not (old and "/" not in word):
            yield word
    for name, file in PLACE.findall(text):
        own = name.rpartition(".")[2]
        known = [each for each in tracked() if f"/{each}".endswith(f"/{file}")]
        if not any(re.search(rf"\b{own}\b", (ROOT / each).read_text()) for each in known):
            yield f"{name} in {file}"


@pytest.mark.parametrize("patterns", [PAGES, SOURCES], ids=["pages", "sources"])
def test_every_path_leads_to_a_file(patterns: tuple[str, ...]) -> None:
    pages = [(page, (ROOT / page).read_text()) for page in tracked(*patterns)]

    assert [f"{page}: {each}" for page, text in pages for each in lost(page, text)] == []


def test_public_names_on_pages_exist() -> None:
    texts = [(ROOT / page).read_text() for page in tracked(*PAGES)]

    for name in sorted({name for text in texts for name in PUBLIC.findall(text)}):
        assert pkgutil.resolve_name(re.sub("^ff", "fieldforge", name)) is not None, name


def test_a_file_there_or_beside_stands_near_one_with_its_folder() -> None:
    for row in (ROOT / "docs/architecture.md").read_text().splitlines():
        folders = {f"{Path(word).parent}/" for word in re.findall(r"`(\w+/[\w./-]+)`", row)}
        near = [name for name in tracked() if name.startswith(tuple(folders))]
        for word in FILE.findall(row):
            assert any(f"/{name}".endswith(f"/{word}") for name in near), (word, row)


def test_the_page_lists_every_file_that_another_platform_would_touch() -> None:
    """These are all files that tell HIP from others, but for what is about other packages."""
    table = (ROOT / "docs/architecture.md").read_text().partition("## What a SYCL backend")[2]
    others = (":!runtime/compat", ":!runtime/native/gpu/producers.cpp")
    naming = re.compile(r'"hip"|Vendor::hip|load_hip|\bdevice_rocm\b|DeviceType\.ROCM')

    files = tracked("runtime", "cache", "stages", "workflows", *others)
    found = {name for name in files if naming.search((ROOT / name).read_text(errors="replace"))}

    listed = {
        name for name in found for each in FILE.findall(table) if f"/{name}".endswith(f"/{each}")
    }
    assert "runtime/native/gpu/platform.cpp" in found
    assert found - listed == set()


@pytest.mark.parametrize(
    "text",
    ["see `loop_passes/tiling.py`", "`flat.py`", "`stages/codegen/cpp/`", "`lift` in `nest.py`"],
)
def test_a_path_or_name_that_is_gone_is_found(text: str) -> None:
    assert list(lost("docs/loops.md", text)) != []
