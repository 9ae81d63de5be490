"""`compile`, static parameters, offset providers, grid types: what a decorated object offers."""

import types

import numpy as np
import pytest

from fieldforge.runtime.embedded.builtins import astype, float64, int32, neighbor_sum
from fieldforge.runtime.fields.constructors import as_connectivity, as_field, full, zeros
from fieldforge.runtime.fields.field import Field, make
from fieldforge.runtime.language.connectivity import FieldOffset
from fieldforge.runtime.language.domain import domain
from fieldforge.runtime.process.errors import OptionError
from fieldforge.workflows.builds.background import wait_for_compilation
from fieldforge.workflows.entries.decorators import field_operator, program, scan_operator
from fieldforge.workflows.variants import builds as variant_builds
from fieldforge.workflows.variants.builds import NotCompiledError, Variants

from ...dimensions import C2EDim, Cell, Edge, I, K, Line

C2E = FieldOffset("C2E", Edge, (Cell, C2EDim))
ON = ["reference", pytest.param("cpu", marks=pytest.mark.needs_compiler)]
constants = types.ModuleType("constants")
constants.FACTOR = 2.0
constants.real = float64


@field_operator(backend=None)
def times(u: Line, n: int32, flag: bool) -> Line:
    return u * astype(n, float64) if flag else u


@program(backend=None)
def multiply(u: Line, n: int32, flag: bool, out: Line):
    times(u, n, flag, out=out)


@field_operator(backend=None)
def around(e: Field[[Edge], float64]) -> Field[[Cell], float64]:
    return neighbor_sum(e(C2E), axis=C2EDim)


@program(backend=None)
def gather(e: Field[[Edge], float64], out: Field[[Cell], float64]):
    around(e, out=out)


@scan_operator(axis=K, forward=True, init=0.0, backend=None)
def total(state: float64, x: float64, by: float64) -> float64:
    return state + x * by


@field_operator(backend=None)
def scaled(u: Line) -> Line:
    return u * constants.FACTOR


def ones():
    return full({I: 3}, 1.0), zeros({I: 3})


def table(*rows):
    return as_connectivity([Cell, C2EDim], Edge, np.array(rows))


@pytest.mark.needs_compiler
def test_a_program_that_was_called_natively_takes_no_static_values_later():
    made = multiply.with_backend("cpu")
    u, out = ones()
    made(u, 2, True, out)

    with pytest.raises(ValueError, match="The static parameters of 'multiply' are none, got 'n'"):
        made.compile(n=[1])


def test_failures_in_the_background_are_told_once(monkeypatch):

    def fail(*_):
        raise OptionError("No disk.")

    wait_for_compilation()
    monkeypatch.setattr(variant_builds, "build", fail)
    multiply.with_backend("reference").compile(n=[1])
    times.with_backend("reference").compile(n=[1])

    with pytest.raises(ExceptionGroup) as caught:
        wait_for_compilation()
    assert [str(error) for error in caught.value.exceptions] == ["No disk."] * 2
    wait_for_compilation()


def test_a_call_waits_for_its_variant_and_a_failed_one_is_built_again(monkeypatch):

    def fail(*_):
        raise OptionError("No disk.")

    u, out = ones()
    with monkeypatch.context() as patch:
        patch.setattr(variant_builds, "build", fail)
        made = multiply.with_backend("reference").compile()
        with pytest.raises(OptionError, match="No disk"):
            made(u, 2, True, out)
    wait_for_compilation()

    made(u, 2, True, out)

    assert out.asnumpy().tolist() == [2.0] * 3


@pytest.mark.parametrize("on", ON)
def test_other_tables_of_the_same_width_need_no_other_variant(on, seen, own_engine):
    made = gather.with_backend(on)
    e = as_field([Edge], [1.0, 2.0, 4.0, 8.0])
    few, many = table([0, 1]), table([0, 1], [1, 2], [2, 3])

    results = []
    for provider in ({"C2E": few}, {"C2E": many, "E2C": 3, "Koff": K}, {"C2E": table([0, -1])}):
        out = zeros({Cell: provider["C2E"].shape[0]})
        made(e, out, offset_provider=provider)
        results.append(out.asnumpy().tolist())

    assert results == [[3.0], [3.0, 6.0, 12.0], [1.0]]
    assert len(seen.ran("lower")) == 2
    assert "table C2E: 2 neighbours, some missing" in made.variants


@pytest.mark.parametrize("on", ON)
def test_a_scan_called_directly_is_built_for_the_dimensions_of_its_arguments(on):
    x, column = as_field([K], [1.0, 2.0, 3.0]), zeros({K: 3})
    plane, result = full({I: 2, K: 3}, 1.0), zeros({I: 2, K: 3})
    scan = total.with_backend(on)

    def call():
        scan(x, 2.0, out=column)
        scan(by=x, x=plane, out=result)
        scan(1.0, 1.0, out=column, domain={K: (1, 3)})

    with pytest.warns(UserWarning, match="'total' is called directly") as seen:
        call()

    assert [warning.filename for warning in seen] == [__file__] * 3
    assert column.asnumpy().tolist() == [2.0, 1.0, 2.0]
    assert result.asnumpy().tolist() == [[1.0, 3.0, 6.0]] * 2


def test_scans_are_compiled_by_those_that_call_them():
    with pytest.raises(NotImplementedError, match="takes arguments of any dimensions"):
        total.with_backend("reference").compile()


@pytest.mark.parametrize("on", ["reference"])
def test_a_type_that_is_bound_anew_before_the_first_build_counts(on, monkeypatch):
    @field_operator(backend=None)
    def doubled(u: "Field[[I], constants.real]") -> "Field[[I], constants.real]":
        return u * constants.real("2.0")

    made = doubled.with_backend(on)
    monkeypatch.setattr(constants, "real", np.float32)
    u, out = full({I: 3}, np.float32(1)), zeros({I: 3}, dtype=np.float32)

    made(u, out=out)

    assert out.asnumpy().tolist() == [2.0] * 3


@pytest.mark.needs_compiler
def test_a_native_program_notices_when_it_builds(monkeypatch):
    @program(backend="cpu")
    def scale(u: Line, out: Line):
        scaled(u, out=out)

    u, out = ones()
    scale(u, out)
    monkeypatch.setattr(constants, "FACTOR", 7.0)
    wide = full({I: 6}, 1.0).ndarray[::2]

    scale(make(wide, domain({I: 3})), out)

    assert out.asnumpy().tolist() == [7.0] * 3
    scale(u, out)
    assert out.asnumpy().tolist() == [7.0] * 3


@pytest.mark.needs_compiler
def test_a_build_that_ends_while_a_call_asks_for_it_is_taken(monkeypatch):
    """The call looked before the entry was there, and asks when it is."""
    run = multiply.with_backend("cpu").with_compilation_options(enable_jit=False)
    asked = Variants.variant

    def while_another_thread_builds(self, *given):
        variant = asked(self, *given)
        self.entry(variant)
        return variant

    monkeypatch.setattr(Variants, "variant", while_another_thread_builds)
    out = zeros({I: 3})

    run(as_field([I], np.arange(3.0)), int32(2), True, out)

    assert out.asnumpy().tolist() == [0.0, 2.0, 4.0]
    assert len(run._variants.table.entries) == 1


@pytest.mark.needs_compiler
def test_another_layout_of_the_fields_needs_no_jit():
    """Models compile in advance and switch it off, and pass views that are not contiguous."""
    run = multiply.with_backend("cpu").with_compilation_options(enable_jit=False)
    run.compile(n=[int32(2)], flag=[True])
    every_second = make(np.arange(6.0)[::2], domain({I: 3}))
    out = zeros({I: 3})

    run(every_second, int32(2), True, out)

    assert out.asnumpy().tolist() == [0.0, 4.0, 8.0]
    with pytest.raises(NotCompiledError, match="n=3"):
        run(every_second, int32(3), True, out)
