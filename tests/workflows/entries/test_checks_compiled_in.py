"""Checked calls whose checks are compiled in: what is found, what passes, what is left."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.constructors import as_connectivity
from fieldforge.errors import CheckError, DomainError
from fieldforge.experimental import as_offset, concat_where
from fieldforge.runtime.fields.field import make
from fieldforge.runtime.process import hooks
from fieldforge.workflows.entries.checked import Checks

from ...dimensions import I, J, K, Koff, Levels, Line, V2EDim

V, E = ff.Dimension("V"), ff.Dimension("E")
V2E = ff.FieldOffset("V2E", source=E, target=(V, V2EDim))
Short = ff.Field[ff.Dims[I], ff.float32]
Counts = ff.Field[ff.Dims[I], ff.int32]
Steps = ff.Field[ff.Dims[I, J, K], ff.int32]
Edges = ff.Field[ff.Dims[E], ff.float64]
Nodes = ff.Field[ff.Dims[V], ff.float64]
Flags = ff.Field[ff.Dims[V], bool]

TABLE = as_connectivity(
    [V, V2EDim], codomain=E, data=np.array([[0, 1], [1, -1]], np.int32), skip_value=-1
)


@pytest.fixture
def compiled_only(monkeypatch):
    """Let no checked call run embedded."""

    def refuse(*_):
        raise AssertionError("A checked call ran embedded.")

    monkeypatch.setattr(Checks, "_run_embedded", refuse)


@pytest.fixture
def embedded_finds_nothing(monkeypatch):
    """Let compiled code alone say what is wrong."""
    monkeypatch.setattr(Checks, "_run_embedded", lambda *_: None)


def line(*values, dtype=np.float64):
    return ff.as_field([I], np.array(values, dtype))


def levels(shape, value=1.0, halo=0):
    i, j, k = shape
    return ff.full({I: (-halo, i + halo), J: (-halo, j + halo), K: k}, value)


# --- numbers ------------------------------------------------------------------------------------


@ff.field_operator
def laplacian(u: Levels) -> Levels:
    return u(I + 1) + u(I - 1) + u(J + 1) + u(J - 1) - 4.0 * u


@ff.field_operator(backend=ff.cpu)
def chain(u: Levels, d: Levels) -> Levels:
    return laplacian(laplacian(u / d))


def test_a_nan_in_the_middle_of_a_fused_chain_is_traced_to_its_operation():
    u, d, out = levels((5, 5, 3), 0.0, 2), levels((5, 5, 3), 1.0, 2), levels((5, 5, 3), 7.0)
    d.ndarray[4, 4, 1] = 0.0

    with pytest.raises(CheckError, match=r"'div' made it of 0\.0 and 0\.0") as caught:
        chain.checked(u, d, out=out)

    assert caught.value.operator == "chain"
    assert caught.value.location is not None
    assert (out.asnumpy() == 7.0).all()


def test_what_is_finite_has_the_bits_of_an_unchecked_call(compiled_only):
    numbers = np.random.default_rng(1).random((9, 9, 3))
    box = {I: (-2, 7), J: (-2, 7), K: 3}
    u, d = ff.as_field(ff.domain(box), numbers), ff.as_field(ff.domain(box), numbers + 1.0)
    plain, checked = levels((5, 5, 3), 0.0), levels((5, 5, 3), 0.0)

    chain(u, d, out=plain)
    chain.checked(u, d, out=checked)

    assert plain.asnumpy().tobytes() == checked.asnumpy().tobytes()


@ff.field_operator(backend=ff.cpu)
def square(a: Line) -> Line:
    return a * a


def test_an_overflow_is_found():
    with pytest.raises(CheckError, match="inf at I=1: 'mul' made it of 1e\\+200"):
        square.checked(line(1.0, 1e200), out=line(0.0, 0.0))


@ff.field_operator(backend=ff.cpu)
def short_square(a: Short) -> Short:
    return a * a


def test_an_overflow_in_single_precision_is_found(compiled_only):
    out = line(0.0, 0.0, dtype=np.float32)

    short_square.checked(line(1.0, 1e19, dtype=np.float32), out=out)

    assert np.isfinite(out.asnumpy()).all()
    with pytest.raises(AssertionError, match="ran embedded"):
        short_square.checked(line(1.0, 1e20, dtype=np.float32), out=out)


@ff.field_operator(backend=ff.cpu)
def guarded(a: Line) -> Line:
    return ff.where(a > 0.0, 1.0 / a, 0.0)


def test_a_division_by_zero_that_nobody_uses_passes(compiled_only):
    out = line(9.0, 9.0)

    guarded.checked(line(0.0, 2.0), out=out)

    assert out.asnumpy().tolist() == [0.0, 0.5]


@ff.field_operator(backend=ff.cpu)
def halved(a: Line) -> Counts:
    return ff.astype(a, ff.int32) // 2


def test_integers_are_not_tested(compiled_only):
    out = line(0, 0, dtype=np.int32)

    halved.checked(line(np.nan, 8.0), out=out)

    assert out.asnumpy()[1] == 4
    assert "note(" not in halved.with_backend(CHECKED).trace()["codegen"].text


CHECKED = ff.cpu.with_options(checked=True)


# '-ffast-math' itself would switch subnormal numbers off for all tests that follow in this process
@pytest.mark.parametrize("options", [{"numerics": "fast"}, {"flags": ("-ffinite-math-only",)}])
def test_flags_that_take_nan_for_impossible_hide_nothing(options):
    fast = square.with_backend(ff.cpu.with_options(**options))
    gather = second.with_backend(ff.cpu.with_options(**options))

    with pytest.raises(CheckError):
        fast.checked(line(np.nan, 1.0), out=line(0.0, 0.0))
    with pytest.raises(CheckError, match="a neighbour that is missing"):
        gather.checked(edges(), out=nodes(), offset_provider={"V2E": TABLE})


# --- indices ------------------------------------------------------------------------------------


@ff.field_operator(backend=ff.cpu)
def second(u: Edges) -> Nodes:
    return u(V2E[1])


@ff.field_operator(backend=ff.cpu)
def second_where(u: Edges, has: Flags) -> Nodes:
    return ff.where(has, u(V2E[1]), 0.0)


@ff.field_operator(backend=ff.cpu)
def second_risen(u: Edges) -> Nodes:
    positive = ff.where(u > 0.0, u, 0.0)
    return positive(V2E[1])


@ff.field_operator(backend=ff.cpu)
def total(u: Edges) -> Nodes:
    return ff.neighbor_sum(u(V2E) * 2.0, axis=V2EDim)


def edges():
    return ff.as_field([E], [1.0, 2.0])


def nodes():
    return ff.as_field([V], [5.0, 5.0])


@pytest.mark.parametrize("operator", [second, second_risen])
def test_a_neighbour_that_is_missing_and_used_is_found(operator):
    out = nodes()

    with pytest.raises(CheckError, match="V=1: it is that of a neighbour that is missing"):
        operator.checked(edges(), out=out, offset_provider={"V2E": TABLE})

    assert out.asnumpy().tolist() == [5.0, 5.0]


def test_compiled_code_sees_a_missing_neighbour_behind_a_condition(embedded_finds_nothing):
    with pytest.raises(CheckError, match="'out' of 'second_risen' is nan at V=1: compiled code"):
        second_risen.checked(edges(), out=nodes(), offset_provider={"V2E": TABLE})


def test_a_neighbour_that_is_missing_and_masked_out_passes(compiled_only):
    out, has = nodes(), ff.as_field([V], np.array([True, False]))

    second_where.checked(edges(), has, out=out, offset_provider={"V2E": TABLE})
    assert out.asnumpy().tolist() == [2.0, 0.0]

    total.checked(edges(), out=out, offset_provider={"V2E": TABLE})
    assert out.asnumpy().tolist() == [6.0, 4.0]


def test_a_table_that_leads_beyond_the_field_is_refused():
    far = as_connectivity([V, V2EDim], codomain=E, data=np.array([[0, 1], [1, 9]], np.int32))
    out = nodes()

    with pytest.raises(DomainError, match="'u' is too small"):
        second.checked(edges(), out=out, offset_provider={"V2E": far})

    assert out.asnumpy().tolist() == [5.0, 5.0]


@ff.field_operator(backend=ff.cpu)
def moved(u: Levels, by: Steps) -> Levels:
    return u(as_offset(Koff, by))


@ff.field_operator(backend=ff.cpu)
def moved_within(u: Levels, by: Steps) -> Levels:
    return concat_where(K < 2, u(as_offset(Koff, by)), 0.0)


@pytest.mark.parametrize("by", [2, -1])
def test_an_offset_that_leads_out_of_the_field_is_found(by):
    steps, out = ff.full({I: 2, J: 2, K: 4}, by, dtype=ff.int32), levels((2, 2, 4), 3.0)

    with pytest.raises(CheckError, match="'as_offset' leads out of the field"):
        moved.checked(levels((2, 2, 4)), steps, out=out)

    assert (out.asnumpy() == 3.0).all()


def test_an_offset_within_the_field_passes(compiled_only):
    steps, out = ff.full({I: 2, J: 2, K: 4}, 2, dtype=ff.int32), levels((2, 2, 4), 3.0)

    moved_within.checked(levels((2, 2, 4)), steps, out=out)

    assert out.asnumpy()[0, 0].tolist() == [1.0, 1.0, 0.0, 0.0]


# --- statements ---------------------------------------------------------------------------------


@ff.field_operator
def inverse(a: Line) -> Line:
    return 1.0 / a


@ff.field_operator
def bounded(a: Line) -> Line:
    return ff.where(a < 10.0, a, 0.0)


@ff.program(backend=ff.cpu)
def in_place(a: Line):
    inverse(a, out=a)


@ff.program(backend=ff.cpu)
def one_after_another(a: Line, b: Line, c: Line):
    inverse(a, out=b)
    bounded(b, out=c)
    bounded(b, out=b)


def test_a_program_in_place_leaves_its_argument_as_it_was():
    a = line(2.0, 0.0, 4.0)

    with pytest.raises(CheckError, match="inf at I=1"):
        in_place.checked(a)

    assert a.asnumpy().tolist() == [2.0, 0.0, 4.0]
    a.ndarray[1] = 1.0
    in_place.checked(a)
    assert a.asnumpy().tolist() == [0.5, 1.0, 0.25]


@pytest.mark.parametrize("backend", [ff.cpu, None])
def test_a_number_that_is_written_over_later_is_found_and_no_statement_counts(backend):
    a, b, c = line(2.0, 0.0), line(7.0, 7.0), line(8.0, 8.0)

    with pytest.raises(CheckError, match="'out' of 'inverse' is inf at I=1"):
        one_after_another.with_backend(backend).checked(a, b, c)

    assert b.asnumpy().tolist() == [7.0, 7.0]
    assert c.asnumpy().tolist() == [8.0, 8.0]


@ff.program
def second_fails(a: Line, b: Line, c: Line):
    bounded(a, out=b)
    inverse(b, out=c)


@pytest.mark.parametrize("backend", [ff.cpu, ff.reference, None])
def test_what_an_earlier_statement_wrote_is_taken_back(backend):
    a, b, c = line(2.0, 0.0), line(7.0, 7.0), line(8.0, 8.0)

    with pytest.raises(CheckError, match="'out' of 'inverse' is inf at I=1"):
        second_fails.with_backend(backend).checked(a, b, c)

    assert b.asnumpy().tolist() == [7.0, 7.0]
    assert c.asnumpy().tolist() == [8.0, 8.0]


def test_the_compiled_report_names_the_output_the_index_and_the_value(embedded_finds_nothing):
    a, b, c = line(2.0, 0.0), line(7.0, 7.0), line(np.nan, 8.0)

    with pytest.raises(CheckError, match="to 'b' of 'one_after_another', and written over:"):
        one_after_another.checked(a, b, c)
    with pytest.raises(CheckError, match="'c' of 'second_fails' is inf at I=1: compiled") as caught:
        second_fails.with_backend(ff.cpu).checked(a, b, c)

    assert (caught.value.index, caught.value.value) == ({I: 1}, np.inf)
    assert b.asnumpy().tolist() == [7.0, 7.0]
    assert np.isnan(c.asnumpy()[0])


def test_what_a_call_does_not_write_is_not_tested(compiled_only):
    out = line(np.nan, np.nan, np.nan)

    square.checked(line(1.0, 2.0, 3.0), out=out, domain={I: (1, 3)})

    assert out.asnumpy()[1:].tolist() == [4.0, 9.0]


@ff.field_operator(backend=ff.cpu)
def both(a: Line) -> tuple[Line, Line]:
    return a + 1.0, 1.0 / a


def test_all_outputs_of_a_statement_are_left_alone():
    first, other = line(7.0, 7.0), line(8.0, 8.0)

    with pytest.raises(CheckError, match="inf at I=0"):
        both.checked(line(0.0, 1.0), out=(first, other))

    assert first.asnumpy().tolist() == [7.0, 7.0]
    assert other.asnumpy().tolist() == [8.0, 8.0]


def test_an_output_that_lies_across_an_input_is_put_back():
    memory = np.array([4.0, 0.0, 2.0, 1.0])
    box = ff.domain({I: 3})
    a, out = (make(part, box) for part in (memory[:3], memory[1:]))

    with pytest.raises(CheckError):
        square_inverse.checked(a, out=out)

    assert memory.tolist() == [4.0, 0.0, 2.0, 1.0]


@ff.field_operator(backend=ff.cpu)
def square_inverse(a: Line) -> Line:
    return 1.0 / (a * a)


# --- scans --------------------------------------------------------------------------------------


@ff.scan_operator(axis=K, forward=True, init=1.0)
def product(above: ff.float64, a: ff.float64) -> ff.float64:
    return above * a


@ff.field_operator(backend=ff.cpu)
def products(a: Levels) -> Levels:
    return product(a)


@pytest.mark.parametrize("layout", ["K contiguous", "I contiguous"])
def test_a_scan_that_overflows_is_found(layout, compiled_only):
    def made():
        array = np.full((3, 4, 5), 1e100, order="C" if layout == "K contiguous" else "F")
        return make(array, ff.domain({I: 3, J: 4, K: 5}))

    a, out = made(), made()
    before = out.asnumpy().copy()

    with pytest.raises(AssertionError, match="ran embedded"):
        products.checked(a, out=out)
    assert (out.asnumpy() == before).all()

    a.ndarray[:, :, 1:] = 2.0
    products.checked(a, out=out)
    assert out.asnumpy()[2, 3, 4] == 1e100 * 16.0


# --- calls --------------------------------------------------------------------------------------


def test_one_thread_and_two_give_the_same_report():
    threaded = chain.with_backend(ff.cpu.with_options(parallel_from=1))
    u, d, out = levels((20, 20, 8), 0.0, 2), levels((20, 20, 8), 1.0, 2), levels((20, 20, 8), 7.0)
    d.ndarray[[5, 9, 20], [20, 9, 5], [3, 2, 1]] = 0.0
    found = []

    for count in (1, 2):
        with ff.threads(count), pytest.raises(CheckError) as caught:
            threaded.checked(u, d, out=out)
        found.append((str(caught.value), caught.value.index))

    assert found[0] == found[1]
    assert (out.asnumpy() == 7.0).all()


def test_the_second_call_builds_nothing():
    built = []
    fresh = in_place.with_backend(ff.cpu)
    hooks.compile_variant_hook.register(lambda *given, **_: built.append(given), name="built")

    try:
        for _ in range(3):
            fresh.checked(line(1.0, 2.0))
    finally:
        hooks.compile_variant_hook.remove("built")

    assert len(built) == 1


def test_the_environment_takes_the_compiled_way(setting, compiled_only):
    a = line(2.0, 4.0)
    setting(check=("in_place",))

    in_place(a)
    assert a.asnumpy().tolist() == [0.5, 0.25]

    a.ndarray[0] = 0.0
    with pytest.raises(AssertionError, match="ran embedded"):
        in_place(a)
    assert a.asnumpy().tolist() == [0.0, 0.25]


def test_checks_are_built_where_calls_may_not_build(compiled_only):
    a = line(2.0, 4.0)

    in_place.with_compilation_options(enable_jit=False).checked(a)

    assert a.asnumpy().tolist() == [0.5, 0.25]


def test_without_a_compiler_checked_calls_run_embedded():
    a = line(2.0, 0.0)
    alone = in_place.with_backend(ff.cpu.with_options(cxx="/nowhere/to/be/found"))

    with pytest.raises(CheckError):
        alone.checked(a)
    a.ndarray[1] = 1.0
    alone.checked(a)

    assert a.asnumpy().tolist() == [0.5, 1.0]


half = 0.5


@ff.field_operator
def scaled(a: Line) -> Line:
    return half * a


@ff.program(backend=ff.cpu)
def scale(a: Line, b: Line):
    scaled(a, out=b)


def test_a_name_that_is_bound_anew_is_seen_by_checked_calls(monkeypatch, compiled_only):
    a, b = line(2.0, 4.0), line(0.0, 0.0)
    scale.checked(a, b)
    assert b.asnumpy().tolist() == [1.0, 2.0]

    monkeypatch.setitem(globals(), "half", 2.0)

    scale.checked(a, b)
    assert b.asnumpy().tolist() == [4.0, 8.0]


def test_a_recorded_step_checks_anew():
    a = line(2.0, 4.0)

    with ff.record(a=a) as step:
        in_place.checked(a)
    assert len(step) == 1
    assert a.asnumpy().tolist() == [0.5, 0.25]

    other = line(1.0, 0.0)
    with (
        pytest.warns(UserWarning, match="one by one"),
        pytest.raises(CheckError, match="inf at I=1"),
    ):
        step(a=other)
    assert other.asnumpy().tolist() == [1.0, 0.0]


def test_outputs_of_many_sizes_are_kept_apart(compiled_only):
    for size in (3, 5, 3):
        a = line(*range(1, size + 1))

        in_place.checked(a)

        assert a.asnumpy().tolist() == [1.0 / n for n in range(1, size + 1)]
