"""Reports and notebook views fit into a browser at 1280 and 400 pixels, with everything open."""

import json
import re
import shutil
import subprocess
from html import escape

import pytest

import fieldforge as ff
from fieldforge.workflows.reports.page import page
from fieldforge.workflows.summaries.report import shown, sorted_out

from ...dimensions import I, Line

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason=f"no browser is installed: {', '.join(BROWSERS)}"),
    pytest.mark.needs_compiler,
]
WIDTHS = (1280, 400)
# Pages lie in frames of the wanted widths, as windows of browsers are never that narrow.
FRAME = """<iframe style="border:0" width="{width}" height="800" srcdoc="{page}"></iframe>"""
FRAMES = """<!doctype html><body style="margin:0">
{frames}
<pre id="found"></pre>
<script>
function looked(frame) {{
  const inner = frame.contentDocument, width = Number(frame.width);
  for (const each of inner.querySelectorAll("details")) each.open = true;
  const wide = [...inner.querySelectorAll(".ff *")].filter(
    each => !each.closest("pre, .scroll") && each.getBoundingClientRect().right > width + 0.5);
  return {{
    width: inner.documentElement.scrollWidth, height: inner.documentElement.scrollHeight,
    wide: wide.map(each => each.tagName + " " + each.textContent.slice(0, 60)),
    drawn: [...inner.querySelectorAll("svg")].map(each => each.getBoundingClientRect().height),
  }};
}}
addEventListener("load", () => {{
  const found = [...document.querySelectorAll("iframe")].map(looked);
  document.querySelector("#found").textContent = JSON.stringify(found);
}});
</script></body>"""


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


@pytest.fixture(scope="module")
def found(pages, tmp_path_factory):
    """Return what one start of the browser sees, by width and page."""
    shown = [(width, name) for width in WIDTHS for name in pages]
    return dict(
        zip(
            shown,
            looked_at([(w, pages[name]) for w, name in shown], tmp_path_factory.mktemp("seen")),
            strict=True,
        )
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_everything_fits(pages, width, found):
    for name in pages:
        seen = found[width, name]
        assert seen["width"] <= width, name
        assert seen["wide"] == [], name
        assert seen["height"] > 100, name
        assert all(height > 50 for height in seen["drawn"]), name


def test_what_is_too_wide_is_seen(tmp_path):
    text = '<div class="ff"><p style="width:500px">wide</p></div>'

    (seen,) = looked_at([(400, text)], tmp_path)

    assert seen["wide"] == ["P wide"]


def looked_at(pages, folder):
    """Open pages in frames of the given widths."""
    frames = [FRAME.format(width=width, page=escape(text, quote=True)) for width, text in pages]
    file = folder / "frames.html"
    file.write_text(FRAMES.format(frames="\n".join(frames)))
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,900",
         f"--user-data-dir={folder / 'profile'}", "--dump-dom", file.as_uri()],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    result = re.search(r'<pre id="found">(\[.*?\])</pre>', done.stdout, re.DOTALL)
    assert result, done.stderr[-2000:]
    return json.loads(result[1].replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&"))
