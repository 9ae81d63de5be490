"""The stage as the engine sees it: prerequisites, outputs, and the parts of its key."""

import enum
import types

import attrs
import numpy as np
import pytest

from fieldforge.runtime.fields.field import Field
from fieldforge.runtime.language.dimension import Dimension
from fieldforge.stages.artifacts import Parsed, Spans
from fieldforge.stages.parse.key import forget
from fieldforge.stages.parse.stage import Check, Parse
from fieldforge.stages.parse.summary import Summary

I = Dimension("I")


class Const(enum.Enum):
    A = 1.0
    B = 2.0


def key(definition):
    return Parse().components({"definition": definition})


def test_trees_of_callees_are_shared(define, operator):
    g = operator("def g(x: F):\n    return x")
    h = operator("def h(x: F):\n    return g(x)", g=g)
    first = Parse().run(definition=h.__definition__)["parsed"]

    second = Parse().run(definition=define("def f(x: F):\n    return h(x)", h=h))["parsed"]

    assert second.operators[0][1] is first.operators[0][1]
    assert second.operators[1][1] is first.root


def test_the_summary_is_the_signature_and_comes_back_from_its_files(define, operator):
    g = operator("def g(x: F, k: float):\n    return x * k")

    summary = Check().run(definition=define("def f(x: F):\n    return g(x, 0.1)", g=g))["summary"]

    assert str(summary.signature) == "field_operator(Field[[I], float64]) -> Field[[I], float64]"
    assert (summary.tables, summary.unstructured) == ((), False)
    assert Summary.from_files(summary.files()) == summary


def test_a_name_bound_anew_counts_after_forgetting(define, operator):
    g = operator("def g(x: F):\n    return x * c", c=2.0)
    definition = define("def f(x: F):\n    return g(x)", g=g)
    before = key(definition)
    g_anew = operator("def g(x: F):\n    return x * c", c=3.0)
    object.__setattr__(g, "__definition__", g_anew.__definition__)

    forget()

    assert key(definition) != before
    assert Parse().run(definition=definition)["parsed"].operators[0][1].nodes[1].text == "3.0"


def test_a_member_bound_anew_counts_for_all_who_reach_it(define, operator):
    space = types.ModuleType("space")
    space.c = 2.0
    g = operator("def g(x: F):\n    return x * space.c", space=space)
    text = "def f(x: F):\n    return g(x)"
    before = key(define(text, g=g))

    space.c = 3.0

    assert key(define(text, g=g)) != before
    assert (
        Parse().run(definition=define(text, g=g))["parsed"].operators[0][1].nodes[1].text == "3.0"
    )


def test_the_artifacts_come_back_from_their_files(define, operator):
    g = operator("def g(x: F, k: float):\n    return x * k")
    outputs = Parse().run(definition=define("def f(x: F):\n    return g(x, 0.1)", g=g))

    assert Parsed.from_files(outputs["parsed"].files()) == outputs["parsed"]
    assert Spans.from_files(outputs["spans"].files()) == outputs["spans"]


def test_moving_a_function_changes_spans_and_nothing_else(define):
    definition = define("def f(x: F):\n    return x")
    source = attrs.evolve(definition.source, file="elsewhere.py", line=99, indent=8)
    moved = attrs.evolve(definition, source=source)

    before, after = Parse().run(definition=definition), Parse().run(definition=moved)

    assert key(moved) == key(definition)
    assert after["parsed"] == before["parsed"]
    assert after["spans"] != before["spans"]


def test_the_key_has_a_label_for_every_free_name(define, operator):
    module = types.ModuleType("m")
    module.C, module.unused = 3, 4
    definition = define(
        "def f(x: F):\n    return where(x > c, g(x(I + 1)), x * Const.A.value) * m.C",
        c=2.5, g=operator("def g(x: F):\n    return x"), Const=Const, m=module,
    )  # fmt: skip

    found = key(definition)

    assert found["closure.c"] == "float64 2.5"
    assert found["closure.I"] == "dimension I[horizontal]"
    assert found["closure.where"] == "builtin where"
    assert found["closure.Const.A"] == "float64 1.0"
    assert "closure.Const.B" not in found
    assert found["closure.m.C"] == "int32 3"
    assert "closure.m.unused" not in found
    assert found["closure.g"].startswith("field_operator ")
    assert found["annotation.x"] == "Field[[I], float64]"
    assert found["kind"] == "field_operator"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"c": 2.5}, {"c": 3.5}),
        ({"c": 2}, {"c": 2.0}),
        ({"c": np.float32(2)}, {"c": np.float64(2)}),
        ({"c": I}, {"c": Dimension("J")}),
        ({"F": Field[[I], np.float64]}, {"F": Field[[I], np.float32]}),
    ],
)
def test_another_value_of_a_free_name_is_another_key(first, second, define):
    text = "def f(x: F):\n    return c"

    assert key(define(text, **{"c": 1.0, **first})) != key(define(text, **{"c": 1.0, **second}))


def test_a_change_deep_inside_a_callee_is_another_key(define, operator):
    def chain(constant):
        g = operator("def g(x: F):\n    return x * c", c=constant)
        for _ in range(3):
            g = operator("def h(x: F):\n    return g(x) + g(x)", g=g)
        return key(define("def f(x: F):\n    return g(x)", g=g))["closure.g"]

    assert chain(1.0) == chain(1.0)
    assert chain(1.0) != chain(2.0)


def test_a_thousand_operators_below_each_other_are_nothing_special(define, operator):
    g = operator("def g(x: F):\n    return x")
    for _ in range(1000):
        g = operator("def g(x: F):\n    return inner(x)", inner=g)
    definition = g.__definition__

    assert len(key(definition)["closure.inner"]) > 64
    assert len(Parse().run(definition=definition)["parsed"].operators) == 1000


def test_objects_that_mean_nothing_are_opaque_in_the_key(define):
    class Strange:
        def __getattr__(self, name):
            raise RuntimeError(name)

    found = key(define("def f(x: F):\n    return c", c=Strange()))

    assert found["closure.c"].startswith("opaque ")
