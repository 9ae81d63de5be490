"""Data from files are of the declared shape, or the error says where they are not."""

import pytest

from fieldforge.runtime.process.shapes import (
    MOST_TEXT,
    ShapeError,
    count,
    list_of,
    mapping,
    nullable,
    number,
    one_of,
    parse_json,
    positive,
    read_toml,
    real,
    row,
    table,
    text,
    truth,
    whole,
)


@pytest.mark.parametrize(
    ("shape", "content", "said"),
    [
        (text, "1", "the whole must be text, got 1"),
        (truth, "1", "must be true or false, got 1"),
        (whole, "true", "must be an integer, got True"),
        (whole, "9223372036854775808", "got an integer beyond 64 bits"),
        (count, "-1", "must be 0 or more, got -1"),
        (real, '"1"', "must be an integer, got '1'"),
        (number, "NaN", "must be a finite number, got nan"),
        (positive, "0", "must be more than 0, got 0"),
        (one_of(1), "true", "must be one of 1, got True"),
        (nullable(whole), "{}", "must be an integer, got a table"),
        (list_of(whole), "{}", "must be a list, got a table"),
        (list_of(whole), "[1, null]", r"'\[1\]' must be an integer, got nothing"),
        (row(whole, text), "[1]", "must be a list of 2, got a list"),
        (mapping(row(whole)), '{"a": [[]]}', r"'a\[0\]' must be an integer, got a list"),
        (table(a=text), "[]", "must be a table, got a list"),
        (table(a=text), "{}", "the whole has no 'a'"),
        (table(("a",), a=text), '{"b": 1}', "unknown entry 'b'"),
        (text, "[" * 100_000, "it is no JSON"),
        (text, "{", "it is no JSON"),
        (text, "9" * 5_000, "it is no JSON"),
        (text, '"' + "x" * MOST_TEXT + '"', "it has more than"),
    ],
)
def test_what_is_of_another_shape_is_named_with_its_place(shape, content, said):
    with pytest.raises(ShapeError, match=said):
        parse_json(content, shape)


@pytest.mark.parametrize(
    "content", [b"a = [" * 2, b"a = " + b"[" * 5_000, b"a = " + b"9" * 5_000, b"\xff", b"a"]
)
def test_toml_that_is_none_is_refused_by_one_error(tmp_path, content):
    (tmp_path / "a.toml").write_bytes(content)

    with pytest.raises(ShapeError):
        read_toml(tmp_path / "a.toml")
