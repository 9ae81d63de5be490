"""Fingerprints tell apart what differs, and nothing else."""

import enum
import functools
import math
from typing import Any, NamedTuple

import attrs
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fieldforge.cache.fingerprint import (
    artifact_digest,
    components_key,
    fingerprint,
    rows_digest,
    sha256,
)
from fieldforge.runtime.language.dimension import Dimension, DimensionKind

from ..processes import python


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


class Text(str, enum.Enum):  # noqa: UP042 - the older spelling
    A = "a"


@attrs.frozen
class Point:
    x: Any
    y: Any = 0
    note: str = attrs.field(default="", eq=False)


@attrs.frozen
class OtherPoint:
    x: Any
    y: Any = 0


@attrs.frozen(eq=False)
class Anonymous:
    x: int = 1


@attrs.frozen
class Folded:
    name: str = attrs.field(eq=str.lower)


@attrs.frozen
class Scale:
    by: int

    def __call__(self, value: int) -> int:
        return value * self.by


class Pair(NamedTuple):
    a: int
    b: int


class OtherPair(NamedTuple):
    a: int
    b: int


def scaled(by: int) -> Any:
    def scale(value: int) -> int:
        return value * by

    return scale


DISTINCT = [
    None,
    True,
    False,
    0,
    1,
    -1,
    10**30,
    0.0,
    -0.0,
    1.0,
    math.inf,
    math.nan,
    "",
    "a",
    "1",
    b"",
    b"a",
    (),
    [],
    {},
    frozenset(),
    set(),
    (1,),
    [1],
    frozenset({1}),
    {1: 2},
    {2: 1},
    {"1": 2},
    ((1, 2), 3),
    (1, (2, 3)),
    (1, 2, 3),
    ("ab", "c"),
    ("a", "bc"),
    ((),),
    ((), ()),
    Colour.RED,
    Colour.BLUE,
    Level.LOW,
    Text.A,
    Point(1),
    Point(1, 1),
    Point(True),
    OtherPoint(1),
    Pair(1, 2),
    OtherPair(1, 2),
    (1, 2),
    np.float64(1.0),
    np.float32(1.0),
    np.int64(1),
    np.int32(1),
    np.bool_(True),
    np.dtype("float64"),
    np.dtype("float32"),
    np.dtype(">f8"),
    np.float64,
    np.float32,
    float,
    int,
    Dimension("I"),
    Dimension("J"),
    Dimension("I", DimensionKind.VERTICAL),
    Dimension("I", DimensionKind.LOCAL),
    fingerprint,
    components_key,
    Dimension,
    math.sqrt,
    math.exp,
    scaled(1),
    scaled(2),
    lambda x: x,
    lambda x: x + 1,
    functools.partial(fingerprint, 1),
    functools.partial(fingerprint, 2),
    Scale(1),
    Scale(2),
    Scale(1).__call__,
]


def test_different_values_and_types_never_share_a_fingerprint():
    digests = [fingerprint(value) for value in DISTINCT]
    assert len(set(digests)) == len(DISTINCT)
    assert all(len(digest) == 64 for digest in digests)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (frozenset("abc"), frozenset("cba")),
        (Point(1, note="here"), Point(1, note="there")),
        (Folded("Name"), Folded("nAME")),
        (scaled(3), scaled(3)),
        (np.dtype("f8"), np.dtype(np.float64)),
        (Dimension("I"), Dimension("I", DimensionKind.HORIZONTAL)),
        (np.float64(2.5), np.array([2.5], ">f8")[0]),
    ],
)
def test_equal_values_share_a_fingerprint(one, other):
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (object(), "'object' at value."),
        ((1, [object()]), "'object' at value[1][0]."),
        ({"passes": (Point(object()),)}, "'object' at value['passes'][0].x."),
        ({object(): 1}, ".key."),
        (np.zeros(3), "'ndarray' at value."),
        (np.longdouble(1), "'longdouble' at value."),
        (np.dtype([("a", "f8")]), "at value."),
        (Anonymous(), "'Anonymous' at value."),
        (math, "'module' at value."),
        (eval("lambda: 1"), "'function' at value."),
    ],
)
def test_a_value_without_canonical_form_is_refused_with_the_path_to_it(value, path):
    with pytest.raises(TypeError, match="Cannot fingerprint") as caught:
        fingerprint(value)
    assert path in str(caught.value)


def test_a_container_in_itself_is_refused():
    loop: list[Any] = []
    loop.append({"again": loop})
    with pytest.raises(ValueError, match="contains itself"):
        fingerprint(loop)


def test_a_long_loop_is_refused():
    start: list[Any] = []
    inner = start
    for _ in range(100):
        inner.append([])
        inner = inner[0]
    inner.append(start)
    with pytest.raises(ValueError, match="contains itself"):
        fingerprint(start)


def test_depth_is_not_limited_by_recursion():
    value: Any = ()
    for _ in range(20_000):
        value = (value,)
    shallower = value[0]
    assert fingerprint(value) != fingerprint(shallower)


def test_shared_parts_are_read_once():
    value: Any = (1,)
    for _ in range(200):  # 2**200 paths lead to the innermost part
        value = (value, value)
    assert fingerprint(value) == fingerprint((value[0], value[0]))


def test_sharing_an_object_does_not_matter():
    part = (1, 2)
    assert fingerprint((part, part)) == fingerprint(((1, 2), tuple(iter([1, 2]))))


def test_a_wrapper_does_not_pass_for_what_it_wraps():
    @functools.wraps(fingerprint)
    def wrapper(value: Any) -> str:
        return ""

    assert fingerprint(wrapper) != fingerprint(fingerprint)


atoms = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=4),
    st.binary(max_size=4),
    st.sampled_from([Colour.RED, Level.LOW, Dimension("I")]),
    st.integers(-3, 3).map(np.int32),
    st.floats(width=32, allow_nan=False).map(np.float32),
)
values = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
        st.builds(Point, inner, inner),
    ),
    max_leaves=8,
)


def spelled(value: Any) -> str:
    """Spell a value so that two spellings are equal exactly when type and value are."""
    if isinstance(value, Point):
        return f"Point({spelled(value.x)},{spelled(value.y)})"
    if type(value) is dict:
        return "{" + ",".join(f"{key!r}:{spelled(value[key])}" for key in sorted(value)) + "}"
    if type(value) in (list, tuple):
        return f"{type(value).__name__}({','.join(map(spelled, value))})"
    return f"{type(value).__name__}<{value!r}>"


@settings(max_examples=300, deadline=None)
@given(values, values)
def test_fingerprints_are_equal_exactly_when_values_are(one, other):
    assert (fingerprint(one) == fingerprint(other)) == (spelled(one) == spelled(other))


@settings(max_examples=100, deadline=None)
@given(st.sets(atoms, max_size=5))
def test_a_set_does_not_show_its_order(elements):
    ordered = sorted(elements, key=spelled)
    assert fingerprint(frozenset(ordered)) == fingerprint(frozenset(reversed(ordered)))


SCRIPT = """
from fieldforge.cache.fingerprint import *
from fieldforge.runtime.language.dimension import Dimension
words = [f"w{i}" for i in range(50)]
print(fingerprint((frozenset(words), {w: frozenset(words[:9]) for w in words}, Dimension("I"))))
print(components_key({w: "x" for w in set(words)}))
"""


def test_fingerprints_do_not_depend_on_the_hash_seed():
    said = {
        python("-c", SCRIPT, check=True, env={"PYTHONHASHSEED": seed}).stdout
        for seed in ("0", "1234")
    }
    assert len(said) == 1


def test_the_format_is_stable():
    assert fingerprint((1, "a", None)) == (
        "049e71026e19b08941d42a9bf14fbfa44a54e4e7d7b5efd43f189cf82a5c2a97"
    )


def test_flipping_any_component_changes_the_key():
    components = {f"label{i}": f"value{i}" for i in range(30)}
    keys = {components_key(components)}
    for label in components:
        keys.add(components_key(components | {label: "other"}))
        keys.add(components_key({k: v for k, v in components.items() if k != label}))
        keys.add(components_key({(k + "x" if k == label else k): v for k, v in components.items()}))
    assert len(keys) == 1 + 3 * len(components)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": "bc"}, {"ab": "c"}),
        ({"a": "", "b": ""}, {"a": "b", "": ""}),
        ({}, {"": ""}),
    ],
)
def test_labels_and_values_do_not_run_into_each_other(one, other):
    assert components_key(one) != components_key(other)


def test_an_artifact_is_its_file_names_and_contents():
    digest = artifact_digest({"a": b"1", "b": b"2"})
    assert digest == artifact_digest({"b": b"2", "a": b"1"})
    assert digest == rows_digest([("b", sha256(b"2")), ("a", sha256(b"1"))])
    assert digest != artifact_digest({"a": b"2", "b": b"1"})
    assert digest != artifact_digest({"a": b"1"})
