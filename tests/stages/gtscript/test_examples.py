"""Every example gives the numbers of the oracle, and bit for bit the same in all executions."""

import pytest

from fieldforge.runtime.process import CodegenError
from fieldforge.stages import CpuTarget, Variant
from fieldforge.stages.interpret.stage import Entry
from fieldforge.stages.ir import codec
from fieldforge.stages.ir.dataflow_text import parse

from ...generated.building import Schedule, compiled, written
from .cases import answers, complaint, difference, run
from .column_examples import COLUMNS
from .data_examples import DATA
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


def agree(backend, names):
    """Compare compiled examples with the interpreter, bit for bit."""
    schedule, target = Schedule(backend=backend), CpuTarget.host()
    founds = {name: made(definition_of(EXAMPLES[name]["text"])) for name in names}
    programs = compiled(
        [written(each.lowered, Variant(), schedule, target) for each in founds.values()], "-O0"
    )

    for program, name in zip(programs, founds, strict=True):
        _, meant = run(EXAMPLES[name], interpret)
        _, given = run(EXAMPLES[name], lambda _, arguments, program=program: program(*arguments))
        for field in meant:
            assert difference(meant[field], given[field], ulps(name)) == "", (name, field)


def test_compiled_code_gives_the_bits_of_the_interpreter():
    agree("cpu", EXAMPLES)


def test_interpreted_rows_give_the_bits_of_the_interpreter():
    agree("rows", [name for name in EXAMPLES if name not in COLUMNS])


@pytest.mark.parametrize("name", COLUMNS)
def test_rows_refuse_imperative_columns(name):
    lowered = made(definition_of(EXAMPLES[name]["text"])).lowered

    with pytest.raises(CodegenError, match="Imperative columns wait for compiled code"):
        written(lowered, Variant(), Schedule(backend="rows"), CpuTarget.host())


@pytest.mark.parametrize(
    ("backend", "names"), [("gpu-host", EXAMPLES), ("dace_cpu", [*DATA, *COLUMNS])]
)
def test_gpus_and_dace_give_the_bits_of_the_interpreter(backend, names):
    agree(backend, names)


@pytest.mark.parametrize("name", [*DATA, *COLUMNS])
def test_the_listing_of_an_example_reads_back(name):
    lowered = made(definition_of(EXAMPLES[name]["text"])).lowered

    program, boxes, reads = parse(lowered.text)

    assert (program, boxes, reads) == (lowered.program, lowered.boxes, lowered.reads)
    assert codec.decode(codec.encode(program)) == program


def ulps(name):
    """Compiled functions may err by some units in the last place, and sums of them by more."""
    return 64 if name in ("mathematics", "error functions") else 0
