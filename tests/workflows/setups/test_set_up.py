"""`setup`: what it compiles in, what calls still give, and mistakes that it names."""

import gc
import inspect
import pickle
import weakref

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.common import _field
from fieldforge.errors import ArgumentError, CheckError, DomainError
from fieldforge.workflows.builds.background import _batches
from fieldforge.workflows.setups.request import SetUpWarning
from fieldforge.workflows.variants.builds import NotCompiledError

from ...dimensions import I, K

Slab = ff.Field[ff.Dims[I, K], ff.float64]


@ff.field_operator
def relaxed(u: Slab, rate: ff.float64, twice: bool) -> Slab:
    new = u(I + 1) * rate
    return new * rate if twice else new


@ff.program(backend=ff.cpu)
def relax(
    u: Slab,
    rate: ff.float64,
    twice: bool,
    out: Slab,
    west: ff.int32,
    east: ff.int32,
    bottom: ff.int32,
    top: ff.int32,
):
    relaxed(u, rate, twice, out=out, domain={I: (west, east), K: (bottom, top)})


SIZES = {
    "horizontal_sizes": {"west": ff.int32(0), "east": ff.int32(4)},
    "vertical_sizes": {"bottom": ff.int32(0), "top": ff.int32(3)},
}


def fields(extent=4):
    numbers = np.arange(15.0).reshape(5, 3) + 1.0
    return ff.as_field([I, K], numbers), ff.zeros({I: extent, K: 3})


def meant(rate, twice):
    u, out = fields()
    relax.with_backend(None)(u, rate, twice, out, 0, 4, 0, 3)
    return out.asnumpy()


def set_up(**more):
    given = {"constant_args": {"rate": 0.5}, "variants": {"twice": [False, True]}} | SIZES | more
    return ff.setup(relax, **given)


def static_of(step):
    return [sorted(dict(variant.static)) for variant in step._table.entries]


def test_vertical_sizes_constants_and_variants_are_compiled_in():
    step = set_up().wait()

    assert static_of(step) == [["bottom", "rate", "top", "twice"]] * 2


def test_values_of_static_args_are_compiled_in_and_given_by_calls():
    step = ff.setup(
        relax, constant_args={"rate": 0.5}, static_args={"twice": [False, True]}, **SIZES
    ).wait()
    u, out = fields()

    assert static_of(step) == [["bottom", "rate", "top", "twice"]] * 2
    assert step.parameters == ("u", "twice", "out")
    with ff.policy("must_hit"):
        for twice in (False, True):
            step(u, twice, out)
            assert np.array_equal(out.asnumpy(), meant(0.5, twice))
    assert "static twice: 2 values: False, True; listed in 'setup'" in step.variants


def test_old_names_of_bound_scalars_are_compiled_in_or_not():
    with pytest.warns(DeprecationWarning, match="'bound.*_args' of 'setup' is deprecated"):
        step = ff.setup(relax, bound_args={"rate": 0.5}, bound_static_args={"twice": True}, **SIZES)
    step.wait()
    u, out = fields()

    step(u, out)

    assert np.array_equal(out.asnumpy(), meant(0.5, True))
    assert static_of(step) == [["bottom", "top", "twice"]]
    assert "static twice: 1 value: True; given in 'bound_static_args'" in step.variants
    assert step.parameters == ("u", "out")


def test_a_tag_chooses_the_backend():
    with pytest.warns(DeprecationWarning, match="'backend_tag' of 'setup' is deprecated"):
        step = set_up(backend_tag="Cpp_CPU")

    assert step.backend is ff.cpu
    assert set_up(backend="Cpp_CPU").backend is ff.cpu
    assert set_up(backend="none").backend is None


def test_no_call_builds_after_the_set_up():
    step = set_up().wait()
    u, out = fields()

    with ff.policy("must_hit"):
        step(u, True, out)
        step(u, False, out)

    assert len(static_of(step)) == 2


def test_set_ups_that_are_dropped_leave_nothing_of_their_builds():
    orders = []
    for rate in (0.25, 0.5, 0.75):
        step = set_up(constant_args={"rate": rate}).wait()
        orders += [weakref.ref(each) for batch in _batches.values() for each in batch.orders]
    del step
    set_up().wait()  # the next one that begins releases those that are done
    gc.collect()

    assert len(orders) >= 3
    assert [each() for each in orders[:-2]] == [None] * len(orders[:-2])


def test_the_table_says_why_an_argument_is_static_and_what_a_value_costs():
    text = set_up().wait().variants

    assert "  static twice: 2 values: False, True; listed in 'setup'\n" in text
    assert "  static top: 1 value: 3; one of the vertical sizes\n" in text
    assert "  static rate: 1 value: 0.5; one of the constants\n" in text
    assert "  a new value compiles a variant, in about " in text
    named = ff.setup(relax, static_args=("rate",), constant_args={"rate": 0.5}, **SIZES).wait()
    assert "static rate: 1 value: 0.5; named in 'static_args'" in named.variants


def test_bound_fields_choose_the_layout_that_is_compiled():
    u, out = fields()
    transposed = _field(np.asfortranarray(u.asnumpy()), domain=u.domain)
    assert transposed.ndarray.strides[0] == 8

    step = set_up(constant_args={"rate": 0.5, "u": transposed}).wait()
    step(True, out)

    assert np.array_equal(out.asnumpy(), meant(0.5, True))
    assert len(static_of(step)) == 2


def test_a_value_outside_the_variants_is_refused_and_named():
    step = set_up(variants={"twice": [False]}).wait()

    needed = r"needs 'twice' = True .compiled: False.*\n.*a value of 'static_args'"
    with pytest.raises(NotCompiledError, match=needed):
        step(fields()[0], True, fields()[1])


def test_an_embedded_set_up_has_nothing_to_build():
    step = set_up(backend=None)
    u, out = fields()

    step.wait()(u, True, out)

    assert np.array_equal(out.asnumpy(), meant(0.5, True))


def test_a_set_up_can_be_pickled():
    step = pickle.loads(pickle.dumps(set_up()))
    u, out = fields()

    step(u, True, out)

    assert np.array_equal(out.asnumpy(), meant(0.5, True))
    assert list(inspect.signature(step).parameters) == ["u", "twice", "out"]


def test_a_checked_call_finds_invalid_numbers():
    step = set_up()
    u, out = fields()
    u.ndarray[2, 1] = np.inf

    with pytest.raises(CheckError, match="'out' of 'relaxed' is inf at I=1"):
        step.checked(u, True, out)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"vertical_sizes": {"botom": 0}}, r"'botom', which is no parameter.*\n.*mean 'bottom'"),
        ({"constant_args": {"rate": 0.5, "top": ff.int32(3)}}, "'top' of 'relax' is given twice"),
        ({"vertical_sizes": {"bottom": 0.5}}, r"'bottom' in 'vertical_sizes'.*'int32'.*'float64'"),
        ({"vertical_sizes": {"rate": 1}, "constant_args": {}}, "'rate' in 'vertical_sizes' is no"),
        (
            {"constant_args": {"rate": 2**53 + 1}},
            r"'rate' in 'constant_args'.* got a 'int64'.\nHint: The number is no 'float64'",
        ),
        ({"constant_args": {"u": ff.zeros({I: 3})}}, r"'u' in 'constant_args'.*Field\[\[I\]"),
        ({"variants": {"twice": True}}, r"takes a list of values, got 'True'"),
        ({"variants": {"twice": []}}, "'twice' in 'variants' of 'relax' has no values"),
        ({"variants": {"twice": [1]}}, "'twice' in 'variants'.*'bool', got a 'int32'"),
        ({"variants": {"u": [ff.zeros({I: 3})]}}, "only scalars of 'relax' have variants"),
        (
            {"static_args": {"twice": True}, "variants": {}},
            r"'twice' in 'static_args' takes a list",
        ),
        ({"static_args": {"twice": [[]]}, "variants": {}}, r"'twice' in 'static_args'.*'bool'"),
        ({"static_args": {"twice": [True]}}, "given twice: in 'variants' and in 'static_args'"),
        ({"static_args": {"vertical": [3]}}, "'static_args' names 'vertical', which is no param"),
        ({"bound_args": {"rate": 0.5}}, "given twice: in 'constant_args' and in 'bound_args'"),
        ({"bound_static_args": {"u": 1.0}}, r"'u' in 'bound_static_args'.*\n.*in 'constant_args'"),
        ({"backend": "cpu", "backend_tag": "cpu"}, "Both 'backend' and 'backend_tag' are given"),
        ({"backend_tag": ff.cpu}, "'backend_tag' takes a text"),
        ({"static_args": ["verticl"]}, r"'verticl'.*\n.*mean 'vertical'"),
        ({"static_args": ["u"]}, "'u' of 'relax' cannot be static"),
    ],
)
@pytest.mark.filterwarnings("ignore:.* of 'setup' is deprecated")
def test_mistakes_are_errors_that_name_them(given, message):
    with pytest.raises(ArgumentError, match=message):
        set_up(**given)


def test_a_static_value_without_bounds_is_warned_of():
    with pytest.warns(SetUpWarning, match="'rate' of 'relax' .float64. is static, but its values"):
        step = set_up(constant_args={}, static_args=["vertical", "rate"])
    u, out = fields()

    step(u, 0.25, True, out)

    assert np.array_equal(out.asnumpy(), meant(0.25, True))


def test_a_float_with_variants_is_warned_of():
    with pytest.warns(SetUpWarning, match="'rate' of 'relax' is a float64 with listed values"):
        set_up(constant_args={}, variants={"rate": [0.5], "twice": [True]})


def test_a_size_that_does_not_match_a_field_is_an_error_that_names_both():
    _, out = fields(extent=3)
    with pytest.raises(DomainError, match=r"'out' is too small: along 'I' .* writes 0:4.*0:3"):
        set_up(constant_args={"rate": 0.5, "out": out}).wait()

    short = ff.zeros({I: 4, K: 3})
    with pytest.raises(DomainError, match=r"'u' is too small: along 'I' .* reads 1:5.*0:4"):
        set_up(constant_args={"rate": 0.5, "u": short}).wait()


def test_python_numbers_become_those_of_the_parameters():
    step = set_up(constant_args={"rate": 2, "twice": True}, variants=None)
    chosen = set_up(constant_args={}, variants={"rate": [2, 3.0], "twice": [True]})
    u, out = fields()

    step(u, out)

    assert [type(step.fixed["rate"]), step.fixed["rate"]] == [np.float64, 2.0]
    assert chosen.request.variants["rate"] == (2.0, 3.0)
    assert np.array_equal(out.asnumpy(), meant(2.0, True))


def test_an_operator_is_refused():
    with pytest.raises(ArgumentError, match="'setup' takes a program, got an object of type 'Fie"):
        ff.setup(relaxed)
