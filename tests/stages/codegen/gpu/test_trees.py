"""Kernels written by hand as trees, on the null platform: what no program needs yet."""

from __future__ import annotations

import numpy as np
import pytest

from fieldforge.runtime import gpu
from fieldforge.runtime.process.settings import current
from fieldforge.stages.artifacts import Generated
from fieldforge.stages.codegen.errors import CodegenError
from fieldforge.stages.codegen.gpu.launches import Order, orders_of
from fieldforge.stages.codegen.gpu.passes.thread_blocks import spread
from fieldforge.stages.codegen.gpu.text.kernel import write_gpu
from fieldforge.stages.codegen.integers import integers
from fieldforge.stages.codegen.rows.options import WriterOptions
from fieldforge.stages.compile.stage import Compile
from fieldforge.stages.ir.bounds import Bound, DomainSymbol, evaluate
from fieldforge.stages.ir.loops.kernel import Kernel
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.verify import verify
from fieldforge.stages.ir.strides import Stride
from fieldforge.stages.vendors.host import HOST

from ..texts import RULES

pytestmark = pytest.mark.needs_compiler

RANDOM = np.random.default_rng(5)


def written(text: str) -> tuple[Kernel, str, tuple[Order, ...]]:
    """Return the kernel of a text, its source for the host, and its launches."""
    kernel = verify(spread(verify(read(text)), RULES))
    source, kernels = write_gpu(kernel, integers(kernel), WriterOptions(0), HOST)
    return kernel, source, orders_of(kernel, kernels, [1] * len(kernel.groups))


def run(text: str, **fields: np.ndarray) -> dict[str, np.ndarray]:
    """Run a kernel on copies of fields in the order of its text; return these."""
    kernel, source, orders = written(text)
    known = integers(kernel)
    stage = Compile(variables=current().compiler_variables)
    made = Generated(language="c++", source=source, loops="", flags=HOST.flags)
    library = stage.run(generated=made)["compiled"].library  # type: ignore[attr-defined]
    with gpu.use_platform("null"):
        module = gpu.Module.load(library, device=gpu.Device(0, platform="null"))
        memory = [gpu.Array.from_host(np.ascontiguousarray(field)) for field in fields.values()]
        arena = gpu.Array.zeros(1 << 12)
        for order in orders:
            given = {
                "pointer": lambda place: memory[place],
                "int": lambda place: np.int64(integer(known[place], fields)),
                "slot": lambda _: arena,  # there is one
                "index": lambda place, order=order: np.int64(integer(order.indices[place], fields)),
            }
            blocks = tuple(max(0, integer(each, fields)) for each in order.blocks)
            if all(blocks):
                arguments = [given[kind](place) for kind, place in order.written.arguments]
                module.kernel(order.written.name).launch(blocks, order.threads, arguments)
        return {name: each.to_host() for name, each in zip(fields, memory, strict=True)}


def integer(source: Bound | Stride, fields: dict[str, np.ndarray]) -> int:
    def end(symbol: object) -> int:
        assert isinstance(symbol, DomainSymbol)
        axis = ["I", "K"].index(symbol.dim.value)
        return 0 if symbol.end == "start" else fields[symbol.field].shape[axis]

    if isinstance(source, Stride):
        field = fields[source.name]
        return field.strides[source.axis] // field.itemsize
    return evaluate(source, end)


# --- planes -------------------------------------------------------------------------------------

PLANES = """\
kernel planes
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit K
  arena @0 float64 [I] unit I slot 0 order [I] box (I: 1 .. 15)
  group 0 (I: 1 .. 15, K: {planes})
  slot 1024
  step 0
    loop K: {planes}{way}
      nest n0 group 0
        vector I: 1 .. 15
          %0 float64 load u[1, {before}]
          %1 float64 load u[-1, {before}]
          %2 float64 add %0 %1
          %3 int64 index K
          %4 float64 cast %3
          %5 float64 add %2 %4
          %6 float64 store @0[0] %5
      nest n1 group 0
        vector I: 1 .. 15
          %0 float64 load @0[0]
          %1 float64 store u[0, 0] %0
"""


@pytest.mark.parametrize(("way", "before"), [("", -1), (" backward", 1)])
def test_a_loop_runs_nests_for_one_plane_after_the_other(way, before):
    u = RANDOM.random((16, 9))
    expected = u.copy()
    for k in range(1, 8) if before < 0 else range(7, 0, -1):
        expected[1:15, k] = expected[2:16, k + before] + expected[:14, k + before] + k

    made = run(PLANES.format(planes="1 .. 8", way=way, before=before), u=u)

    np.testing.assert_array_equal(made["u"], expected)


def test_each_plane_is_a_launch_of_every_nest_with_its_index():
    _, _, orders = written(PLANES.format(planes="stop(u, K) + -2 .. stop(u, K)", way="", before=-1))

    assert [each.written.name for each in orders] == ["grid_of_k0", "grid_of_k1"] * 2
    assert [str(each.indices[0]) for each in orders] == ["stop(u, K) + -2"] * 2 + [
        "stop(u, K) + -1"
    ] * 2


def test_planes_whose_number_only_a_call_knows_are_refused():
    with pytest.raises(CodegenError, match=r"only a call knows how many .* 1 \.\. stop\(u, K\)"):
        written(PLANES.format(planes="1 .. stop(u, K)", way="", before=-1))


NESTED = """\
kernel nested
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit K
  group 0 (I: 1 .. 4, K: 1 .. 4)
  step 0
    loop I: 1 .. 4
      nest n0 group 0
        sequential K: 0 .. 1
          %0 float64 load u[-1, 3]
          %1 float64 store u[0, 0] %0
      loop K: 1 .. 4
        column group 0
          %0 float64 load u[0, -1]
          %1 float64 load u[-1, 0]
          %2 float64 add %0 %1
          %3 float64 store u[0, 0] %2
"""


def test_loops_in_loops_run_in_turn():
    u = RANDOM.random((4, 4))
    expected = u.copy()
    for i in range(1, 4):
        expected[i, 0] = expected[i - 1, 3]
        for k in range(1, 4):
            expected[i, k] = expected[i, k - 1] + expected[i - 1, k]

    np.testing.assert_array_equal(run(NESTED, u=u)["u"], expected)


# --- columns ------------------------------------------------------------------------------------

COLUMNS = """\
kernel columns
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit K
  field out float64 [I, K] unit K
  group 0 (I: 0 .. stop(u, I), K: 0 .. 6)
  step 0
    column group 0 registers float64, int64
      parallel I: 0 .. stop(u, I)
        %0 float64 constant 0.0
        %1 float64 set 0 %0
        %2 float64 constant 1.0
        %3 int64 constant 1
        sweep K: 0 .. 6
          %4 float64 load u[0, 0]
          %5 float64 get 0
          %6 float64 add %5 %4
          %7 float64 set 0 %6
          %8 bool gt %4 %2
          if %8
            %9 float64 store out[0, 0] %6
          else
            %10 int64 index K
            %11 int64 get 1
            %12 int64 add %11 %3
            %13 int64 set 1 %12
            %14 float64 store out[0, 0] %4 add
        while
          %15 float64 get 0
          %16 bool gt %15 %2
        holds %16
          %17 float64 constant 0.5
          %18 float64 mul %15 %17
          %19 float64 set 0 %18
        sweep K: 0 .. 5 backward
          %20 float64 load out[0, 1]
          %21 float64 load out[0, 0]
          %22 float64 add %20 %21
          %23 float64 store out[0, 0] %22
        %24 float64 get 0
        %25 int64 get 1
        %26 float64 cast %25
        %27 float64 add %24 %26
        %28 int64 constant 6
        %29 float64 store out[0, %28] %27
"""


def columns(u: np.ndarray, out: np.ndarray) -> None:
    """Compute in NumPy's numbers what the text says, column by column."""
    for i in range(u.shape[0]):
        total, small = 0.0, 0
        for k in range(6):
            total += u[i, k]
            if u[i, k] > 1.0:
                out[i, k] = total
            else:
                small += 1
                out[i, k] += u[i, k]
        while total > 1.0:
            total *= 0.5
        for k in reversed(range(5)):
            out[i, k] = out[i, k + 1] + out[i, k]
        out[i, 6] = total + small


@pytest.mark.parametrize("count", [1, 150])
def test_each_thread_has_a_column_that_sweeps_chooses_and_repeats(count):
    u, out = RANDOM.random((count, 6)) * 2, RANDOM.random((count, 7))
    expected = out.copy()
    columns(u, expected)

    np.testing.assert_array_equal(run(COLUMNS, u=u, out=out)["out"], expected)


ALONE = """\
kernel alone
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit K
  group 0 (I: 0 .. stop(u, I), K: 0 .. stop(u, K))
  step 0
    column group 0
      sweep I: 0 .. stop(u, I)
        sweep K: 0 .. stop(u, K)
          %0 float64 load u[0, 0]
          %1 float64 store u[0, 0] %0 add
"""


def test_a_column_without_loops_has_one_thread():
    u = RANDOM.random((70, 3))

    np.testing.assert_array_equal(run(ALONE, u=u)["u"], u + u)


POINTS = """\
kernel points
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit K
  group 0 (I: 0 .. stop(u, I), K: 0 .. stop(u, K))
  step 0
    column group 0
      parallel I: 0 .. stop(u, I)
        parallel K: 0 .. stop(u, K)
          %0 float64 load u[0, 0]
          %1 int64 index I
          %2 float64 cast %1
          %3 float64 mul %0 %2
          %4 float64 store u[0, 0] %3
"""


def test_the_columns_of_several_loops_are_counted_in_one_row():
    u = RANDOM.random((70, 3))

    np.testing.assert_array_equal(run(POINTS, u=u)["u"], u * np.arange(70.0)[:, None])
