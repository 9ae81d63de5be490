import pytest

from fieldforge.runtime.errors import OptionError
from fieldforge.workflows.precompile import precompile


class Program:
    """Stands for a decorated program."""

    def __init__(self, name, error=None):
        self.__name__ = name
        self.error = error
        self.compiled = []

    def build(self, **static):
        self.compiled.append(static)
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("jobs", [0, 1, 4])
def test_every_program_is_compiled_once(jobs):
    programs = [Program(f"p{number}") for number in range(5)]

    precompile(programs, jobs=jobs)

    assert [program.compiled for program in programs] == [[{}]] * 5


def test_errors_come_together_under_the_names_of_their_programs():
    good, bad, worse = (
        Program("good"),
        Program("bad", ValueError("b")),
        Program("worse", OptionError("w")),
    )

    with pytest.raises(ExceptionGroup, match="2 of 3 programs were not built") as caught:
        precompile([bad, good, worse], jobs=2)

    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["While compiling 'bad'."], ["While compiling 'worse'."],
    ]  # fmt: skip
    assert good.compiled == [{}]


def test_block_waits_for_what_was_added_to_it():
    program = Program("p")

    with precompile(jobs=2) as builds:
        builds.add(program, n=[1])

    assert program.compiled == [{"n": [1]}]


def test_progress_is_told_in_order():
    told = []

    with pytest.raises(ExceptionGroup):
        precompile([Program("a"), Program("b", ValueError())], jobs=2, progress=told.append)

    assert [(each.program, each.done, each.total) for each in told] == [("a", 1, 2), ("b", 2, 2)]
    assert [type(each.error) for each in told] == [type(None), ValueError]


def test_error_inside_the_block_wins_over_those_of_builds():
    def work():
        with precompile(jobs=1) as builds:
            builds.add(Program("p", ValueError()))
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        work()
