"""Whole programs by DaCe: the bits of the backend 'cpu', nothing of DaCe left at run time."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import float32, float64, int32, where
from fieldforge.examples.diffusion import I, J, K

from ..dimensions import Column, Levels
from ..processes import python

pytestmark = [pytest.mark.needs_dace, pytest.mark.needs_compiler]

NI, NJ, NK = 21, 17, 5
Flags = ff.Field[ff.Dims[I, J], ff.bool]
Singles = ff.Field[ff.Dims[I, J, K], float32]
MAKE_BACKEND = """
import attrs
import fieldforge as ff
from fieldforge.stages.codegen.dace.stage import CodegenDace
dace_cpu = attrs.evolve(
    ff.cpu, name="dace_cpu", made=ff.cpu.workflow.replace(codegen=CodegenDace())
)
"""
DIFFUSE = """
import sys
import numpy as np
from fieldforge.examples.diffusion import I, J, K, diffuse
u = ff.as_field({I: (-2, 10), J: (-2, 10), K: 3}, np.random.default_rng(1).random((12, 12, 3)))
coeff, out = ff.full({I: 8, J: 8, K: 3}, 0.05), ff.zeros({I: 8, J: 8, K: 3})
diffuse.with_backend(dace_cpu)(u, coeff, out)
print("dace" in sys.modules, out.asnumpy().sum())
"""


@ff.field_operator
def mixed(u: Levels, w: Column, flags: Flags, scale: float64) -> tuple[Levels, Singles]:
    shifted = where(flags, u(I - 1) * w, u(K + 1) / scale)
    return shifted - u, ff.astype(shifted, float32)


@ff.field_operator
def moved(u: Levels) -> Levels:
    return 0.5 * (u(I + 1) + u(J - 1))


@ff.program
def several(u: Levels, w: Column, flags: Flags, a: Levels, b: Singles, scale: float64, ni: int32):
    mixed(u, w, flags, scale, out=(a, b), domain={I: (1, ni), J: (0, 17), K: (0, 4)})
    moved(u, out=u, domain={I: (0, ni), J: (1, 17), K: (0, 5)})
    mixed(u, w, flags, scale, out=(a, b), domain={I: (1, 5), J: (0, 17), K: (2, 4)})


def run_several(backend: Any, allocator: Any) -> list[np.ndarray]:
    numbers = np.random.default_rng(11)
    cells = {I: NI + 1, J: NJ, K: NK}
    u = ff.as_field(cells, numbers.normal(size=(NI + 1, NJ, NK)), allocator=allocator)
    w = ff.as_field({K: NK}, numbers.normal(size=NK), allocator=allocator)
    flags = ff.as_field({I: NI, J: NJ}, numbers.random((NI, NJ)) > 0.4, allocator=allocator)
    a, b = ff.zeros(cells, allocator=allocator), ff.zeros(cells, float32, allocator=allocator)
    several.with_backend(backend)(u, w, flags, a, b, 3.0, NI)
    return [field.asnumpy() for field in (u, a, b)]


@pytest.mark.parametrize("allocator", ["cpu", None])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_statements_domains_scalars_columns_and_updates_in_place_agree_with_embedded(allocator):
    memory = allocator and getattr(ff, allocator)

    compiled = run_several(ff.dace_cpu, memory)

    for ours, theirs in zip(compiled, run_several(None, memory), strict=True):
        assert np.any(theirs)
        np.testing.assert_array_equal(ours, theirs)


def test_a_second_process_imports_no_dace_and_nothing_is_left_behind(tmp_path: Path):
    here = tmp_path / "here"
    here.mkdir()
    variables = {"FIELDFORGE_CACHE_DIR": str(tmp_path / "cache"), "HOME": str(here)}

    first, second = (
        python("-c", MAKE_BACKEND + DIFFUSE, check=True, cwd=here, env=variables).stdout.split()
        for _ in range(2)
    )

    assert [first[0], second[0]] == ["True", "False"]
    assert first[1] == second[1]
    assert list(here.iterdir()) == []


@ff.field_operator
def root(u: Levels) -> Levels:
    return ff.sqrt(u)


@ff.program
def rooted(u: Levels, out: Levels):
    root(u, out=out)


@ff.program
def named_as_c_names_things(
    double: Levels,
    status: Levels,
    i_I: Levels,
    state: Levels,
    θ: Levels,  # noqa: PLC2401 - C++ has no such name
):
    root(double, out=status)
    root(i_I, out=state)
    root(θ, out=θ)


def test_a_checked_call_names_the_first_number_that_is_not_finite():
    u, out = ff.ones({I: 3, J: 4, K: 5}), ff.zeros({I: 3, J: 4, K: 5})
    program = rooted.with_backend("dace_cpu")
    program.checked(u, out)
    u.ndarray[1, 2, 3] = -4.0

    with pytest.raises(ff.errors.CheckError, match="sqrt"):
        program.checked(u, out)

    np.testing.assert_array_equal(out.asnumpy(), np.ones((3, 4, 5)))


def test_names_that_mean_something_in_generated_code_are_those_of_fields():
    numbers = np.random.default_rng(5).random((5, 3, 4, 5))
    fields = [ff.as_field({I: 3, J: 4, K: 5}, each) for each in numbers]

    named_as_c_names_things.with_backend("dace_cpu")(*fields)

    for place, source in ((1, 0), (3, 2), (4, 4)):
        np.testing.assert_array_equal(fields[place].asnumpy(), np.sqrt(numbers[source]))


def test_the_trace_has_the_sdfg_with_the_names_of_the_program_after_each_pass():
    trace = rooted.with_backend("dace_cpu").trace(until="codegen")["codegen"]

    assert "u[i_I, " in trace.text or "u[" in trace.loops
    assert "make_out" in trace.loops
    assert "sdfg of rooted" in trace.loops
