"""The integer programs of plans, evaluated in Python."""

import pytest

from fieldforge.runtime.calls.plan import Word, evaluate


def words(text):
    return tuple(
        Word("const", int(part)) if part.isdecimal() else Word(part) for part in text.split()
    )


def number(word):
    return word.value if word.op == "const" else None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7 2 sub", 5),
        ("0 7 sub 2 floordiv", -4),
        ("0 7 sub 2 mod", 1),
        ("7 0 floordiv", 0),
        ("7 0 mod", 0),
        ("1 2 add 5 min", 3),
        ("1 2 mul 5 max", 5),
        ("3 8 lowest", 38),
        ("1 scalar add", None),
        ("scalar 8 beyond", None),
    ],
)
def test_a_word_follows_its_operands(text, value):
    assert evaluate(words(text), number, lambda _, start, stop: 10 * start + stop) == value
