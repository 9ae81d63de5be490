"""Kernels written by hand as trees, on the null platform: what no program needs yet."""

import os
from pathlib import Path
from textwrap import indent

import attrs
import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime import _core, gpu
from fieldforge.runtime.calls.plan import Plan, Repeat
from fieldforge.runtime.calls.refusals import reject
from fieldforge.runtime.process.device import DeviceType
from fieldforge.runtime.process.library_file import place_library
from fieldforge.runtime.process.settings import current
from fieldforge.stages.artifacts import Generated, Interface
from fieldforge.stages.bind.plans import plan_of
from fieldforge.stages.codegen.gpu.launches import orders_of, with_launches
from fieldforge.stages.codegen.gpu.passes.thread_blocks import spread
from fieldforge.stages.codegen.gpu.text.kernel import write_gpu
from fieldforge.stages.codegen.interface import integers
from fieldforge.stages.codegen.rows.options import WriterOptions
from fieldforge.stages.compile.stage import Compile
from fieldforge.stages.ir.dataflow import Leaf
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.verify import verify
from fieldforge.stages.vendors.host import HOST

from ..texts import RULES
from ..tree_kernels import after_nested, after_planes, nested, planes

pytestmark = pytest.mark.needs_compiler

RANDOM = np.random.default_rng(5)


def planned(text: str) -> tuple[str, Plan]:
    """Return the source for the host of a kernel as text, and the plan of its calls."""
    kernel = verify(spread(verify(read(text)), RULES))
    known = integers(kernel)
    source, kernels = write_gpu(kernel, known, WriterOptions(0), HOST)
    orders = orders_of(kernel, kernels, [1] * len(kernel.groups))
    fields = [each for each in kernel.buffers if each.memory == "field"]
    names = tuple(each.name for each in fields)
    interface = Interface(
        program=kernel.name,
        parameters=names,
        leaves=tuple(Leaf(f.name, (i,), "field", f.dtype, f.dims) for i, f in enumerate(fields)),
        fields=names,
        scalars=(),
        ints=tuple(dict.fromkeys((*known, *(b for order in orders for b in order.bounds)))),
        unit=tuple((each.name, "K") for each in fields),
        statements=(),
        reads=(),
        workspace=kernel.workspace,
        backend="gpu-host",
        device=int(DeviceType.NULL),
    )
    return source, plan_of(with_launches(interface, orders, "null"))


def program_of(folder: Path, text: str) -> _core.Program:
    """Return a kernel as a program of the native core."""
    source, plan = planned(text)
    stage = Compile(variables=current().compiler_variables)
    made = Generated(language="c++", source=source, loops="", flags=HOST.flags)
    library = stage.run(generated=made)["compiled"].library  # type: ignore[attr-defined]
    path = os.fsencode(place_library(library, folder))
    program = _core.Program(plan.program, plan.parameters, no_entry, reject)
    program.add(_core.Entry(plan, 0, (("host", path),)))
    return program


def no_entry(args: object, kwargs: object) -> None:
    raise AssertionError("No entry fits the arguments that the kernel was built for.")


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a kernel on copies of fields, and returns these."""

    def called(text: str, **fields: np.ndarray) -> dict[str, np.ndarray]:
        memory = [on_device(each) for each in fields.values()]
        program_of(tmp_path, text)(*map(view, memory))
        return {name: each.to_host() for name, each in zip(fields, memory, strict=True)}

    with gpu.use_platform("null"):
        yield called
        assert gpu.null.problems() == []


DIMS = ff.Dimension("I"), ff.Dimension("K", kind=ff.DimensionKind.VERTICAL)


def on_device(array: np.ndarray) -> gpu.Array:
    return gpu.Array.from_host(np.ascontiguousarray(array))


def view(array: gpu.Array) -> _core.FieldView:
    return _core.FieldView(array, DIMS, (0, 0))


# --- planes -------------------------------------------------------------------------------------


def test_a_recorded_step_is_one_graph_with_all_its_planes(run, tmp_path):
    program = program_of(tmp_path, planes("K"))
    u = RANDOM.random((16, 5))
    once, given = on_device(u), on_device(u)
    now = view(once)
    with ff.record(now=now) as step:
        program(now)
        program(now)

    with gpu.null.recorded() as calls:
        step(now=now)
        step(now=view(given))

    assert calls.count("graph_launch") == 2
    twice = after_planes(after_planes(u))
    np.testing.assert_array_equal(given.to_host(), twice)
    np.testing.assert_array_equal(once.to_host(), after_planes(after_planes(twice)))


def test_more_repeats_than_the_core_knows_are_refused():
    _, plan = planned(planes("K"))
    deep = plan.launches
    for _ in range(8):
        deep = (Repeat(0, 0, deep),)

    with pytest.raises(ValueError, match="too many repeats stand in each other"):
        _core.Entry(attrs.evolve(plan, launches=deep), 0, ())


def test_loops_in_loops_run_in_turn(run):
    u = RANDOM.random((4, 4))

    np.testing.assert_array_equal(run(nested("K"), u=u)["u"], after_nested(u))


# --- columns ------------------------------------------------------------------------------------


def alone(loops: str) -> str:
    """Return a kernel of columns of `u`."""
    return f"""\
kernel alone
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit K
  group 0 (I: 0 .. stop(u, I), K: 0 .. stop(u, K))
  step 0
    column group 0
{indent(loops, 6 * " ")}"""


SWEEPS = """\
sweep I: 0 .. stop(u, I)
  sweep K: 0 .. stop(u, K)
    %0 float64 load u[0, 0]
    %1 float64 store u[0, 0] %0 add
"""
POINTS = """\
parallel I: 0 .. stop(u, I)
  parallel K: 0 .. stop(u, K)
    %0 float64 load u[0, 0]
    %1 int64 index I
    %2 float64 cast %1
    %3 float64 mul %0 %2
    %4 float64 store u[0, 0] %3
"""


def test_a_column_without_loops_has_one_thread(run):
    u = RANDOM.random((70, 3))

    np.testing.assert_array_equal(run(alone(SWEEPS), u=u)["u"], u + u)


def test_the_columns_of_several_loops_are_counted_in_one_row(run):
    u = RANDOM.random((70, 3))

    np.testing.assert_array_equal(run(alone(POINTS), u=u)["u"], u * np.arange(70.0)[:, None])
