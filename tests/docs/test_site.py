"""What the site makes of pages: copied blocks, scripts, the weights of the search, pictures."""

import ast
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from generate.scripts import PAGES, as_sessions, input_of, script_of, with_copies

from ..processes import python

ROOT = Path(__file__).parents[2]
SESSION = """\
```python
>>> def f(x):  # doctest: +ELLIPSIS
...     return x

>>> f(1)
1
>>> f()
Traceback (most recent call last):
    ...
TypeError: f() missing 1 required positional argument: 'x'

```
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site; strict, as `make docs` does."""
    pytest.importorskip("material", reason="the site is built by mkdocs-material")
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-d", str(folder)]
    silent = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, env=silent)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_a_copy_has_neither_prompts_nor_output():
    assert input_of(SESSION).splitlines() == ["def f(x):", "    return x", "f(1)", "f()"]


def test_a_script_prints_what_the_page_shows_and_raises_nothing():
    script = script_of(SESSION, "page.py")

    assert "print(f(1))" in script
    assert "# f()\n# raises TypeError" in script
    ast.parse(script)


@pytest.mark.parametrize("page", PAGES)
def test_the_scripts_of_pages_run(page, tmp_path):
    if not all(map(importlib.util.find_spec, ("xarray", "netCDF4", "matplotlib"))):
        pytest.skip("the extras 'xarray' and 'demo' are not installed")
    script = tmp_path / page.replace(".md", ".py")
    script.write_text(script_of((ROOT / "docs" / page).read_text(), script.name))

    done = python(script, cwd=tmp_path)

    assert done.returncode == 0, done.stderr


def test_blocks_of_html_carry_their_copy():
    shown = (
        '<div class="language-pycon highlight"><pre><code>'
        '<span class="gp">&gt;&gt;&gt; </span>a <span class="o">&lt;</span> 1\n'
        '<span class="go">True</span>\n</code></pre></div>'
    )
    assert 'data-copy="a &lt; 1">' in with_copies(shown)
    assert as_sessions(SESSION).startswith("```pycon\n")


@pytest.mark.in_full
def test_the_site_has_its_pictures_and_weighs_pages(site):
    from hooks import missing_files

    assert missing_files(site) == []
    assert (site / "summary.png").is_file()
    assert (site / "tutorial.py").is_file()
    assert 'data-copy="import fieldforge as ff' in (site / "tutorial/index.html").read_text()
    pages = json.loads((site / "search/search_index.json").read_text())["docs"]
    weights = {each["location"]: each.get("boost", 1.0) for each in pages}
    assert weights["language/"] > weights["models/"] > weights["performance/"]
    assert weights["decisions/0002-syntax-is-a-table/"] < weights["changelog/"]


def test_a_picture_or_link_that_is_missing_is_found(tmp_path):
    pytest.importorskip("mkdocs", reason="the hooks are those of mkdocs")
    from hooks import missing_files

    (tmp_path / "page").mkdir()
    (tmp_path / "there.png").touch()
    (tmp_path / "page/index.html").write_text(
        '<img alt="a" src="../there.png"><img src="../gone.png"><img src="https://host/x.png">'
        '<a href="./#part">page</a><a class="x" href="../page/">page</a><a href="../gone.py">'
        '<a href="/there.png"><a href="mailto:a@b">'
    )

    gone = ["../gone.png", "../gone.py"]
    assert missing_files(tmp_path) == [("page/index.html", name) for name in gone]
