"""Reports and notebook views fit into a browser at 1280 and 400 pixels, with everything open."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import escape

import pytest

import fieldforge as ff
from fieldforge.workflows.reports.page import page
from fieldforge.workflows.summaries.collecting import shown, sorted_out

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason=f"no browser is installed: {', '.join(BROWSERS)}"),
    pytest.mark.needs_compiler,
]
# The page lies in a frame of the wanted width, as windows of browsers are never that narrow.
FRAME = """<!doctype html><body style="margin:0">
<iframe style="border:0" width="{width}" height="800" srcdoc="{page}"></iframe>
<pre id="found"></pre>
<script>
addEventListener("load", () => {{
  const inner = document.querySelector("iframe").contentDocument;
  for (const each of inner.querySelectorAll("details")) each.open = true;
  const wide = [...inner.querySelectorAll(".ff *")].filter(
    each => !each.closest("pre, .scroll") && each.getBoundingClientRect().right > {width} + 0.5);
  document.querySelector("#found").textContent = JSON.stringify({{
    width: inner.documentElement.scrollWidth, height: inner.documentElement.scrollHeight,
    wide: wide.map(each => each.tagName + " " + each.textContent.slice(0, 60)),
    drawn: [...inner.querySelectorAll("svg")].map(each => each.getBoundingClientRect().height),
  }});
}});
</script></body>"""
I = ff.Dimension("I")
Line = ff.Field[ff.Dims[I], ff.float64]


@ff.field_operator
def a_rise_with_a_rather_long_name(u: Line) -> Line:
    return 0.1 * u(I + 1) - u


@ff.program(backend=ff.cpu)
def climb(u: Line, out: Line):
    a_rise_with_a_rather_long_name(u, out=out)


@pytest.fixture(scope="module")
def pages():
    u, out = ff.ones({I: 1001}), ff.zeros({I: 1000})
    with ff.record(now=u, new=out) as step:
        climb(u, out)
    builds, steps = sorted_out(shown(step, measured=True))
    return {
        "report of a program": page(builds),
        "report of a step": page([*builds, *builds], steps),
        "notebook view of a trace": climb.trace()._repr_html_(),
        "notebook view of a workflow": ff.cpu.workflow._repr_html_(),
        "notebook view of a step": step._repr_html_(),
        "notebook view of a batch": ff.precompile([climb], progress=None)._repr_html_(),
    }


@pytest.mark.parametrize("width", [1280, 400])
def test_everything_fits(pages, width, tmp_path):
    for name, text in pages.items():
        found = looked_at(text, width, tmp_path)
        assert found["width"] <= width, name
        assert found["wide"] == [], name
        assert found["height"] > 100, name
        assert all(height > 50 for height in found["drawn"]), name


def looked_at(text, width, folder):
    file = folder / "frame.html"
    file.write_text(FRAME.format(width=width, page=escape(text, quote=True)))
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,900",
         f"--user-data-dir={folder / 'profile'}", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    result = re.search(r'<pre id="found">(\{.*?\})</pre>', done.stdout, re.DOTALL)
    assert result, done.stderr[-2000:]
    return json.loads(result[1].replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&"))
