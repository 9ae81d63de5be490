"""A decorated function as a value: text, closure, annotations."""

import functools
import inspect
import linecache
import types

import pytest

from fieldforge.runtime.language.capture import _first_block, capture, recapture
from fieldforge.runtime.language.definition import ScanOptions
from fieldforge.runtime.process.errors import ArgumentError, DSLError

SCALE = 2.0


def keep(*_, **__):
    return lambda function: function


@keep(
    "several",
    lines="of decorator",
)
def decorated(a: int, b: "float") -> "Undefined":  # noqa: F821 - that is the test
    """Doc."""
    x = a + b
    return x * SCALE + abs(a)  # the end


def made_in(names, text, file="<made>"):
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    return names


def test_the_text_of_a_nested_function_is_dedented():
    text = 'if True:\n    def f(a):\n        """First\nsecond."""\n        return a\n    b = 1\n'

    source = capture(made_in({}, text)["f"], "program").source

    assert source.text == 'def f(a):\n    """First\nsecond."""\n    return a\n'
    assert (source.line, source.indent) == (2, 4)
    span = source.span(4, 4, 4, 12)
    line = linecache.getline(span.file, span.line)
    assert line[span.column - 1 : span.end_column - 1] == "return a"


def test_moving_a_function_or_its_decorator_changes_no_text():
    text = "def f(a):\n    return a\n"
    first = made_in({}, text, "<one>")["f"]
    second = made_in({"keep": keep}, "\n\n@keep(1)\n" + text, "<two>")["f"]

    assert capture(first, "program").source == capture(second, "program").source


def test_the_definition_holds_what_it_was_given():
    scan = ScanOptions(axis="K", forward=True, init=0.0)

    definition = capture(decorated, "scan_operator", scan=scan, grid_type="cartesian")

    assert (definition.name, definition.kind) == ("decorated", "scan_operator")
    assert (definition.scan, definition.grid_type) == (scan, "cartesian")
    assert definition.function is decorated


def test_string_annotations_see_enclosing_names():
    real = float

    def f(a: "real") -> None:
        return real(a)

    assert capture(f, "program").annotations == (("a", float), ("return", None))


def test_3_5_the_closure_holds_every_name_that_resolves_sorted():
    assert capture(decorated, "program").closure == (("SCALE", SCALE), ("abs", abs))


def test_3_5_a_cell_that_is_not_bound_yet_is_left_out():
    def f():
        return later

    assert capture(f, "program").closure == ()
    later = 3
    assert recapture(capture(f, "program")).closure == (("later", 3),)


def test_3_5_names_inside_nested_code_are_found():
    def f(a):
        return [SCALE * x for x in a], (lambda y: y + sum(a))

    assert [name for name, _ in capture(f, "program").closure] == ["SCALE", "sum"]


def test_3_2_names_of_annotations_in_the_body_are_found():
    names = made_in({"Real": float}, "def f(a):\n    x: Real = a\n    return x\n")

    assert capture(names["f"], "program").closure == (("Real", float),)


def test_a_rebound_global_is_noticed_and_nothing_else():
    names = made_in({"C": 1}, "def f(a):\n    return a + C\n")
    definition = capture(names["f"], "program")

    assert recapture(definition) is definition
    names["C"] = 2
    assert recapture(definition).closure == (("C", 2),)
    assert recapture(definition).source is definition.source
    names["D"] = 3
    assert recapture(recapture(definition)).closure == (("C", 2),)


def test_an_edited_file_is_read_again(tmp_path):
    file = tmp_path / "model.py"
    for body in ("return a", "return a + 10"):
        text = f"def f(a):\n    {body}\n"
        file.write_text(text)
        names = {}
        exec(compile(text, str(file), "exec"), names)
        assert capture(names["f"], "program").source.text == text


def test_missing_source_is_an_error_that_says_what_to_do():
    names = {}
    exec("def f(a):\n    return a\n", names)

    with pytest.raises(DSLError, match="The source of 'f' cannot be found") as caught:
        capture(names["f"], "program")

    assert "linecache" in str(caught.value)
    assert caught.value.hints[0].startswith("Write the function in a file, and run 'python FILE'")


def test_what_is_typed_at_a_prompt_is_read_where_python_keeps_it(monkeypatch):
    text, names = "def typed(a):\n    return a\n", {}
    exec(compile(text, "<python-input-3>", "exec"), names)
    kept = {names["typed"].__code__: text.splitlines(keepends=True)}  # as Python 3.13.1 does
    monkeypatch.setattr(linecache, "_getlines_from_code", kept.get, raising=False)

    assert capture(names["typed"], "field_operator").source.text == text


def test_a_lambda_is_refused():
    with pytest.raises(DSLError, match="written with 'def'"):
        capture(lambda a: a, "field_operator")


@pytest.mark.parametrize("thing", [3, functools.partial(decorated, 1), types.SimpleNamespace, len])
def test_what_is_no_python_function_is_refused(thing):
    with pytest.raises(ArgumentError, match="A field operator is made of a Python function"):
        capture(thing, "field_operator")


BLOCKS = '''\
def with_a_remark_in_the_middle(x):
    y = x
# a remark that stands left of the body
    return (y
)

# after it
def with_a_string():
    """
# in a string
"""
    # a remark of the body

# a remark after it
class Outer:
    def method(self):
        return """
  z"""
    # a remark of the class
    def short(self): return 1
    def long(
        self,
    ): \\
        return 3
def last():
    s = """
# x"""
'''


def test_a_block_ends_where_the_tokens_say():
    lines = BLOCKS.splitlines(keepends=True)
    headers = [number for number, line in enumerate(lines) if line.lstrip().startswith("def ")]

    found = [_first_block(lines[number:]) for number in headers]

    assert len(found) == 6
    assert found == [inspect.getblock(lines[number:]) for number in headers]
