"""Records survive the way to bytes and back, and no other bytes pass for one."""

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from fieldforge.cache.fingerprint import components_key
from fieldforge.cache.record import (
    INLINE,
    Record,
    describe,
    describe_outputs,
    parse_record,
    sorted_pairs,
)
from fieldforge.cache.sealed import seal, unseal

FAULT = "checksum line|wrong shape|must be|must have|do(es)? not have|no known form|labels"
KEY = components_key({"stage": "lower"})
names = st.from_regex(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,12}", fullmatch=True)
lines = st.text(min_size=1, max_size=20).filter(str.isprintable)
pairs = st.dictionaries(st.text(max_size=8), st.text(max_size=20), max_size=5)
contents = st.one_of(st.binary(max_size=60), st.text(max_size=30).map(lambda t: t.encode()))
outputs = st.dictionaries(names, st.dictionaries(names, contents, max_size=3), max_size=3)


def a_record(**changes) -> Record:
    facts = {
        "key": KEY,
        "stage": "lower",
        "program": "module:lap",
        "components": (("isa", "v3"), ("stage", "lower")),
        "outputs": describe_outputs({"lowered": {"a.txt": b"x", "b.bin": b"\xff"}}),
        "seconds": 0.25,
        "created": 1700000000,
    }
    return Record(**(facts | changes))


def described(**changes) -> Record:
    facts = {"key": KEY, "stage": "lower", "program": "lap", "components": {}, "outputs": {}}
    return describe(**(facts | changes))


@settings(max_examples=150, deadline=None)
@given(
    stage=names,
    program=lines,
    components=pairs.map(sorted_pairs),
    outputs=outputs.map(describe_outputs),
    seconds=st.floats(0, 1e9),
    created=st.integers(0, 2**40),
    meta=pairs.map(sorted_pairs),
)
def test_a_record_comes_back_as_it_went(**facts):
    record = Record(KEY, **facts)
    assert parse_record(record.encode(), KEY) == record


def test_every_truncation_and_every_bit_flip_is_detected():
    content = a_record().encode()
    for size in range(len(content)):
        with pytest.raises(ValueError, match=FAULT):
            parse_record(content[:size], KEY)
    for bit in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << (bit % 8)
        with pytest.raises(ValueError, match=FAULT):
            parse_record(bytes(damaged), KEY)


@pytest.mark.parametrize("tail", [b"\n", b" ", b"\0", b"{}"])
def test_bytes_after_a_record_are_detected(tail):
    with pytest.raises(ValueError, match=FAULT):
        parse_record(a_record().encode() + tail, KEY)


def test_a_record_under_another_key_is_refused():
    with pytest.raises(ValueError, match="was found under"):
        parse_record(a_record().encode(), components_key({}))


def body_of(record: Record) -> Any:
    return json.loads(unseal("fieldforge-record-2", record.encode()))


def forged(body: Any) -> bytes:
    """Give any content a fitting checksum."""
    return seal("fieldforge-record-2", json.dumps(body))


DIGEST = "0" * 64


@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.pop("outputs"),
        lambda body: body.pop("stage"),
        lambda body: body.update(stage=3),
        lambda body: body.update(stage="a/b"),
        lambda body: body.update(program=""),
        lambda body: body.update(program="two\nlines"),
        lambda body: body.update(seconds=float("nan")),
        lambda body: body.update(seconds=-1),
        lambda body: body.update(seconds="1"),
        lambda body: body.update(created=True),
        lambda body: body.update(components=["a"]),
        lambda body: body.update(components={"a": 1}),
        lambda body: body.update(key="../../etc"),
        lambda body: body.update(outputs=[["lowered", DIGEST]]),
        lambda body: body.update(outputs=[["lowered", DIGEST, []]]),
        lambda body: body["outputs"].append(body["outputs"][0]),
        lambda body: body["outputs"][0][2].reverse(),
        lambda body: body["outputs"][0][2].pop(),
        lambda body: body["outputs"][0][2][0].__setitem__(0, "../a.txt"),
        lambda body: body["outputs"][0][2][0].__setitem__(1, DIGEST),
        lambda body: body["outputs"][0][2][0].__setitem__(2, 2),
        lambda body: body["outputs"][0][2][0].__setitem__(3, "pickle"),
        lambda body: body["outputs"][0][2][0].__setitem__(4, "y"),
        lambda body: body["outputs"][0][2][1].__setitem__(4, "!!"),
    ],
)
def test_a_record_of_the_wrong_shape_is_refused_even_with_a_fitting_checksum(change):
    body = body_of(a_record())
    change(body)
    with pytest.raises(ValueError, match=FAULT):
        parse_record(forged(body), KEY)


def test_a_forged_record_of_the_right_shape_is_one():
    assert parse_record(forged(body_of(a_record())), KEY) == a_record()


@pytest.mark.parametrize("body", [None, [], "text", 1, {}, [{}]])
def test_other_json_is_no_record(body):
    with pytest.raises(ValueError, match=FAULT):
        parse_record(forged(body), KEY)


def test_a_record_that_is_nested_too_deep_is_refused():
    body = "[" * 100_000 + "]" * 100_000
    with pytest.raises(ValueError, match=FAULT):
        parse_record(seal("fieldforge-record-2", body))


TRAVERSALS = [
    "",
    ".",
    "..",
    "/",
    "/etc/passwd",
    "../x",
    "a/../b",
    "a/b",
    "a\\b",
    "a\0b",
    "a b",
    "a\n",
    "~",
    "é",
    "x" * 129,
    "a:b",
    "$HOME",
    "*",
]


@pytest.mark.parametrize("name", TRAVERSALS)
def test_names_that_could_leave_their_folder_are_refused(name):
    with pytest.raises(ValueError, match="letters, digits"):
        described(outputs={"port": {name: b""}})
    with pytest.raises(ValueError, match="letters, digits"):
        described(outputs={name: {"file": b""}})
    with pytest.raises(ValueError, match="letters, digits"):
        described(stage=name)


@pytest.mark.parametrize("key", ["", "0" * 63, "0" * 65, "0" * 63 + "G", "A" * 64, "0" * 64 + "\n"])
def test_keys_are_64_hexadecimal_digits(key):
    with pytest.raises(ValueError, match="64 hexadecimal"):
        described(key=key)


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_seconds_are_a_number_that_is_not_negative(seconds):
    with pytest.raises(ValueError, match="not negative"):
        described(seconds=seconds)


def test_components_are_text_in_one_order():
    assert described(components={"b": "1", "a": "2"}).components == (("a", "2"), ("b", "1"))
    with pytest.raises(ValueError, match="text under text"):
        described(components={"a": 1})


def test_what_is_described_passes_every_check_of_what_is_read():
    record = described(outputs={"p": {"large": b"x" * (INLINE + 1), "small": b"\xff"}, "o": {}})
    assert parse_record(record.encode(), KEY) == record


def test_small_files_travel_in_the_record_and_large_ones_do_not():
    (output,) = describe_outputs({"p": {"large": b"x" * (INLINE + 1), "small": b"x" * INLINE}})
    assert [file.inline is None for file in output.files] == [True, False]


def test_text_can_be_read_in_the_record_by_a_person():
    assert b'"a.txt"' in a_record().encode()
    assert b'"text","x"' in a_record().encode()
