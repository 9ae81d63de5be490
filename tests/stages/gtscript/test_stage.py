"""The stages of GTScript: artifacts, keys, and their place in workflows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.cache.memory import Memory
from fieldforge.runtime.process.errors import OptionError
from fieldforge.stages.artifacts import Variant
from fieldforge.stages.gtscript import ParsedStencil, StencilInfo
from fieldforge.stages.gtscript.stage import LowerStencil, ParseStencil
from fieldforge.workflows.backends import pipelines

from .cases import arrays_of
from .models import EXAMPLES
from .stencils import definition_of, made

SUM = """
@function
def twice(u):
    return 2.0 * u

def s(a: Field[float], m: Field[IJ, float], w: float):
    '''Sum columns.'''
    from __externals__ import n
    with computation(FORWARD), interval(n, None):
        if a > w:
            m = m + twice(a)
        with horizontal(region[I[0], :]):
            m = 0.0

EXTERNALS = {"n": 1}
"""


def parsed(text=SUM):
    return ParseStencil().run(definition=definition_of(text))


def test_the_tree_says_what_was_read():
    assert (
        parsed()["parsed"].text
        == """\
stencil s
  field v0 a : [I, J, K] float64
  field v1 m : [I, J] float64
  scalar v2 w : float64
  mask v3 mask.3 : [I, J, K] bool
  %0 = read a[0, 0, 0] : float64
  %1 = read w[0, 0, 0] : float64
  %2 = gt %0 %1 : bool
  %3 = read mask.3[0, 0, 0] : bool
  %4 = read m[0, 0, 0] : float64
  %5 = number 2.0 : float64
  %6 = mul %5 %0 : float64
  %7 = add %4 %6 : float64
  %8 = number 0.0 : float64
  forward K: start+1 .. end+0
    0: mask.3 = %2
    0: m = %7 where %3
    1: m = %8 inside I: start+0 .. start+1, J: ..
"""
    )


def test_the_facts_for_calls():
    info = parsed()["info"]

    assert (info.name, info.arguments, info.docstring) == ("s", ("a", "m", "w"), "Sum columns.")
    assert dict(info.fields)["m"].access == 3
    assert dict(info.fields)["a"].boundary == ((0, 0), (0, 0), (-1, 0))
    assert info.domain.min_sequential_axis_size == 2
    assert [(name, each.text) for name, each in info.constants] == [("n", "1")]
    assert "field m [I, J] float64 access 3" in info.text


@pytest.mark.parametrize("name", EXAMPLES)
def test_artifacts_come_back_from_their_files(name):
    made = parsed(EXAMPLES[name]["text"])

    assert ParsedStencil.from_files(made["parsed"].files()) == made["parsed"]
    assert StencilInfo.from_files(made["info"].files()) == made["info"]


def test_a_definition_that_moves_keeps_its_key_and_tree():
    here, there = definition_of(SUM), definition_of("\n\n\n" + SUM)
    stage = ParseStencil()

    assert stage.components({"definition": here}) == stage.components({"definition": there})
    assert parsed(SUM)["parsed"].files() == parsed("\n\n" + SUM)["parsed"].files()
    assert here.source.line != there.source.line
    assert pickle.loads(pickle.dumps(here)) == here


@pytest.mark.parametrize(
    ("old", "new"),
    [("2.0 * u", "3.0 * u"), ('"n": 1', '"n": 2'), ("a: Field[float]", "a: Field[np.float32]"),
     ("m = 0.0", "m = 1.0")],
)  # fmt: skip
def test_whatever_changes_the_result_changes_the_key(old, new):
    stage = ParseStencil()
    keys = [
        stage.components({"definition": definition_of(text)})
        for text in (SUM, SUM.replace(old, new))
    ]

    assert keys[0] != keys[1]


def test_literal_types_are_part_of_the_key():
    keys = [
        ParseStencil().components({"definition": definition_of(SUM, **options)})
        for options in ({}, {"literal_float_precision": 32}, {"dtypes": {float: np.float32}})
    ]

    assert keys[0] != keys[1] != keys[2] != keys[0]


def test_the_stages_replace_those_of_the_first_language():
    case = EXAMPLES["forward carries"]
    flow = pipelines.reference().replace(parse=ParseStencil(), lower=LowerStencil())
    inputs = {"definition": definition_of(case["text"]), "variant": Variant()}

    found = ff.Engine(Memory()).run(flow, inputs, program="s")
    entry = found["interpret"].outputs["entry"].get()
    arrays = arrays_of(case)
    made_of = made(definition_of(case["text"]))
    entry(*made_of.arguments(arrays, {}, tuple(case["domain"])))

    assert arrays["b"].ravel().tolist() == [1, 20, 210, 2110]


def test_static_arguments_become_literals_and_others_are_refused():
    text = "def s(a: Field[float], b: Field[float], w: float):\n"
    text += "    with computation(PARALLEL), interval(...):\n        b = a * w\n"

    found = made(definition_of(text), Variant(static=(("w", "0.5"),)))

    assert "literal 0.5" in found.lowered.text
    with pytest.raises(OptionError, match="Static argument 'a' is not a scalar parameter"):
        made(definition_of(text), Variant(static=(("a", "0.5"),)))


def test_arguments_without_a_use_are_no_parameters():
    text = "def s(a: Field[float], b: Field[float], w: float):\n"
    text += "    with computation(PARALLEL), interval(...):\n        b = 1.0\n"

    found = made(definition_of(text))

    assert found.lowered.program.parameters == ("b", "domain.I", "domain.J", "domain.K")
    assert dict(found.info.fields)["a"].access == 0


def test_arguments_may_have_the_names_of_axes():
    text = "def s(i: Field[float], j: Field[float], K: float):\n"
    text += "    with computation(PARALLEL), interval(...):\n        j = i * K\n"

    assert "scalar K : float64" in made(definition_of(text)).lowered.text


def test_integers_divide_as_floats_of_64_bits():
    text = "def s(n: Field[np.int64], b: Field[float]):\n"
    text += "    with computation(PARALLEL), interval(...):\n        b = n / 1 + sqrt(n)\n"

    listing = made(definition_of(text)).lowered.text

    assert "cast %0 : [I, J, K] float64" in listing
    assert "float32" not in listing


def test_reading_stays_linear():
    lines = "".join(f"        t{n} = a + {n}.0\n        b = b + t{n}\n" for n in range(1500))
    head = (
        "def s(a: Field[float], b: Field[float]):\n    with computation(FORWARD), interval(...):\n"
    )

    tree = parsed(head + lines)["parsed"].root

    assert sum(len(block.body) for block in tree.blocks) == 3000


def test_a_scalar_that_a_function_shifts_is_the_same_everywhere():
    text = """
@function
def ahead(u):
    return u[1, 0, 0]

def s(a: Field[float], b: Field[float], w: float):
    with computation(PARALLEL), interval(...):
        b = ahead(a) + ahead(w) + ahead(2.0)
"""
    found = made(definition_of(text))

    assert dict(found.info.fields)["a"].boundary == ((-1, 1), (0, 0), (0, 0))
    assert found.lowered.text.count(" = shift ") == 1


def test_a_field_whose_old_values_are_needed_is_stored_at_the_end():
    text = """
def s(a: Field[float], b: Field[float]):
    with computation(FORWARD), interval(0, 1):
        t = a
        u = 0.0
    with computation(FORWARD), interval(1, None):
        t = a
        a = a[0, 0, -1] + 1.0
    with computation(BACKWARD), interval(...):
        b = t + a
"""
    found = made(definition_of(text))

    assert len(found.lowered.program.statements) == 1
