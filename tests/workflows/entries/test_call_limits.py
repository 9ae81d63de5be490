"""What calls may use: the size of their workspace, and the threads of a backend."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import ArgumentError, OptionError
from fieldforge.examples.tridiagonal import solve
from fieldforge.runtime import _core
from fieldforge.runtime.calls.call_limits import as_workspace
from fieldforge.runtime.calls.refusals import reject
from fieldforge.workflows.backends import recipes

from ...dimensions import I, Line

SIZES = {"I": 8, "J": 8, "K": 20}


@ff.field_operator
def curvature(u: Line) -> Line:
    return u(I + 1) - 2.0 * u + u(I - 1)


@ff.program(backend=ff.cpu)
def diffuse_line(u: Line, out: Line):
    curvature(u, out=out)


@pytest.fixture
def program():
    return solve.with_backend(ff.cpu)


def test_extents_of_dimensions_are_enough(program, own_engine, seen):
    few, many = program.workspace_size(**SIZES), program.workspace_size(**SIZES | {"K": 200})

    assert 0 < few < many
    assert "compile" not in seen.ran()


def test_fields_and_their_domains_say_the_same(program):
    names = program.parameters
    dims = solve.__gt_type__().parameters[0][1].dims
    domain = {dim: SIZES[dim.value] for dim in dims}
    fields = {name: ff.ones(domain) for name in names}

    wanted = program.workspace_size(**SIZES)
    assert program.workspace_size(**fields) == wanted
    assert program.workspace_size(**dict.fromkeys(names, domain)) == wanted
    assert program.workspace_size(*fields.values()) == wanted


def test_a_workspace_of_that_size_is_enough_and_one_of_less_is_not(program):
    dims = solve.__gt_type__().parameters[0][1].dims
    fields = [ff.ones({dim: SIZES[dim.value] for dim in dims}) for _ in program.parameters]
    size = program.workspace_size(*fields)

    program.with_workspace(np.empty(size + 64, np.uint8))(*fields)
    short = as_workspace(np.empty(size // 2, np.uint8))
    with pytest.raises(ArgumentError, match=f"needs {size} bytes"):
        program.with_workspace(short)(*fields)


def test_what_is_missing_is_named(program):
    with pytest.raises(ArgumentError, match=r"depends on 'K'.*\n.*workspace_size\(K=...\)"):
        program.workspace_size(I=8, J=8)


def test_what_is_no_field_and_no_domain_is_refused(program):
    with pytest.raises(ArgumentError, match=r"a field or a domain for '.', got 'int'"):
        program.workspace_size(**dict.fromkeys(program.parameters, 3))


@pytest.mark.parametrize("backend", [None, ff.reference])
def test_backends_without_a_plan_need_none(backend):
    assert solve.with_backend(backend).workspace_size(**SIZES) == 0


def test_threads_are_an_option_of_the_backend_and_of_a_call():
    backend = ff.cpu.with_options(threads=2)
    chosen = solve.with_backend(backend).build()

    assert [entry.threads for entry in chosen.entries] == [2]
    assert [entry.threads for entry in solve.with_backend(ff.cpu).build().entries] == [0]
    assert chosen.with_threads(1).call is chosen
    with pytest.raises(OptionError, match=r"'threads' .* from 0 to 65536, got -1"):
        ff.cpu.with_options(threads=-1)


# A region of four threads whose one thread calls the entry of a program.
IN_A_REGION = """
typedef int (*Entry)(const void* const*, const long*, const void*, void*, void*);
static Entry entry;
extern "C" void take(Entry given) { entry = given; }
extern "C" int inside(const void* const* p, const long* i, const void* s, void* a, void* t) {
  int status = -1;
#pragma omp parallel num_threads(4)
#pragma omp single
  status = entry(p, i, s, a, t);
  return status;
}
"""


@pytest.mark.needs_compiler
@pytest.mark.skipif(shutil.which("g++") is None, reason="its OpenMP is that of the compiler g++")
def test_a_small_loop_is_whole_inside_a_region_of_somebody_else(tmp_path):
    source, path = tmp_path / "region.cpp", tmp_path / "region.so"
    source.write_text(IN_A_REGION)
    subprocess.run(
        ["g++", "-shared", "-fPIC", "-fopenmp", str(source), "-o", str(path)], check=True
    )
    own = diffuse_line.build().entries[0]
    ctypes.CDLL(str(path)).take(ctypes.c_void_p(own.address))
    region = _core.Library(str(path))
    around = _core.Program("around", diffuse_line.parameters, lambda *_: None, reject)
    around.add(_core.Entry(own.plan, region.symbol("inside"), (region, own)))
    u, out = ff.as_field([I], np.arange(100.0) ** 2), ff.zeros({I: (1, 99)})

    around(u, out)

    assert out.asnumpy().tolist() == [2.0] * 98


V, Edge, E2V_DIM = (
    ff.Dimension("V"),
    ff.Dimension("Edge"),
    ff.Dimension("E2V", kind=ff.DimensionKind.LOCAL),
)
E2V = ff.FieldOffset("E2V", source=V, target=(Edge, E2V_DIM))


@ff.field_operator
def root_at_first_end(u: ff.Field[ff.Dims[V], ff.float64]) -> ff.Field[ff.Dims[Edge], ff.float64]:
    roots = ff.sqrt(u) + u
    return roots(E2V[0])


def test_a_workspace_holds_what_the_slots_that_are_read_name():
    table = ff.as_connectivity([Edge, E2V_DIM], codomain=V, data=[[0, 500], [1, 900], [2, 3]])
    arrays = tuple(f"%{number}" for number in range(6))
    program = root_at_first_end.with_backend(recipes.cpu(arrays=arrays))

    size = program.workspace_size(u={V: 1000}, out={Edge: 3}, offset_provider={"E2V": table})

    assert 0 < size < 900 * 8
