"""Stencils in the style of models give the numbers of the oracle, on every backend."""

import numpy as np
import pytest

from fieldforge.stages import CpuTarget, Variant
from fieldforge.stages.interpret.stage import Entry

from ...generated.building import Schedule, compiled, written
from .cases import OF_CORPUS, answers, difference, facts, run
from .corpus.every import CORPUS
from .stencils import definition_of, made

ANSWERS = answers(OF_CORPUS)
FUNCTIONS = ("exp(", "log(", "sin(", "**")  # compiled functions err by units in the last place
NEAR = {"float64": 1e-12, "float32": 1e-5}  # of the oracle's own functions


def interpret(made, arguments):
    Entry(made.lowered)(*arguments)


@pytest.mark.parametrize("name", CORPUS)
def test_the_interpreter_gives_the_numbers_of_the_oracle(name):
    answer = ANSWERS[name]

    found, arrays = run(CORPUS[name], interpret)

    assert facts(answer, found) == ""
    for field, (values, dtype) in answer["outputs"].items():
        meant = np.array(values, dtype).reshape(arrays[field].shape)
        np.testing.assert_allclose(arrays[field], meant, rtol=NEAR.get(dtype, 0), err_msg=field)


@pytest.mark.parametrize("backend", ["cpu", "gpu-host"])
def test_compiled_code_gives_the_bits_of_the_interpreter(backend):
    schedule, target = Schedule(backend=backend), CpuTarget.host()
    founds = {name: made(definition_of(case["text"])) for name, case in CORPUS.items()}
    programs = compiled(
        [written(each.lowered, Variant(), schedule, target) for each in founds.values()], "-O0"
    )

    for program, name in zip(programs, CORPUS, strict=True):
        _, meant = run(CORPUS[name], interpret)
        _, given = run(CORPUS[name], lambda _, arguments, program=program: program(*arguments))
        calls = any(each in CORPUS[name]["text"] for each in FUNCTIONS)
        for field in meant:
            if calls and meant[field].dtype.kind == "f":
                np.testing.assert_allclose(given[field], meant[field], rtol=1e-9, err_msg=name)
            else:
                assert difference(meant[field], given[field], 0) == "", (name, field)
