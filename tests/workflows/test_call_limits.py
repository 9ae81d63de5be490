"""What calls may use: the size of their workspace, and the threads of a backend."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import ArgumentError
from fieldforge.examples.tridiagonal import solve
from fieldforge.runtime.limits import as_workspace

SIZES = {"I": 8, "J": 8, "K": 20}


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
    with pytest.raises(ArgumentError, match="number of threads"):
        ff.cpu.with_options(threads=-1)
