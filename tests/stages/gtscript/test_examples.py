"""Every example gives the numbers of the oracle, and bit for bit the same in all executions."""

from __future__ import annotations

import pytest

from fieldforge.stages.artifacts import Variant
from fieldforge.stages.interpret.stage import Entry
from fieldforge.stages.target import CpuTarget

from ...generated.building import Schedule, compiled, written
from .cases import answers, complaint, difference, run
from .models import EXAMPLES
from .stencils import definition_of, made

ANSWERS = answers()


def interpret(made, arguments):
    Entry(made.lowered)(*arguments)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_interpreter_gives_the_numbers_of_the_oracle(name):
    case = EXAMPLES[name]

    made, arrays = run(case, interpret)

    assert complaint(case, ANSWERS[name], made, arrays) == ""


@pytest.mark.parametrize("backend", ["rows", "cpu", "gpu-host"])
def test_compiled_code_gives_the_bits_of_the_interpreter(backend):
    schedule, target = Schedule(backend=backend), CpuTarget.host()
    founds = {name: made(definition_of(case["text"])) for name, case in EXAMPLES.items()}
    programs = compiled(
        [written(each.lowered, Variant(), schedule, target) for each in founds.values()], "-O0"
    )

    for program, name in zip(programs, EXAMPLES, strict=True):
        _, meant = run(EXAMPLES[name], interpret)
        _, given = run(EXAMPLES[name], lambda _, arguments, program=program: program(*arguments))
        for field in meant:
            assert difference(meant[field], given[field], ulps(name)) == "", (name, field)


def ulps(name):
    """Compiled functions may err by some units in the last place, and sums of them by more."""
    return 64 if name in ("mathematics", "error functions") else 0
