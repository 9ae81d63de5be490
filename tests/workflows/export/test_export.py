"""Exported libraries: the same numbers and refusals as a call in Python, from C and Fortran."""

import ctypes
import itertools
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import fieldforge as ff
from fieldforge.errors import OptionError, OverlapError
from fieldforge.examples import nabla
from fieldforge.examples.exported import model as example
from fieldforge.examples.icosahedral import E2VDim, Edge, K as Level, V2EDim, Vertex, icosahedral
from fieldforge.stages.sizes import Patches
from fieldforge.workflows.commands.cli import main
from fieldforge.workflows.export import export as exporting
from fieldforge.workflows.export.program import DTYPES

from ...dimensions import I, J, K, Levels, Plane
from ...processes import python
from ...selection import NONE

SOURCES = Path(example.__file__).parent
OK, ARGUMENT, DOMAIN, LAYOUT, NOT_EXPORTED, OVERLAP, TABLE, NOT_FINITE, BEYOND = range(9)
pytestmark = pytest.mark.needs_compiler
no_fortran = pytest.mark.skipif(
    shutil.which("gfortran") is None, reason="there is no Fortran compiler: install gfortran"
)


@ff.field_operator
def added(u: Plane, v: Plane, by: float) -> Plane:
    return u + v * by


@ff.program
def add(u: Plane, v: Plane, by: float, out: Plane):
    added(u, v, by, out=out)


@ff.field_operator
def around(u: Plane) -> Plane:
    return u(I + 1) + u(I - 1)


@ff.program
def two_steps(u: Plane, middle: Plane, out: Plane):
    around(u, out=middle)
    around(middle, out=out, domain={I: (0, 4), J: (0, 3)})


@ff.scan_operator(axis=K, forward=True, init=0.0)
def summed(state: float, a: float) -> float:
    return state + a


@ff.field_operator
def summed_up(u: Levels) -> Levels:
    return summed(u) * 0.5


@ff.program
def sum_up(u: Levels, out: Levels, n: ff.int32):
    summed_up(u, out=out, domain={I: (0, n), J: (0, 3), K: (0, 4)})


@ff.field_operator
def pair(u: Plane) -> tuple[Plane, tuple[Plane, Plane]]:
    return u, (u + 1.0, u + 2.0)


@ff.program
def split(u: Plane, new: tuple[Plane, tuple[Plane, Plane]]):
    pair(u, out=new)


@ff.field_operator
def inner(u: Plane, is_last: ff.Field[ff.Dims[I], bool], by: float) -> Plane:
    return ff.where(is_last, by, u(I + 1))


@ff.program
def lower(u: Plane, is_last: ff.Field[ff.Dims[I], bool], by: float, out: Plane):
    inner(u, is_last, by, out=out)


PLAIN = (add, two_steps, sum_up, split)


class CField(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("start", ctypes.c_int64 * 8),
        ("extent", ctypes.c_int64 * 8),
        ("stride", ctypes.c_int64 * 8),
    ]


def described(field):
    """Describe a field of ours, or a table, as C does."""
    array = field.ndarray
    made = CField(array.ctypes.data, DTYPES.index(array.dtype.name), array.ndim)
    for axis, (ends, stride) in enumerate(zip(field.domain.ranges, array.strides, strict=True)):
        made.start[axis], made.extent[axis] = ends.start, len(ends)
        made.stride[axis] = stride // array.itemsize
    return made


class Loaded:
    def __init__(self, files):
        self.name, self.header = files.name, files.header
        self.library = ctypes.CDLL(str(files.library))
        self.message = getattr(self.library, f"{files.name}_message")
        self.message.restype = ctypes.c_char_p

    def __call__(self, function, *args):
        given = [
            ctypes.byref(described(each)) if hasattr(each, "domain") else each for each in args
        ]
        code = getattr(self.library, f"{self.name}_{function}")(*given)
        return code, self.message().decode() if code else ""


_numbers = itertools.count()


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Export programs; tests share the library of all that need no arguments.

    The example's library is optimised (`small`), the wrappers and programs of these are not.
    """
    made = []

    def export(*programs, **more):
        name = f"lib{os.getpid()}_{next(_numbers)}"  # a library that is loaded stays so
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exporting, "_OPTIONS", (*exporting._OPTIONS, *NONE))
            made = ff.export(*programs, to=tmp_path_factory.mktemp(name), name=name, **more)
        return Loaded(made)

    def make(*programs, **more):
        if more or not set(programs) <= set(PLAIN):
            return export(*programs, **more)
        if not made:
            made.append(export(*PLAIN))
        return made[0]

    return make


@pytest.fixture(scope="module")
def in_any_layout(exported):
    return exported(add, layouts=["first", "any"])


@pytest.fixture(scope="module")
def with_static(exported):
    """Give a library of programs with a static parameter each."""
    values = {"limited": [False, True], "by": [0.1], "n": [np.int32(2), np.int32(4)]}
    return exported(example.diffuse, add, sum_up, static=values)


def plane(*domain, seed=1):
    (a, b), (c, d) = domain
    values = np.random.default_rng(seed).integers(-9, 9, (b - a, d - c)) / 4.0
    return ff.as_field({I: (a, b), J: (c, d)}, np.asfortranarray(values))


def real(value):
    return ctypes.c_double(value)


@pytest.mark.parametrize("threads", [1, 3])
def test_numbers_are_those_of_python(exported, threads):
    library = exported(two_steps)
    library.library[f"{library.name}_set_threads"](threads)
    u = plane((-2, 7), (0, 3))
    fields = [[ff.zeros({I: (-1, 6), J: 3}), ff.zeros({I: (0, 5), J: 3})] for _ in range(2)]

    code, _ = library("two_steps", u, *fields[0])
    two_steps.with_backend(None)(u, *fields[1], offset_provider={})

    assert code == OK
    for found, expected in zip(*fields, strict=True):
        assert np.array_equal(found.asnumpy(), expected.asnumpy())


def test_a_read_beyond_a_field_that_where_hides_is_made_in_the_field(exported):
    library = exported(lower)
    is_last = ff.as_field([I], np.arange(4) == 3)

    for extent in (5, 4):
        u, out, expected = plane((0, extent), (0, 3)), *(ff.zeros({I: 4, J: 3}) for _ in range(2))
        assert library("lower", u, is_last, real(0.5), out)[0] == OK
        lower.with_backend("cpu")(u, is_last, 0.5, expected)
        assert np.array_equal(out.asnumpy(), expected.asnumpy())


def test_scans_and_integers_work(exported):
    library = exported(sum_up)
    u = ff.as_field({I: 5, J: 3, K: 4}, np.random.default_rng(2).random((5, 3, 4)))
    out, expected = ff.zeros({I: 5, J: 3, K: 4}), ff.zeros({I: 5, J: 3, K: 4})

    code, message = library("sum_up", u, out, 4)
    sum_up.with_backend(None)(u, expected, np.int32(4))

    assert code == OK, message
    assert np.array_equal(out.asnumpy(), expected.asnumpy())
    assert library("sum_up", u, out, 6)[0] == DOMAIN


def test_an_output_that_is_smaller_than_the_others_is_named(exported):
    u, outs = plane((0, 3), (0, 2)), [ff.zeros({I: size, J: 2}) for size in (3, 2, 3)]

    code, message = exported(split)("split", u, *outs)

    assert code == DOMAIN
    assert message == (
        "Field 'new.1.0' is too small: along 'I' it covers 0:2, but 'new.0' covers 0:3, and "
        "'split' writes both on the same range."
    )


def test_tuples_are_several_parameters(exported):
    library = exported(split)
    u, outs = plane((0, 3), (0, 2)), [ff.zeros({I: 3, J: 2}) for _ in range(3)]

    assert library("split", u, *outs)[0] == OK

    for number, out in enumerate(outs):
        assert np.array_equal(out.asnumpy(), u.asnumpy() + number)


def test_a_field_that_is_too_small_is_told_with_the_words_of_python(exported):
    library = exported(add)
    u, small, out = plane((0, 4), (0, 3)), plane((0, 3), (0, 3)), ff.zeros({I: 4, J: 3})

    code, message = library("add", u, small, real(2.0), out)

    assert code == DOMAIN
    assert message == ("Field 'v' is too small: along 'I' 'add' reads 0:4, but 'v' covers 0:3.")
    assert not out.asnumpy().any()


def test_memory_that_is_shared_is_refused_where_the_program_is_not_pointwise(exported):
    library = exported(add, two_steps)
    u, v = plane((0, 4), (0, 3)), plane((0, 4), (0, 3), seed=2)
    before = u.asnumpy().copy()

    assert library("add", u, v, real(2.0), u)[0] == OK  # the very same points
    assert np.array_equal(u.asnumpy(), before + 2.0 * v.asnumpy())
    whole = plane((-2, 7), (0, 3))
    view = ff.zeros({I: (-1, 6), J: 3})
    shifted = described(view)
    shifted.data = whole.ndarray.ctypes.data + 8
    function = library.library[f"{library.name}_two_steps"]
    out = described(ff.zeros({I: (0, 5), J: 3}))
    code = function(ctypes.byref(described(whole)), ctypes.byref(shifted), ctypes.byref(out))
    assert code == OVERLAP
    assert "writes 'middle', which shares memory with 'u'" in library.message().decode()


def test_interleaved_fields_share_no_memory(in_any_layout):
    library = in_any_layout
    both = np.zeros((2, 4, 3))
    one, other = both[0], both[1]
    mixed = np.zeros((4, 3, 2))
    u, out = (described(ff.as_field({I: 4, J: 3}, one)) for _ in range(2))
    for field, number in ((u, 0), (out, 1)):
        field.data = mixed.ctypes.data + 8 * number
        field.stride[0], field.stride[1] = 6, 2
    mixed[..., 0] = 3.0
    v = described(ff.as_field({I: 4, J: 3}, other))
    function = library.library[f"{library.name}_add"]

    code = function(*map(ctypes.byref, (u, v)), real(1.0), ctypes.byref(out))

    assert code == OK, library.message()
    assert (mixed[..., 1] == 3.0).all()


@pytest.mark.parametrize(
    ("strides", "starts"), [((0, 1), (0, 0)), ((1, 1), (0, 0)), ((1, 3), (0, 0)), ((-1, 3), (3, 0))]
)
def test_an_output_whose_elements_share_memory_is_refused_with_the_words_of_python(
    exported, in_any_layout, strides, starts
):
    u, out = plane((0, 4), (0, 3)), described(ff.zeros({I: 4, J: 3}))
    out.stride[0], out.stride[1] = strides
    memory = np.zeros(16)
    out.data = memory[starts[0] :].ctypes.data
    function = in_any_layout.library[f"{in_any_layout.name}_add"]

    code = function(*map(ctypes.byref, map(described, (u, u))), real(1.0), ctypes.byref(out))

    message = in_any_layout.message().decode()
    array = np.lib.stride_tricks.as_strided(
        memory[starts[0] :], (4, 3), [8 * each for each in strides]
    )
    with pytest.raises(OverlapError) as refused:
        add.with_backend(ff.cpu)(u, u, 1.0, array)
    assert (code, message) == (OVERLAP, str(refused.value).splitlines()[0])
    assert not memory.any()


def test_columns_that_lie_apart_are_written(in_any_layout):
    memory = np.zeros((4, 4))
    u, out = plane((0, 4), (0, 3)), described(ff.zeros({I: 4, J: 3}))
    out.data, out.stride[0], out.stride[1] = memory[:, 3:].ctypes.data, 4, -1
    function = in_any_layout.library[f"{in_any_layout.name}_add"]

    assert function(*map(ctypes.byref, map(described, (u, u))), real(1.0), ctypes.byref(out)) == OK
    assert np.array_equal(memory[:, :0:-1], 2.0 * u.asnumpy())


FORKED = """
import ctypes, os, sys
sys.path.insert(0, {root!r})
import fieldforge as ff
from {module} import I, J, described, plane
library = ctypes.CDLL({path!r})
u = ff.ones({{I: 64, J: 4096}})
out = ff.zeros({{I: 64, J: 4096}})
def call():
    given = [ctypes.byref(described(each)) for each in (u, u, out)]
    assert library.{name}_add(*given[:2], ctypes.c_double(1.0), given[2]) == 0
def threads():
    return len(os.listdir("/proc/self/task"))
before = threads()
library.{name}_set_threads(4)
call()
more = threads() - before
child = os.fork()
if child == 0:
    call()
    call()
    os._exit(threads() if (out.asnumpy() == 2.0).all() else 99)
print(more, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), threads() - before)
"""


@pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="only Linux lists the threads of a process"
)
def test_a_forked_process_calls_with_threads_of_its_own(in_any_layout):
    script = FORKED.format(
        root=str(Path(__file__).parents[3]), module=__name__,
        path=in_any_layout.library._name, name=in_any_layout.name,
    )  # fmt: skip

    done = python("-W", "ignore", "-c", script, timeout=120)

    assert done.stdout.split() == ["3", "4", "3"], done.stderr


def test_other_types_ranks_and_missing_fields_are_refused(exported):
    library = exported(add)
    u, out = plane((0, 4), (0, 3)), ff.zeros({I: 4, J: 3})
    single = ff.zeros({I: 4, J: 3}, dtype=np.float32)
    line = ff.zeros({I: 4})

    assert library("add", u, single, real(1.0), out) == (
        ARGUMENT,
        "Argument 'v' of 'add' must be a field of float64, got float32.",
    )
    assert library("add", u, line, real(1.0), out) == (
        ARGUMENT,
        "Argument 'v' of 'add' must have 2 dimensions, got 1.",
    )
    assert library("add", u, None, real(1.0), out) == (
        ARGUMENT,
        "Argument 'v' of 'add' is a null pointer.",
    )


def test_layouts_that_were_not_exported_are_refused(exported, in_any_layout):
    u = described(plane((0, 4), (0, 3)))
    rows = np.arange(12.0).reshape(4, 3)
    c_order = described(plane((0, 4), (0, 3)))
    c_order.data, c_order.stride[0], c_order.stride[1] = rows.ctypes.data, 3, 1
    out = described(ff.zeros({I: 4, J: 3}))

    def code(library):
        function = library.library[f"{library.name}_add"]
        return function(*map(ctypes.byref, (u, c_order)), real(1.0), ctypes.byref(out))

    first = exported(add, layouts="first")
    assert code(first) == LAYOUT
    assert "stride 1 is expected of 'u' along 'I'" in first.message().decode()
    assert code(in_any_layout) == OK


def test_values_of_static_parameters_choose_the_variant(with_static):
    library = with_static
    u = ff.as_field({example.I: (-1, 5), example.J: (-1, 4)}, -np.ones((6, 5)))
    for limited in (False, True):
        out = ff.ones({example.I: 4, example.J: 3})
        assert library("diffuse", u, real(0.1), ctypes.c_bool(limited), out)[0] == OK
        assert (out.asnumpy() == (0.0 if limited else -1.0)).all()


def test_a_static_parameter_with_one_value_is_not_given(with_static):
    library = with_static
    u, v, out = plane((0, 4), (0, 3)), plane((0, 4), (0, 3), seed=5), ff.zeros({I: 4, J: 3})

    assert library("add", u, v, out)[0] == OK

    expected = ff.zeros({I: 4, J: 3})
    add.with_backend(None)(u, v, 0.1, expected)
    assert np.array_equal(out.asnumpy(), expected.asnumpy())
    assert "compiled in: by = 0.1" in library.header.read_text()


def test_a_value_that_was_not_exported_is_refused(with_static):
    library = with_static
    u, out = (ff.zeros({I: 5, J: 3, K: 4}) for _ in range(2))

    assert library("sum_up", u, out, 4)[0] == OK
    assert library("sum_up", u, out, 3) == (
        NOT_EXPORTED,
        "'sum_up' was not exported for these values of n.",
    )


def test_a_set_up_brings_its_sizes(exported, own_engine):
    step = ff.setup(
        sum_up, backend="cpu", horizontal_sizes={"n": ff.int32(4)}, static_args="horizontal",
        precompile=False,
    )  # fmt: skip
    library = exported(step)
    u, out = ff.ones({I: 5, J: 3, K: 4}), ff.zeros({I: 5, J: 3, K: 4})

    assert library("sum_up", u, out)[0] == OK
    assert out.asnumpy()[3, 0].tolist() == [0.5, 1.0, 1.5, 2.0]
    assert not out.asnumpy()[4].any()


def test_tables_are_checked(exported):
    library = exported(example.average, offset_provider=example.ring())
    domain = {example.Cell: (1, 7), example.K: 3}
    u, out = ff.ones(domain), ff.zeros(domain)
    table = example.ring()["C2C"]

    assert library("average", u, out, 0, 3, table)[0] == OK
    assert np.array_equal(out.asnumpy(), u.asnumpy())

    def refused(entries):
        library.library[f"{library.name}_forget_tables"]()
        changed = ff.as_connectivity(table.domain, example.Cell, entries, skip_value=-1)
        return library("average", u, out, 0, 3, changed)

    beyond, missing = table.asnumpy().copy(), table.asnumpy().copy()
    beyond[2, 1], missing[3, 0] = 9, -1
    assert refused(beyond)[0] == DOMAIN
    code, message = refused(missing)
    assert code == TABLE
    assert "has missing entries" in message


def test_nests_in_portions_of_a_mesh_are_exported_one_by_one(exported):
    mesh = icosahedral(3, 0)
    provider = {name: mesh.connectivities()[name] for name in ("E2V", "V2E")}
    backend = ff.cpu.with_options(patches=Patches(elements=64, portion=64, least_bytes=1))
    library = exported(nabla.nabla2.with_backend(backend), offset_provider=provider)
    rng = np.random.default_rng(1)
    domains = (
        {Edge: mesh.edges, Level: 5},
        {Vertex: mesh.vertices, V2EDim: 6},
        {Edge: mesh.edges, E2VDim: 2},
    )
    fields = [ff.as_field(each, rng.random(tuple(each.values()))) for each in domains]
    expected, out = ff.zeros(domains[0]), ff.zeros(domains[0])
    nabla.nabla2.with_backend("reference")(*fields, expected, offset_provider=provider)

    assert library("nabla2", *fields, out, *provider.values())[0] == OK
    assert np.array_equal(out.asnumpy(), expected.asnumpy())


def test_checks_that_were_compiled_in_give_their_code(exported):
    checked = add.with_backend(ff.cpu.with_options(checked=True))
    library = exported(checked)
    u, v, out = plane((0, 4), (0, 3)), plane((0, 4), (0, 3)), ff.zeros({I: 4, J: 3})
    v.ndarray[1, 1] = 1e300

    assert library("add", u, v, real(1.0), out)[0] == OK
    assert library("add", u, v, real(1e300), out) == (
        NOT_FINITE,
        "'add' wrote a number to 'out' that is not finite.",
    )


def test_mistakes_are_errors(tmp_path):
    with pytest.raises(OptionError, match="'static' names 'byy'") as caught:
        ff.export(add, to=tmp_path, static={"byy": [1.0]})
    assert "Did you mean 'by'?" in str(caught.value)
    with pytest.raises(OptionError, match="is an identifier, got 'my-model'"):
        ff.export(add, to=tmp_path, name="my-model")
    with pytest.raises(OptionError, match="Two programs are called 'add'"):
        ff.export(add, add, to=tmp_path)
    with pytest.raises(OptionError, match="no layout 'frist'"):
        ff.export(add, to=tmp_path, layouts="frist")
    with pytest.raises(OptionError, match="got a 'FieldOperator'"):
        ff.export(added, to=tmp_path)
    assert list(tmp_path.iterdir()) == []


# --- the examples, as docs/models.md has them -------------------------------------------------


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    file = SOURCES / "model.py"
    words = ["export", f"{file}:diffuse", f"{file}:average", "--tables", ":ring"]
    words += ["--static", "limited=false,true", "--layout", "first", "--name", "small"]
    result = CliRunner().invoke(main, [*words, "-o", str(folder / "lib")])
    assert result.exit_code == 0, result.output
    return folder


def run(folder, *command):
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    done = subprocess.run(
        [f"./{command[-1]}"], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()


LINKED = ("-Ilib", "-Llib", "-lsmall", "-Wl,-rpath,lib", "-o")


def stepped(backend):
    """Return what `from_c.c` computes; fused products and sums are those of the reference."""
    i, j = np.meshgrid(np.arange(8), np.arange(8), indexing="ij")
    now, new = (ff.zeros({example.I: (-1, 9), example.J: (-1, 9)}) for _ in range(2))
    now.ndarray[1:-1, 1:-1] = (i * 7 + j * 3) % 5 - 1.0
    for step in range(4):
        inner = ff.zeros({example.I: 8, example.J: 8})
        example.diffuse.with_backend(backend)(now, 0.1, step % 2 == 1, inner)
        new.ndarray[1:-1, 1:-1] = inner.ndarray
        now, new = new, now
    return now.asnumpy()[1:-1, 1:-1]


def test_the_model_in_c_has_the_numbers_of_embedded_execution(small):
    lines = run(small, "cc", "-std=c11", "-Wall", "-Wextra", "-Werror", str(SOURCES / "from_c.c"),
                *LINKED, "from_c")  # fmt: skip

    found = [float.fromhex(line) for line in lines[:-1]]
    assert found == stepped("reference").T.ravel().tolist()
    np.testing.assert_allclose(found, stepped(None).T.ravel(), rtol=1e-15)
    assert lines[-1].startswith("code 2: Field 'u' is too small: along 'I' 'diffuse' reads -2:10")


@no_fortran
def test_the_model_in_fortran_has_the_numbers_of_embedded_execution(small):
    lines = run(small, "gfortran", "-Wall", "-Jlib", "lib/small.f90",
                str(SOURCES / "from_fortran.f90"), *LINKED, "from_fortran")  # fmt: skip

    cell, k = np.meshgrid(np.arange(1, 7), np.arange(1, 4), indexing="ij")
    now = ff.as_field({example.Cell: (1, 7), example.K: 3}, ((cell * 5 + k * 2) % 7).astype(float))
    new = ff.zeros(now.domain)
    for _ in range(4):
        example.average.with_backend(None)(
            now, new, np.int32(0), np.int32(3), offset_provider=example.ring()
        )
        now, new = new, now
    assert [float(line) for line in lines[:-1]] == now.asnumpy().T.ravel().tolist()
    assert lines[-1].startswith("code 5: 'average' writes 'out', which shares memory with 'u'")
