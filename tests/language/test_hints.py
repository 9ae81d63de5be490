"""What an error says to write instead, for mistakes of somebody's first hour."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import ArgumentError, CheckError, DSLError
from fieldforge.runtime.gpu import compiler
from fieldforge.runtime.gpu.errors import KernelCompileError
from fieldforge.runtime.process.errors import MissingOffsetError

from ..dimensions import E2C, C2E2CDim, Cell, Edge, I, J, K, Plane

fp = ff.float64
LV = 2.5e6

pytestmark = pytest.mark.filterwarnings("ignore:Program .* runs embedded")


@ff.field_operator
def scaled(a: Plane, k: ff.float64) -> Plane:
    return a * k


@ff.program(backend=ff.cpu)
def scale(a: Plane, k: ff.float64, out: Plane):
    scaled(a, k, out=out)


@pytest.fixture(params=["cpu", None])
def call(request):
    """Call the program compiled and embedded with `a` and `k`; return the result."""

    def run(a=None, k=2.0):
        out = ff.zeros({I: 4, J: 3})
        a = ff.ones({I: 4, J: 3}) if a is None else a
        scale.with_backend(request.param)(a, k, out)
        return out.asnumpy()

    return run


# --- numbers of a call ------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["cpu", None, "reference"])
@pytest.mark.parametrize(
    ("dtype", "given"),
    [
        ("float32", 60.0),
        ("float32", float("inf")),
        ("float32", 2**24),
        ("float64", 1),
        ("float64", 2**60),
        ("float64", 10**20),
        ("int32", 3.0),
        ("int64", -(2.0**40)),
        ("uint64", 2.0**63),
    ],
)
def test_a_python_number_that_the_type_represents_is_converted(gives, dtype, given):
    plain = getattr(ff, dtype)
    Line = ff.Field[ff.Dims[I], plain]

    @ff.field_operator
    def filled(a: Line, k: plain) -> Line:
        return a + k

    gives([given, given], filled, ff.zeros({I: 2}, dtype=plain), given)


def test_a_bound_static_number_is_converted_too():
    fixed = scale.with_static_params("k")
    out = ff.zeros({I: 4, J: 3})

    fixed.with_bound_args(k=3)(ff.ones({I: 4, J: 3}), out=out)

    assert out.asnumpy().max() == 3.0


@pytest.mark.parametrize(
    ("k", "hint"),
    [
        (np.int64(2), "Convert it: 'float64(k)'."),
        (2**53 + 1, "The number is no 'float64'; round it: 'float64(9007199254740993)'."),
    ],
)
def test_a_number_of_another_type(call, k, hint):
    with pytest.raises(ArgumentError) as error:
        call(k=k)
    assert error.value.hints == (hint,)


# --- fields of a call -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "hint"),
    [
        (
            ff.ones({I: 4, K: 3}),
            "Pass a field over (I, J), or declare 'a' as 'Field[[I, K], float64]'.",
        ),
        (
            ff.ones({I: 4}),
            "Declare 'a' as 'Field[[I], float64]'; an operator spreads it along J, as in "
            "'broadcast(a, (I, J))' or in arithmetic.",
        ),
        (ff.ones({I: 4, J: 3, K: 2}), "Choose one index along 'K': 'a[K(0)]'."),
        (
            ff.ones({J: 3, I: 4}),
            "Make 'a' with its dimensions in the order of the parameter: "
            "'as_field([I, J], a.asnumpy().transpose(1, 0))'.",
        ),
        (
            ff.ones({I: 4, J: 3}, dtype=ff.int64),
            "Fields are never converted: pass 'astype(a, float64)', or declare 'a' as "
            "'Field[[I, J], int64]'.",
        ),
    ],
    ids=["other", "fewer", "more", "order", "dtype"],
)
def test_a_field_of_another_type(call, a, hint):
    with pytest.raises(ArgumentError) as error:
        call(a)
    assert error.value.hints == (hint,)


def test_single_precision_for_double_and_back():
    single, double = ff.ones({I: 4, J: 3}, dtype=ff.float32), ff.ones({I: 4, J: 3})

    with pytest.raises(ArgumentError, match=r"pass 'astype\(a, float64\)'"):
        scale(single, 2.0, double)
    scale(ff.astype(single, ff.float64), 2.0, double)

    assert double.asnumpy().max() == 2.0


def test_an_array_with_other_axes_or_another_type(call):
    xarray = pytest.importorskip("xarray", reason="the extra 'xarray' is not installed")
    other = xarray.DataArray(np.ones((4, 3)), dims=("x", "y"))

    with pytest.raises(ArgumentError) as error:
        call(other)
    assert error.value.hints == (
        "An axis stands for the dimension of its name, and 'a' has the axes 'x', 'y': rename "
        'them, for instance \'a.rename({"x": "I", "y": "J"})\'.',
    )
    assert call(other.rename({"x": "I", "y": "J"})).max() == 2.0
    with pytest.raises(ArgumentError) as error:
        call(xarray.DataArray(np.ones((4, 3), np.float32), dims=("I", "J")))
    assert error.value.hints == ("Convert it: 'a.astype(\"float64\")'.",)


@pytest.mark.parametrize("backend", ["cpu", None, "reference"])
def test_a_table_beside_another_of_a_similar_name(backend):
    @ff.field_operator
    def difference(c: ff.Field[ff.Dims[Cell], ff.float64]) -> ff.Field[ff.Dims[Edge], ff.float64]:
        return c(E2C[0]) - c(E2C[1])

    other = ff.as_connectivity([Cell, C2E2CDim], Cell, np.zeros((3, 3), np.int32))
    with pytest.raises(MissingOffsetError) as error:
        difference.with_backend(backend)(
            ff.ones({Cell: 3}), out=ff.zeros({Edge: 4}), offset_provider={"C2E2C": other}
        )

    assert error.value.hints == (
        "Pass 'offset_provider={\"E2C\": ...}', beside 'C2E2C', with a table made by "
        "'as_connectivity'; of a mesh pass 'mesh.connectivities(E2C)'.",
    )


@pytest.mark.parametrize("backend", ["cpu", None, "reference"])
def test_a_mesh_in_the_place_of_its_tables(backend):
    @ff.field_operator
    def first(c: ff.Field[ff.Dims[Cell], ff.float64]) -> ff.Field[ff.Dims[Edge], ff.float64]:
        return c(E2C[0])

    mesh = ff.Mesh({"E2C": np.zeros((4, 2), np.int32)})
    with pytest.raises(MissingOffsetError) as error:
        first.with_backend(backend)(
            ff.ones({Cell: 3}), out=ff.zeros({Edge: 4}), offset_provider=mesh
        )

    assert error.value.hints[0].endswith("of a mesh pass 'mesh.connectivities(E2C)'.")


# --- operators and programs -------------------------------------------------------------------


def larger(a: Plane, b: Plane) -> Plane:
    return max(a, b)


def smaller(a: Plane, b: Plane) -> Plane:
    return min(a, b)


def sliced(a: Plane) -> Plane:
    return a[1:, :]


def printed(a: Plane) -> Plane:
    print(a)  # noqa: T201 - the mistake
    return a


def latent(a: Plane) -> Plane:
    return a * fp(LV * LV)


def converted(a: Plane) -> Plane:
    return fp(LV * a)


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (larger, "Write 'maximum(a, b)'"),
        (smaller, "Write 'minimum(a, b)'"),
        (sliced, "An operator computes whole fields: shift them, as in 'u(I + 1)'"),
        (printed, "Print after the call, in Python: 'print(out.asnumpy())'."),
        (latent, "Compute the number before the operator, as in 'c = LV * LV', and write 'fp(c)'"),
        (converted, "To convert a value write 'astype(x, float64)'."),
    ],
)
def test_what_an_operator_cannot_do(body, hint):
    with pytest.raises(DSLError) as error:
        ff.field_operator(body)
    assert error.value.hints[0].startswith(hint)


def assigned(a: Plane, b: Plane):
    b = scaled(a, k=2.0)  # noqa: F841 - the mistake


def printed_by_a_program(a: Plane, out: Plane):
    print(a)  # noqa: T201 - the mistake
    scaled(a, 2.0, out=out)


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (assigned, "Results go into parameters of the program: write 'scaled(a, k=2.0, out=b)'."),
        (printed_by_a_program, "Print after the call, in Python"),
    ],
)
def test_what_a_program_cannot_do(body, hint):
    with pytest.raises(DSLError) as error:
        ff.program(backend=ff.cpu)(body)
    assert error.value.hints[0].startswith(hint)


# --- checked calls, compilers ------------------------------------------------------------------


@pytest.mark.parametrize("k", [float("inf"), np.float64("nan")])
def test_a_checked_call_names_the_number_that_is_not_finite(k):
    with pytest.raises(CheckError, match=f"it comes from argument 'k', which is {k}."):
        scale.checked(ff.ones({I: 4, J: 3}), k, ff.zeros({I: 4, J: 3}))


@ff.field_operator
def ratio(a: Plane, b: Plane) -> Plane:
    return ff.where(a > 0.0, a, 0.0) / b


def test_a_checked_call_names_an_input_that_is_not_finite_before_the_operator():
    a = ff.ones({I: 4, J: 3})
    a[I(2), J(1)] = np.nan

    with pytest.raises(CheckError, match="'div' made it of") as error:
        ratio.with_backend("cpu").checked(a, ff.zeros({I: 4, J: 3}), out=ff.zeros({I: 4, J: 3}))

    assert error.value.message.startswith("Argument 'a' is nan at I=2, J=1 before the call. 'out'")


def test_a_missing_compiler_of_kernels_names_packages_of_its_vendor(monkeypatch):
    monkeypatch.setattr(compiler.ctypes, "CDLL", _no_library)

    told = {}
    for find in (compiler.hiprtc, compiler.nvrtc):
        with pytest.raises(KernelCompileError) as error:
            find.__wrapped__()
        told[find.__name__] = str(error.value)

    assert "AMD" in told["hiprtc"]
    assert "fieldforge[gpu]" not in told["hiprtc"]
    assert "fieldforge[gpu]" in told["nvrtc"]


def _no_library(name):
    raise OSError(name)
