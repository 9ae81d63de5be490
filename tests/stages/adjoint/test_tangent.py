"""`tangent`: programs with tangents, against the tape of embedded execution."""

import inspect
import pickle
import warnings
from typing import NamedTuple

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import float64, where

from ...derivative_cases import CASES, I, Line, copied, in_place, like, program_case, shift, square

BACKENDS = [None, "rows", ff.gpu_host]


def call(program, primals, tangents, provider):
    """Call a tangent with copies of its arguments; return them by name."""
    given = {}
    for name in inspect.signature(program.definition).parameters:
        own = name in primals
        given[name] = copied(primals[name] if own else tangents[name.removesuffix("_d")])
    program(**given, offset_provider=provider)
    return given


@pytest.mark.parametrize("backend", BACKENDS, ids=["interpreted", "rows", "gpu-host"])
@pytest.mark.parametrize("case", CASES)
def test_a_tangent_agrees_with_the_tape(case, backend):
    program, primals, outputs, provider = program_case(case)
    tangents = like(primals, np.random.default_rng(5))
    tangents |= {"out": ff.zeros(primals["out"].domain)} if "out" in primals else {}
    expected = ff.jvp(program, primals, tangents, offset_provider=provider)[1]

    wrt = [name for name, each in tangents.items() if each is not None and name != "out"]
    derived = ff.tangent(program, wrt=wrt).with_backend(backend)
    found = call(derived, primals, tangents, provider)

    for name in outputs:
        np.testing.assert_allclose(
            found[f"{name}_d"].asnumpy(), expected[name].asnumpy(), rtol=1e-13, atol=1e-14
        )


@pytest.mark.parametrize("case", CASES)
def test_the_outputs_keep_their_bits(case):
    program, primals, outputs, provider = program_case(case)
    plain = {name: copied(each) for name, each in primals.items()}
    program.with_backend("rows")(**plain, offset_provider=provider)

    tangents = like(primals, np.random.default_rng(6))
    found = call(ff.tangent(program).with_backend("rows"), primals, tangents, provider)

    for name in outputs:
        assert found[name].asnumpy().tobytes() == plain[name].asnumpy().tobytes()


def test_parameters_are_followed_by_their_tangents():
    names = inspect.signature(ff.tangent(shift, wrt=("u", "dt")).definition).parameters

    assert list(names) == ["u", "u_d", "dt", "dt_d", "out", "out_d"]
    assert list(inspect.signature(ff.tangent(in_place).definition).parameters) == [
        "u", "u_d", "v", "v_d", "n",
    ]  # fmt: skip


def test_a_tangent_of_a_tangent_is_a_second_derivative():
    second = ff.tangent(ff.tangent(square), wrt=("u",), of=("out_d",), names="{}_e")
    u, one = ff.full({I: 2}, 3.0), ff.ones({I: 2})
    out, out_d, out_de = (ff.zeros({I: 2}) for _ in range(3))

    second(u=u, u_e=one, u_d=one, out=out, out_d=out_d, out_d_e=out_de)

    assert out_de.asnumpy().tolist() == [2.0, 2.0]


@pytest.mark.parametrize("backend", BACKENDS, ids=["interpreted", "rows", "gpu-host"])
def test_an_adjoint_of_a_tangent_takes_the_output_for_its_domain(backend):
    second = ff.adjoint(ff.tangent(square), wrt=("u",), of=("out_d",), names="{}_e")
    u, one, u_e = ff.full({I: 2}, 3.0), ff.ones({I: 2}), ff.full({I: 2}, np.nan)

    second.with_backend(backend)(u=u, u_d=one, out=ff.zeros({I: 2}), out_d_e=one, u_e=u_e)

    assert u_e.asnumpy().tolist() == [2.0, 2.0]


def test_the_stage_is_shown():
    trace = ff.tangent(square).trace(until="tangent")

    assert "square_d" in trace["tangent"].text
    assert "input u_d" in trace["tangent"].text


def test_another_backend_keeps_the_derivative():
    derived = ff.tangent(square).with_backend("cpu").with_backend("rows")

    assert "tangent" in derived.backend.workflow.names
    assert derived.with_backend(None).backend.name == "reference"


def test_exactness_reaches_the_stage():

    backend = ff.cpu.with_options(numerics="strict")

    derived = ff.tangent(square).with_backend(backend)

    assert derived.backend.options["tangent.numerics"] == "strict"


def test_a_tangent_can_be_pickled():
    derived = pickle.loads(pickle.dumps(ff.tangent(square)))
    out, out_d = ff.zeros({I: 2}), ff.zeros({I: 2})

    derived(ff.full({I: 2}, 3.0), ff.ones({I: 2}), out, out_d)

    assert out_d.asnumpy().tolist() == [6.0, 6.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"wrt": ("w",)}, "'wrt' names 'w', which is no parameter of 'shift'"),
        ({"of": ("u",)}, "'of' names 'u', which 'shift' does not write"),
        ({"names": "{}"}, "has a parameter 'u', the name of the derivative of 'u'"),
    ],
)
def test_a_wrong_name_is_refused(arguments, message):
    with pytest.raises(ff.errors.DerivativeError, match=message):
        ff.tangent(shift, **arguments)


def test_an_integer_is_refused():
    with pytest.raises(ff.errors.DerivativeError, match="'wrt' names 'n', and 'int32' has no der"):
        ff.tangent(in_place, wrt=("n",))


@ff.field_operator(backend=None)
def of_gamma(u: Line) -> Line:
    return ff.gamma(u)


@ff.program(backend=None)
def with_gamma(u: Line, out: Line):
    of_gamma(u, out=out)


def test_an_operation_without_derivative_is_named():
    fields = [ff.ones({I: 2}) for _ in range(4)]

    with pytest.raises(ff.errors.DerivativeError, match="'gamma' is not there yet"):
        ff.tangent(with_gamma)(*fields)


def test_an_operator_is_refused():
    with pytest.raises(ff.errors.DerivativeError, match="'of_gamma' is an operator"):
        ff.tangent(of_gamma)


@ff.field_operator(backend=None)
def guarded(u: Line) -> Line:
    inverse = ff.where(u > 0.0, 1.0 / u, 0.0)
    return inverse + ff.where(u > 0.0, ff.sqrt(u), 0.0) + ff.sqrt(u * u) + ff.minimum(1.0 / u, 5.0)


@ff.program(backend=None)
def with_guards(u: Line, out: Line):
    guarded(u, out=out)


def test_nothing_leaks_from_an_untaken_branch():
    out, out_d = ff.zeros({I: 2}), ff.zeros({I: 2})

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ff.tangent(with_guards)(ff.as_field([I], [0.0, 4.0]), ff.ones({I: 2}), out, out_d)

    np.testing.assert_allclose(out_d.asnumpy(), [0.0, -1 / 16 + 1 / 4 + 1.0 - 1 / 16])


class Mixed(NamedTuple):
    flag: ff.Field[ff.Dims[I], bool]
    value: ff.Field[ff.Dims[I], float64]


@ff.field_operator(backend=None)
def twice(u: ff.Field[ff.Dims[I], float64]) -> ff.Field[ff.Dims[I], float64]:
    return 2.0 * u


@ff.field_operator(backend=None)
def value_of(both: Mixed) -> ff.Field[ff.Dims[I], float64]:
    return where(both.flag, both.value, 0.0)


@ff.program(backend=None)
def through_mixed(
    u: ff.Field[ff.Dims[I], float64], both: Mixed, out: ff.Field[ff.Dims[I], float64]
):
    twice(u, out=both.value)
    value_of(both, out=out)


def test_what_has_no_place_for_its_tangent_is_refused():
    given = {"u": ff.ones({I: 3}), "out": ff.zeros({I: 3})}
    both = Mixed(ff.full({I: 3}, True), ff.zeros({I: 3}))
    moved = {"u_d": ff.ones({I: 3}), "out_d": ff.zeros({I: 3})}

    with pytest.raises(ff.errors.DerivativeError, match=r"writes 'both\.1' and reads it again"):
        ff.tangent(through_mixed, wrt=("u",))(**given, **moved, both=both)
