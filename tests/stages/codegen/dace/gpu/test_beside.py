"""Scans over contiguous levels and soft reads on a GPU, on the host; HIP by AMD's compiler."""

import json
import re
import shutil
from typing import Any

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime.process.settings import current
from fieldforge.stages.artifacts import Lowered, Variant
from fieldforge.stages.codegen.dace.gpu.stage import CodegenDaceGpu
from fieldforge.stages.compile.device_library import CompileLibrary
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.workflows.backends.backend import BACKENDS

from .....end_to_end.gpu_calls import Box, I, J, K, down, sweep, up

pytestmark = [pytest.mark.needs_dace, pytest.mark.needs_compiler]

HOST = BACKENDS["dace_gpu-host"]
AMD = GpuTarget("gfx90a")
SHAPE = (7, 13, 9)
Levels = ff.Field[ff.Dims[K], ff.int32]


class Laid:
    """An allocator that gives one array, whatever is asked for."""

    __gt_device_type__ = BACKENDS["cpu"].__gt_allocator__.__gt_device_type__

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __gt_allocate__(self, *_: Any, **__: Any) -> np.ndarray:
        return self.array


def field(array: np.ndarray) -> Any:
    """Return a field in the memory of an array of levels that lie beside each other."""
    made = ff.empty(dict(zip((I, J, K), array.shape, strict=True)), allocator=Laid(array))
    assert made.ndarray.strides == array.strides
    return made


@ff.field_operator
def of_neighbours(a: Box, b: Box) -> Box:
    return up(down(a(I + 1) + a(K - 1)) * b) + a


@ff.program
def sums(a: Box, b: Box, out: Box):
    of_neighbours(a, b, out=out, domain={I: (0, 6), J: (0, 13), K: (1, 9)})


@ff.field_operator
def in_place(a: Box, b: Box) -> Box:
    return down(a) + up(b)


@ff.program
def update(a: Box, b: Box):
    in_place(a, b, out=a)


@ff.field_operator
def above(a: Box, k: Levels, n: ff.int32) -> Box:
    return ff.where(k < n, down(a)(K + 1), -1.0)


@ff.program
def look_up(a: Box, k: Levels, n: ff.int32, out: Box):
    above(a, k, n, out=out)


def results(program: Any, outputs: tuple[int, ...], *arrays: np.ndarray, **options: Any) -> Any:
    """Return the bytes of the outputs by 'cpu' and by 'dace_gpu' on the host, and its loops."""
    found = []
    for backend in (BACKENDS["cpu"], HOST.with_options(**options)):
        given = [field(array.copy(order="K")) for array in arrays]
        program.with_backend(backend)(*given)
        found.append([given[each].asnumpy().tobytes() for each in outputs])
    loops = program.with_backend(HOST.with_options(**options)).trace(*given)["codegen"].loops
    return found, loops


# --- columns ---------------------------------------------------------------------------------


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize(("program", "outputs"), [(sweep, (1,)), (sums, (2,)), (update, (0,))])
def test_scans_over_contiguous_levels_have_the_bits_of_the_cpu(
    program: Any, outputs: tuple[int, ...], beside: bool
) -> None:
    random = np.random.default_rng(3)
    count = 3 if program is sums else 2
    arrays = [random.random(SHAPE) for _ in range(count)]
    (expected, found), loops = results(program, outputs, *arrays, columns_beside=beside)
    assert found == expected
    assert ("columns0_of" in loops) == beside


def test_columns_beside_each_other_are_not_copied() -> None:
    arrays = [np.asfortranarray(np.random.default_rng(3).random(SHAPE)) for _ in range(2)]
    (expected, found), loops = results(sweep, (1,), *arrays)
    assert found == expected
    assert "columns0_of" not in loops


def test_threads_of_a_copy_form_tiles_of_levels_and_columns() -> None:
    a, out = (field(np.zeros(SHAPE)) for _ in range(2))
    source = sweep.with_backend(HOST).trace(a, out)["codegen"].text
    assert source.count("dim3(8, 32, 1)") == 2
    assert source.count("dim3(32, 2, 1)") == 2


# --- soft reads ------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
def test_soft_reads_may_lead_out_of_a_field(order: Any) -> None:
    a = field(np.array(np.random.default_rng(5).random(SHAPE), order=order))
    k = ff.as_field([K], np.arange(9, dtype=np.int32))
    found = []
    for backend in ("cpu", HOST):
        out = field(np.zeros(SHAPE, order=order))
        look_up.with_backend(backend)(a, k, 8, out)
        found.append(out.asnumpy().tobytes())
    assert found[0] == found[1]


# --- AMD's compiler --------------------------------------------------------------------------


def lowered(program: Any, *arguments: Any) -> Lowered:
    made = program.with_backend(HOST).trace(*arguments)["lower"].artifact
    assert isinstance(made, Lowered)
    return made


def boxes(count: int) -> list[Any]:
    return [field(np.zeros(SHAPE)) for _ in range(count)]


@pytest.mark.skipif(shutil.which("hipcc") is None, reason="AMD's compiler is not installed")
@pytest.mark.parametrize(
    ("checked", "times"), [(False, 1), pytest.param(True, 2, marks=pytest.mark.in_full)]
)
def test_hipcc_compiles_scans_copies_and_soft_reads_to_equal_bytes(
    checked: bool, times: int
) -> None:
    k = ff.as_field([K], np.arange(9, dtype=np.int32))
    a, out = boxes(2)
    made = CodegenDaceGpu(target=AMD, checked=checked).run(
        lowered=lowered(look_up, a, k, 8, out), variant=Variant()
    )["generated"]
    stage = CompileLibrary(AMD, variables=current().compiler_variables)
    compiled = [stage.run(generated=made)["compiled"] for _ in range(times)]
    assert made.language == "hip"
    assert len({each.library for each in compiled}) == 1
    assert b"gfx90a" in compiled[0].library
    identity = json.loads(compiled[0].manifest)["compiler"]
    assert re.search(r"clang\S* [0-9a-f]{16}", identity), "the compiler below the driver counts"


def test_text_for_amd_does_not_depend_on_the_gpu_of_this_machine(recwarn: Any) -> None:
    CodegenDaceGpu(target=AMD).run(lowered=lowered(sweep, *boxes(2)), variant=Variant())
    assert [each for each in recwarn if "chiplet" in str(each.message)] == []
