"""A wrong call is refused with the same sentence whichever way the program is executed."""

import re

import numpy as np
import pytest

import fieldforge as ff

from ...dimensions import I, J, Line

pytestmark = [
    pytest.mark.filterwarnings("ignore:Program .* runs embedded"),
    pytest.mark.filterwarnings("ignore:A recorded step makes its calls one by one"),
]


@ff.field_operator
def scaled(u: Line, by: float, pair: tuple[Line, float]) -> Line:
    return u(I + 1) * by + pair[0] * pair[1]


@ff.program(backend=ff.cpu)
def scale(u: Line, by: float, pair: tuple[Line, float], out: Line):
    scaled(u, by, pair, out=out)


def line(size=10, dim=I, dtype=np.float64):
    return ff.as_field([dim], np.ones(size, dtype))


def right():
    return {"u": line(11), "by": 2.0, "pair": (line(), 1.0), "out": line()}


TYPES = "Invalid argument types in call to '{name}'.\n"
WRONG = {
    "missing": ({"by": ...}, "{name}() missing 1 required positional argument: 'by'."),
    "two missing": (
        {"u": ..., "pair": ...},
        "{name}() missing 2 required positional arguments: 'u' and 'pair'.",
    ),
    "unknown keyword": ({"pear": 1}, "{name}() got an unexpected keyword argument 'pear'."),
    "dtype": (
        {"u": line(11, dtype=np.int64)},
        TYPES + "Expected argument 'u' to be of type 'Field[[I], float64]', "
        "got 'Field[[I], int64]'.",
    ),
    "scalar": (
        {"by": np.int64(2)},
        TYPES + "Expected argument 'by' to be of type 'float64', got 'int64'.",
    ),
    "dims": (
        {"u": line(11, J)},
        TYPES + "Expected argument 'u' to be of type 'Field[[I], float64]', "
        "got 'Field[[J], float64]'.",
    ),
    "None": (
        {"u": None},
        TYPES + "Expected argument 'u' to be of type 'Field[[I], float64]', got 'NoneType'.",
    ),
    "two leaves of a tuple": (
        {"pair": (line(dtype=np.int64), np.int64(1))},
        TYPES + "Expected argument 'pair.0' to be of type 'Field[[I], float64]', "
        "got 'Field[[I], int64]'.\n"
        "Expected argument 'pair.1' to be of type 'float64', got 'int64'.",
    ),
    "a tuple too short": (
        {"pair": (line(),)},
        TYPES + "Expected argument 'pair' to be a tuple or collection of 2 elements, "
        "got 'tuple[Field[[I], float64]]'.",
    ),
    "no tuple": (
        {"pair": 1.0},
        TYPES + "Expected argument 'pair' to be a tuple or collection of 2 elements, "
        "got 'float64'.",
    ),
    "output of another dtype": (
        {"out": line(dtype=np.int64)},
        TYPES + "Expected argument 'out' to be of type 'Field[[I], float64]', "
        "got 'Field[[I], int64]'.",
    ),
    "input too small": (
        {"u": line(10)},
        "Field 'u' is too small: along 'I' the program reads 1:11, but 'u' covers 0:10.",
    ),
    "input of a tuple too small": (
        {"pair": (line(4), 1.0)},
        "Field 'pair.0' is too small: along 'I' the program reads 0:10, "
        "but 'pair.0' covers 0:4.",
    ),
}  # fmt: skip


PROGRAMS = {
    "embedded": scale.with_backend(None),
    "reference": scale.with_backend("reference"),
    "compiled": scale,
    "checked": scale.checked,
}


def call_bound(*args, out=None, **given):
    """Fix the output, and give the other arguments at the call."""
    scale.bind(out=out)(*args, **given)


def call_with_bound_args(*args, out=None, **given):
    scale.with_bound_args(out=out)(*args, **given)


def call_recorded(**given):
    """Record a right call, then replay it with the fields of the wrong one."""
    own = right()
    with ff.record(u=own["u"], out=own["out"]) as step:
        scale(**own)
    step(u=given["u"], out=given["out"])


EXECUTIONS = {
    **PROGRAMS,
    "bound": call_bound,
    "with bound arguments": call_with_bound_args,
}


def message(call, *args, **kwargs):
    """Return the refusal without its hints."""
    with pytest.raises(ff.errors.FieldforgeError) as error:
        call(*args, **kwargs)
    return error.value.message


def given_with(changes):
    given = right() | changes
    return {name: value for name, value in given.items() if value is not ...}


@pytest.mark.needs_compiler
@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("case", WRONG)
def test_a_program_refuses_a_wrong_call_with_the_same_sentence(case, execution):
    changes, sentence = WRONG[case]

    said = message(EXECUTIONS[execution], **given_with(changes))

    assert said == sentence.format(name="scale")


@pytest.mark.needs_compiler
@pytest.mark.parametrize("backend", [None, "reference", "cpu"])
@pytest.mark.parametrize("case", WRONG)
def test_an_operator_refuses_a_wrong_call_with_the_same_sentence(case, backend):
    changes, sentence = WRONG[case]

    said = message(scaled.with_backend(backend), **given_with(changes))

    assert said == sentence.format(name="scaled")


@pytest.mark.needs_compiler
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_an_argument_given_twice_is_refused_with_the_same_sentence(execution):
    said = message(EXECUTIONS[execution], line(11), **right())

    assert said == "scale() got multiple values for argument 'u'."


@pytest.mark.needs_compiler
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_one_argument_too_many_is_refused_with_the_same_sentence(execution):
    given = right()
    out = {"out": given.pop("out")}
    if "bound" in execution:
        said, count = message(EXECUTIONS[execution], *given.values(), 1, **out), 3
    else:
        said, count = message(EXECUTIONS[execution], *given.values(), *out.values(), 1), 4

    assert said == f"scale() takes {count} positional arguments but {count + 1} were given."


@pytest.mark.needs_compiler
@pytest.mark.parametrize("case", ["dtype", "dims", "input too small", "output of another dtype"])
def test_a_replay_refuses_a_wrong_field_with_the_same_sentence(case):
    changes, sentence = WRONG[case]

    said = message(call_recorded, **given_with(changes))

    assert said == sentence.format(name="scale")


@pytest.mark.needs_compiler
@pytest.mark.parametrize("backend", [None, "reference", "cpu"])
def test_an_output_too_small_for_its_domain_is_refused_with_the_same_sentence(backend):
    given = right() | {"u": line(20), "pair": (line(20), 1.0)}

    said = message(scaled.with_backend(backend), **given, domain={I: (0, 12)})

    assert said == (
        "Field 'out' is too small: along 'I' the program writes 0:12, but 'out' covers 0:10."
    )


@pytest.mark.needs_compiler
@pytest.mark.parametrize("backend", [None, "reference", "cpu"])
def test_a_domain_of_other_dimensions_is_refused_with_the_same_sentence(backend):
    said = message(scaled.with_backend(backend), **right(), domain={J: (0, 2)})

    assert re.search("'out' has 'I', the domain 'J'", said)
