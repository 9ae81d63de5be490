"""A report tells a build in one page; notebooks show the same."""

import re
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner

import fieldforge as ff
from fieldforge.workflows.commands.cli import main
from fieldforge.workflows.reports.page import STYLE, page
from fieldforge.workflows.reports.view import BuildView, StageView

from ...dimensions import I, Line

VOID = {"meta", "path", "rect"}
OPTIONAL_END = {"td", "th", "tr", "li"}


@ff.field_operator
def rise(u: Line) -> Line:
    return 0.1 * u(I + 1) - u


@ff.program(backend=ff.cpu)
def climb(u: Line, out: Line):
    rise(u, out=out)


class Reader(HTMLParser):
    """Collects text, links and the tags that are not closed."""

    def __init__(self):
        super().__init__()
        self.open, self.links, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        self.links += [value for name, value in attrs if name in ("href", "src")]
        if tag not in VOID | OPTIONAL_END:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID | OPTIONAL_END:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def read(text):
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    return reader, "".join(reader.words)


@pytest.mark.needs_compiler
def test_a_report_has_stages_passes_decisions_and_keys():
    reader, words = read(page([climb.trace().view("climb", whole=True)]))
    assert reader.links == []
    assert re.search(r"url\((?!#)|@import|<script", page([climb.trace().view()])) is None
    for name in ("parse", "lower", "codegen", "compile", "bind"):
        assert f"{name}: output" in words
    assert "pass contract: +" in words
    assert "pass tile: changes nothing" in words
    assert "Decisions of the scheduler:" in words
    assert "stores out" in words
    assert "option.numerics" in words
    # Another test may have built a program of this name before.
    assert re.search("ran, for the first time for 'climb'|ran, because|found in", words)
    assert "fma" in words


def test_texts_are_escaped_cut_and_compared():
    stages = (
        StageView("one", text="a < b", kind="T", outcome="ran"),
        StageView("two", text="a < c", kind="T", outcome="disk", parts={"<x>": "y" * 9000}),
        StageView("three", text="z" * 400_000, outcome="ran"),
    )
    text = page([BuildView("<title>", stages)])
    _, words = read(text)
    assert "-a < b" in words
    assert "+a < c" in words
    assert "250000 more letters" in words
    assert len(text) < 200_000
    assert "<x>" not in text


def test_several_builds_stand_on_one_page():
    view = BuildView("first", (StageView("one", outcome="ran"),))
    _, words = read(page([view, BuildView("second", view.stages)]))
    assert "2 builds" in words
    assert words.index("first") < words.index("second")


@pytest.mark.needs_compiler
def test_notebooks_show_traces_and_workflows():
    trace = climb.trace()
    read(trace._repr_html_())
    assert repr(trace).startswith("<trace of 'climb': parse, lower")
    _, words = read(ff.cpu.workflow._repr_html_())
    assert "codegen" in words
    assert repr(ff.cpu.workflow) == (
        "<workflow parse -> lower -> codegen -> compile -> bind -> decorate>"
    )


@pytest.mark.needs_compiler
def test_the_command_writes_one_file(tmp_path):
    path = tmp_path / "r.html"
    example = "fieldforge.examples.diffusion:diffuse"
    done = CliRunner().invoke(main, ["report", example, "-o", str(path)])
    assert done.exit_code == 0, done.output
    _, words = read(path.read_text())
    assert "diffuse on 'cpu'" in words
    assert path.stat().st_size < 1_000_000


def test_what_a_notebook_shows_takes_its_colours_from_the_page():
    assert "prefers-color-scheme" not in STYLE
    assert "--ink:currentColor" in STYLE
