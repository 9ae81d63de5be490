"""Several threads may decorate at once, although CPython 3.11 cannot parse in two at a time."""

import ast
import inspect

from fieldforge.cache.functions import describe
from fieldforge.runtime.process.source import PYTHON_PARSER
from fieldforge.stages.parse.trees import parse_all


class Parsers:
    """Stands before a function of Python and sees whether the lock is held."""

    def __init__(self, function):
        self.function = function
        self.held = []

    def __call__(self, *args, **kwargs):
        self.held.append(PYTHON_PARSER._is_owned())
        return self.function(*args, **kwargs)


def test_definitions_are_parsed_under_the_lock(define, monkeypatch):
    definition = define("def f(x: F):\n    return x")
    seen = Parsers(ast.parse)
    monkeypatch.setattr(ast, "parse", seen)

    parse_all(definition)

    assert seen.held == [True]


def test_the_text_of_a_class_is_found_under_the_lock(monkeypatch):
    class Local:
        pass

    seen = Parsers(inspect.getsource)
    monkeypatch.setattr(inspect, "getsource", seen)

    describe(Local)

    assert seen.held == [True]
    assert not PYTHON_PARSER._is_owned()
