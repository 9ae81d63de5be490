"""The schedules of kernels: what each does, how the listing says so, and how to do without."""

from typing import Any

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples import tridiagonal
from fieldforge.examples.precision import in_precision
from fieldforge.stages import ThreadBlock, ThreadPoints, Variant
from fieldforge.stages.codegen.gpu.options import GPU_PASSES
from fieldforge.stages.codegen.gpu.stage import CodegenGpu
from fieldforge.stages.codegen.pass_list import without
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.ir.inside import values_of
from fieldforge.stages.ir.loops.gpu import RowTiles
from fieldforge.stages.ir.loops.reader import read
from fieldforge.workflows.backends.backend import BACKENDS

from ....selection import not_optimised
from ..programs import REAL, I, J, K, all_unit, make_program, whole  # noqa: F401  (K for readers)
from .test_kernel import pointwise

TARGET = GpuTarget("sm_90")
HOST, CPU = (not_optimised(BACKENDS[name]) for name in ("gpu-host", "cpu"))


def generated(name: str, program: str, dtype: str, unit: str, **options: object):
    """Return what the stage makes of an example, all of its fields with one unit stride."""
    made = getattr(in_precision(name, dtype), program).with_backend(BACKENDS["gpu"])
    lowered = made.trace(until="lower")["lower"].artifact
    fields = [leaf for leaf in lowered.program.leaves if leaf.kind == "field"]
    variant = Variant(unit=tuple((leaf.name, unit) for leaf in fields))
    return CodegenGpu(**{"target": TARGET, **options}).run(lowered=lowered, variant=variant)


def listing(*args: str, **options: object) -> str:
    return str(generated(*args, **options)["generated"].loops)


def rooms(loops: str) -> list[tuple[str, ...]]:
    """Return what each room of columns in shared memory holds, one after the other."""
    return [
        (each.source, *each.holds)
        for rows in values_of(read(loops), RowTiles)
        for each in rows.tiles
    ]


# --- several points a thread --------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "points"), [("float64", 2), ("float32", 4)])
def test_threads_of_a_stencil_have_wide_rows_that_share_loads(dtype: str, points: int) -> None:
    made = generated("diffusion", "diffuse", dtype, "I")["generated"]
    assert f"gpu block 32, 4, 1 points {points}, 2, 1" in made.loops
    assert f"{points} of I at a time: accesses of 16 bytes, 2 of J share" in made.loops
    assert f"ff::load<{points}>" in made.source
    assert f"f2 + {points} <= n" in made.source  # else one by one


def test_single_accesses_where_memory_is_not_aligned() -> None:
    single = "by single accesses where memory is not aligned"
    assert single in listing("diffusion", "diffuse", "float64", "I")
    assert single not in listing("diffusion", "diffuse", "float32", "I")
    assert single in listing("diffusion", "diffuse", "float32", "I", unaligned=True)
    made = generated("diffusion", "diffuse", "float64", "I")["generated"].source
    assert "} else if (f2 >= " in made


def test_levels_that_lie_together_are_counted_in_one_row() -> None:
    lowered = pointwise()
    made = CodegenGpu(TARGET).run(lowered=lowered, variant=all_unit(lowered, K))
    assert "gpu block 128" in made["generated"].loops
    (launch,) = made["interface"].launches
    assert launch.threads == (128, 1, 1)
    assert [str(made["interface"].ints[place]) for place in launch.blocks[1:]] == ["1", "1"]


# --- scans --------------------------------------------------------------------------------------


def test_scans_over_the_same_columns_are_one_kernel() -> None:
    made = generated("tridiagonal", "solve", "float64", "I", blocked=False)
    loops = made["generated"].loops
    assert "  columns arrays @5, @6 threads 32 " in loops
    assert "# @5, @6 need not go to memory and back" in loops
    assert " ahead 8 asked %0, %1, %2, %3\n" in loops
    together, *alone = made["interface"].launches
    ints = made["interface"].ints
    assert together.shared == TARGET.block_memory
    assert str(ints[together.needed]).startswith("mul(max(0, ")
    fits = f"min(1, floordiv({TARGET.block_memory}, max(1, {ints[together.needed]})))"
    assert fits in str(ints[together.blocks[0]])
    assert all(each.needed == -1 for each in alone)
    assert all(f"floordiv({TARGET.block_memory}, " in str(ints[each.blocks[0]]) for each in alone)


def test_scans_that_read_the_level_before_hand_one_array_on() -> None:
    solve = in_precision("tridiagonal", "float64").solve.with_backend(BACKENDS["gpu"])
    lowered = ff.adjoint(solve).trace(until="adjoint")["adjoint"].artifact
    made = CodegenGpu(TARGET).run(lowered=lowered, variant=all_unit(lowered, tridiagonal.I))
    loops = made["generated"].loops
    assert "  columns arrays @9 threads 32 " in loops  # shared memory has room for 192 columns
    assert "stores @9, @10, @11\n" in loops
    assert "load @9[0, 0, -1] when " in loops


def test_columns_that_do_not_fit_are_scanned_in_blocks() -> None:
    made = generated("tridiagonal", "solve", "float64", "I")
    loops = made["generated"].loops
    assert " most 76800\n" in loops  # for 96 columns
    assert "  long levels max(16, min(224, " in loops
    assert "levels that do not fit go to memory and come back" in loops
    short, blocked = made["interface"].launches
    ints = made["interface"].ints
    assert "floordiv(76800, " in str(ints[short.blocks[0]])
    assert "floordiv(76800, " in str(ints[blocked.blocks[0]])
    assert blocked.shared <= (TARGET.shared_memory - 2048) // 2
    source = made["generated"].source
    assert "h0[(place + 7) * 32 + threadIdx.x] = v" in source
    assert "h0[kept(i2)]" in source


def test_what_two_scans_read_lands_and_stays_in_shared_memory() -> None:
    made = generated("vertical_advection", "advect", "float64", "I")["generated"]
    assert "16 levels of u to @5, u_before to stay, tendency to @6 on their way" in made.loops
    assert "ff::async_copy<1>(h0, (later + j) * 32 + threadIdx.x, from);" in made.source
    single = generated("vertical_advection", "advect", "float32", "I")["generated"]
    assert "on their way" not in single.loops
    asked = generated("vertical_advection", "advect", "float32", "I", land=24)["generated"]
    assert "32 levels of u to @5" in asked.loops  # pairs of rounds
    older = generated("vertical_advection", "advect", "float64", "I", target=GpuTarget("sm_75"))
    assert "on their way" not in older["generated"].loops  # its copies are not asynchronous


@pytest.mark.parametrize(
    ("name", "program", "held"),
    [
        ("tridiagonal", "solve", [("a", "@5", "x"), ("b", "@6"), ("c",), ("d",)]),
        ("vertical_advection", "advect",
         [("w", "@5", "new_tendency"), ("w", "@6"), ("u",), ("u_before",), ("tendency",)]),
    ],
)  # fmt: skip
def test_what_a_scan_has_passed_leaves_its_room(
    name: str, program: str, held: list[tuple[str, ...]]
) -> None:
    assert rooms(listing(name, program, "float64", "K")) == held


def test_caches_keep_what_several_scans_read() -> None:
    options = {"blocked": False, "land": -1}
    made = generated("vertical_advection", "advect", "float64", "I", **options)["generated"]
    assert "caches keep u_before" in made.loops
    first, second = made.source.split("ff::store_once(")[0], made.source
    assert "ff::load_once(from)" in first
    assert "ff::store_once(&r1" in second
    options["keep"] = False
    without = generated("vertical_advection", "advect", "float64", "I", **options)["generated"]
    assert "_once(&" not in without.source
    assert "caches keep" not in without.loops
    assert "caches keep" not in listing("tridiagonal", "solve", "float64", "I")


def test_the_middle_of_a_column_has_no_conditions_on_the_level() -> None:
    source = generated("vertical_advection", "advect", "float64", "I")["generated"].source
    middle = source.partition("if (middle) {\n")[2].partition("} else {")[0]
    assert "const b8 v4 = true;" in source
    assert "u32(total)" not in middle.partition("const b8 v4 = true;")[2]


def test_quotients_by_one_number_share_a_reciprocal() -> None:
    made = generated("tridiagonal", "solve", "float64", "I")["generated"]
    assert " reciprocals " in made.loops
    assert "divide(d11, v8);" in made.source
    passes = without(GPU_PASSES, "share_reciprocals")
    each = generated("tridiagonal", "solve", "float64", "I", passes=passes)["generated"]
    assert " reciprocals" not in each.loops
    assert "divide(" not in each.source
    other = generated("vertical_advection", "advect", "float64", "I")["generated"]
    assert "divide(d" not in other.source.partition("KERNEL __launch")[2]


def test_a_quotient_outside_scans_takes_no_call_where_the_dividend_is_0() -> None:
    made = generated("saturation_adjustment", "adjust", "float64", "I")["generated"]
    assert " reciprocals" in made.loops
    kernel = made.source.partition("KERNEL __launch")[2]
    assert "divide(d" in kernel
    assert " / v" not in kernel


# What the listing says of a schedule, and the options that leave it out: the table of docs/gpu.md.
LEFT_OUT: list[tuple[str, tuple[str, str, str], dict[str, object]]] = [
    ("by single accesses where memory is not aligned", ("diffusion", "diffuse", "I"),
     {"unaligned": False}),
    ("single accesses where memory is not aligned", ("diffusion", "diffuse", "I"),
     {"passes": without(GPU_PASSES, "widen")}),
    (" points 2, 2, 1", ("diffusion", "diffuse", "I"), {"points": ThreadPoints(1)}),
    ("gpu block 128 ", ("diffusion", "diffuse", "K"), {"block": ThreadBlock(32, 4)}),
    (" ahead 8 asked ", ("tridiagonal", "solve", "I"), {"ahead": -1}),
    (" reciprocals ", ("tridiagonal", "solve", "I"),
     {"passes": without(GPU_PASSES, "share_reciprocals")}),
    ("  columns arrays @5, @6 ", ("tridiagonal", "solve", "I"), {"shared": False}),
    ("  columns arrays @5, @6 ", ("tridiagonal", "solve", "I"),
     {"passes": without(GPU_PASSES, "hand_on")}),
    ("u_before to stay, tendency to @6", ("vertical_advection", "advect", "I"), {"land": -1}),
    ("  long levels ", ("tridiagonal", "solve", "I"), {"blocked": False}),
    ("# columns of contiguous K come as rows", ("tridiagonal", "solve", "K"), {"tile_columns": -1}),
    (" ahead 1 asked ", ("precipitation", "precipitate", "I"), {"ahead": -1}),
    ("  rows columns 16 ", ("tridiagonal", "solve", "K"), {"tile_columns": -1}),
    ("caches keep u_before", ("vertical_advection", "advect", "I"), {"keep": False}),
]  # fmt: skip


@pytest.mark.parametrize(("said", "of", "options"), LEFT_OUT, ids=str)
def test_each_schedule_is_left_out_by_its_option(
    said: str, of: tuple[str, str, str], options: dict[str, object]
) -> None:
    name, program, unit = of
    assert said in listing(name, program, "float64", unit)
    assert said not in listing(name, program, "float64", unit, **options)


# --- the same bits ------------------------------------------------------------------------------

SMALL = GpuTarget("sm_90", block_memory=1500)  # columns do not fit
BLOCKS = GpuTarget("sm_90", block_memory=700, shared_memory=100_000)  # some levels fit
OPTIONS = [
    (None, {"ahead": 2, "column_block": ThreadBlock(x=5)}),
    (None, {"ahead": -1, "column_block": ThreadBlock(4, 2)}),
    (None, {"ahead": 2, "column_block": ThreadBlock(x=5), "target": BLOCKS}),
    (None, {"ahead": 2, "column_block": ThreadBlock(x=5), "target": BLOCKS, "land": 6}),
    (None, {"ahead": 4, "column_block": ThreadBlock(x=5), "target": BLOCKS, "land": -1}),
    (None, {"land": 8}),
    (None, {"target": SMALL, "ahead": 4}),
    (np, {}),
    (np, {"tile_columns": 3, "ahead": -1}),
]


def agree(
    entry: Any,
    fields: list[tuple[Any, np.ndarray[Any, Any]]],
    *numbers: object,
    allocator: object,
    options: dict[str, object],
) -> None:
    """Compare what CPUs and the simulated device write where the last field lies, bit for bit."""
    core, last = fields[-1]
    found = []
    for backend in (CPU, HOST.with_options(**options)):
        given = [ff.as_field(box, each, allocator=allocator) for box, each in fields]
        out = ff.as_field(core, np.full_like(last, np.nan), allocator=allocator)
        entry.with_backend(backend)(*given, out, *numbers)
        found.append(out.asnumpy())
    assert (found[0] == found[1]).all()


@pytest.mark.needs_compiler
@pytest.mark.parametrize(("allocator", "options"), OPTIONS, ids=str)
def test_sweeps_have_the_bits_of_the_cpu(options: dict[str, object], allocator: object) -> None:
    program = in_precision("tridiagonal", "float64")
    shape = ni, nj, nk = 5, 3, 19
    core = {program.I: (-1, ni - 1), program.J: nj, program.K: (2, nk + 2)}
    numbers = np.random.default_rng(1)
    fields = [
        (core, numbers.uniform(low, high, shape))
        for low, high in [(-1, 1), (2.5, 3), (-1, 1), (-1, 1)]
    ]
    agree(program.solve, fields, allocator=allocator, options=options)


ADVECTED = [
    ("float64", None, {}),
    ("float32", None, {"land": 4, "ahead": 2}),
    ("float64", None, {"target": BLOCKS, "ahead": 2, "land": 4, "column_block": ThreadBlock(x=3)}),
    ("float32", None, {"target": BLOCKS, "ahead": 2, "column_block": ThreadBlock(x=4), "land": -1}),
    ("float64", None, {"blocked": False}),
    ("float32", None, {"ahead": 2, "column_block": ThreadBlock(x=5)}),
    ("float64", np, {"tile_columns": 5, "column_block": ThreadBlock(x=40)}),
    ("float32", np, {"ahead": 2}),
]


@pytest.mark.needs_compiler
@pytest.mark.parametrize(("dtype", "allocator", "options"), ADVECTED, ids=str)
def test_advected_columns_have_the_bits_of_the_cpu(
    dtype: str, allocator: object, options: dict[str, object]
) -> None:
    program = in_precision("vertical_advection", dtype)
    for nk, first in ((43, 0), (6, -2)):
        shape = ni, nj, _ = 7, 2, nk
        core = {program.I: ni, program.J: (-1, nj - 1), program.K: (first, first + nk)}
        faces = {program.I: ni + 1, program.J: (-1, nj - 1), program.K: (first, first + nk + 1)}
        numbers = np.random.default_rng(3)
        u, before, tendency = numbers.uniform(-10, 10, (3, *shape)).astype(dtype)
        w = numbers.uniform(-0.05, 0.05, (ni + 1, nj, nk + 1)).astype(dtype)
        fields = [(core, u), (core, before), (faces, w), (core, tendency)]
        last = (np.dtype(dtype).type(1 / 12), first + nk - 1)
        agree(program.advect, fields, *last, allocator=allocator, options=options)


DIFFUSED: list[tuple[str, object, dict[str, object]]] = [
    ("float32", None, {}),
    ("float32", None, {"points": ThreadPoints(8, 3)}),
    ("float32", None, {"block": ThreadBlock(32, 4)}),
    ("float32", None, {"block": ThreadBlock(32, 4), "points": ThreadPoints(4)}),
    *[
        (dtype, np, options)  # rows are not aligned
        for dtype in ("float64", "float32")
        for options in ({"unaligned": True}, {}, {"unaligned": False})
    ],
]


@pytest.mark.needs_compiler
@pytest.mark.parametrize(("dtype", "allocator", "options"), DIFFUSED, ids=str)
def test_stencils_have_the_bits_of_the_cpu(
    dtype: str, allocator: object, options: dict[str, object]
) -> None:
    program = in_precision("diffusion", dtype)
    ni, nj, nk = 23, 7, 3
    core = {program.I: (3, 3 + ni), program.J: nj, program.K: nk}
    around = {program.I: (1, 5 + ni), program.J: (-2, nj + 2), program.K: nk}
    numbers = np.random.default_rng(2)
    u = numbers.random((ni + 4, nj + 4, nk)).astype(dtype)
    coeff = numbers.random((ni, nj, nk)).astype(dtype)
    agree(program.diffuse, [(around, u), (core, coeff)], allocator=allocator, options=options)


@pytest.mark.needs_compiler
def test_scans_in_one_kernel_do_not_write_what_other_columns_still_read() -> None:
    program = in_precision("vertical_advection", "float64")
    made = program.advect.with_backend(HOST)
    interface = made.trace(until="codegen")["codegen"].artifacts["interface"]
    pointwise = {read.name: read.pointwise for read in interface.reads}
    assert not pointwise["w"]  # it is read in the column to the east
    assert pointwise["u_before"]
