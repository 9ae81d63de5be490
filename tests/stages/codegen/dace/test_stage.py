import hashlib
import itertools
import os
import threading
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from fieldforge.stages.artifacts import Variant
from fieldforge.stages.codegen.cpu.stage import Codegen
from fieldforge.stages.codegen.dace import settings as sdfg_settings
from fieldforge.stages.codegen.dace.settings import DaceNotFoundError, dace_version
from fieldforge.stages.codegen.dace.stage import CodegenDace
from fieldforge.stages.ir.bounds import Const, Range
from fieldforge.stages.lower.graph import Graph
from fieldforge.stages.target import Target

from ....processes import python
from .. import programs

# What is true of the compiled code of the CPU backend is true of this one's.
from ..cpu.text.test_kernel import (  # noqa: F401
    test_a_field_is_updated_in_place_in_two_parts,
    test_an_empty_domain_touches_nothing,
    test_chains_of_stencils_agree_bit_for_bit_in_any_layout,
    test_constants_and_fields_without_dimensions_are_written,
    test_two_fields_are_swapped_by_one_statement,
    test_values_over_fewer_dimensions_scalars_and_bools_meet,
)
from ..programs import REAL, TARGET, I, J, K, Runner, all_unit, laplacians, make_program, whole
from ..rows.test_operations import test_every_operation_has_the_values_of_the_language  # noqa: F401

pytestmark = [pytest.mark.needs_dace, pytest.mark.needs_compiler]

RNG = np.random.default_rng(3)
PRINT_FILES = """
import hashlib
from programs import TARGET, laplacians
from fieldforge.stages.artifacts import Variant
from fieldforge.stages.codegen.dace.stage import CodegenDace
results = CodegenDace(target=TARGET).run(lowered=laplacians(5), variant=Variant(unit=(("u", "I"),)))
for port, artifact in sorted(results.items()):
    for name, data in sorted(artifact.files().items()):
        print(port, name, hashlib.sha256(data).hexdigest())
"""


@pytest.fixture(autouse=True)
def runner_uses_dace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "Codegen", CodegenDace)


def results_of(lowered: Any, variant: Variant | None = None, **options: Any) -> Any:
    return CodegenDace(target=TARGET, **options).run(lowered=lowered, variant=variant or Variant())


def print_files(directory: Path, **variables: str) -> str:
    return python(
        "-c",
        PRINT_FILES,
        check=True,
        cwd=directory,
        env={
            "PYTHONPATH": os.pathsep.join(
                [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
            ),
            **variables,
        },
    ).stdout


def test_the_runner_of_these_tests_compiles_text_of_dace() -> None:
    assert "void __program_kernel_internal(" in results_of(laplacians(1))["generated"].source
    assert Runner(laplacians(1)).loops.startswith("sdfg of chain\n")


def test_bytes_depend_on_no_seed_variable_or_file_and_no_file_is_left(tmp_path: Path) -> None:
    there, home = tmp_path / "there", tmp_path / "home"
    there.mkdir()
    home.mkdir()
    (home / ".dace.conf").write_text("compiler:\n  cpu:\n    openmp_sections: true\n")

    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    other = print_files(
        there, PYTHONHASHSEED=seed, HOME=str(home), DACE_compiler_cpu_openmp_sections="1"
    )

    plain = results_of(laplacians(5), Variant(unit=(("u", "I"),)))
    assert other.splitlines() == [
        f"{port} {name} {hashlib.sha256(data).hexdigest()}"
        for port, artifact in sorted(plain.items())
        for name, data in sorted(artifact.files().items())
    ]
    assert len(other.splitlines()) == 4
    assert list(there.iterdir()) == []
    assert [path.name for path in home.iterdir()] == [".dace.conf"]


def test_the_configuration_of_dace_is_left_as_it_was() -> None:
    from dace.config import Config

    Config.set("compiler", "cpu", "openmp_sections", value=True)
    try:
        results_of(laplacians(1))
        assert Config.get("compiler", "cpu", "openmp_sections") is True
    finally:
        default = Config.get_default("compiler", "cpu", "openmp_sections")
        Config.set("compiler", "cpu", "openmp_sections", value=default)


def test_dace_looks_for_no_place_in_the_call_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    """That took most of the time of a build."""

    def stack(*_: object) -> None:
        raise AssertionError("the call stack was inspected")

    monkeypatch.setattr("dace.sdfg.state.inspect.stack", stack)
    assert results_of(laplacians(2))["generated"].source


def test_the_interface_is_that_of_the_cpu_but_for_the_name() -> None:
    lowered = laplacians(2)  # more are tiled, for which DaCe has other means
    ours = results_of(lowered)["interface"]
    stage = Codegen(target=TARGET)
    theirs: Any = stage.run(lowered=lowered, variant=Variant())["interface"]
    assert ours == attrs.evolve(theirs, backend="dace_cpu")


def test_the_source_needs_no_header_of_dace_and_restricts_no_pointer() -> None:
    source = results_of(laplacians(2))["generated"].source
    assert [line for line in source.splitlines() if "#include" in line] == []
    assert "restrict" not in source


def test_small_loops_stay_serial_and_the_inner_loop_is_vectorised() -> None:
    graph, dims = Graph(), (I, J, K)
    u = graph.input("u", dims, REAL)
    fields = [("u", REAL, dims), ("out", REAL, dims)]
    lowered = make_program("one", graph, fields, [("out", whole("out", dims), u)])
    source = results_of(lowered, all_unit(lowered, I), parallel_from=77)["generated"].source
    lines = [line.strip() for line in source.splitlines()]
    first = next(i for i, line in enumerate(lines) if line.startswith("#pragma omp parallel"))
    counts = " * ".join(f"(out_{dim}_stop - out_{dim}_start)" for dim in "KJI")
    shared = "#pragma omp parallel for collapse(2) schedule(static)"
    assert lines[first] == f"{shared} if ({counts} >= 77)"
    inner = next(i for i, line in enumerate(lines) if line.startswith("for (s64 lane0 = 0;"))
    assert lines[inner - 1] == "#pragma omp simd"


def test_the_listing_shows_states_maps_and_memlets() -> None:
    graph = Graph()
    u = graph.input("u", (I,), REAL)
    value = graph.map("add", (graph.shift(u, I, 1), graph.scalar("dt", REAL)))
    fields = [("u", REAL, (I,)), ("out", REAL, (I,)), ("dt", REAL, None)]
    lowered = make_program("one", graph, fields, [("out", whole("out", (I,)), value)])
    assert results_of(lowered, all_unit(lowered, I))["generated"].loops == (
        "sdfg of one\n"
        "  dt = scalar dt float64\n"
        "  u = field u float64 [I] strides (1)\n"
        "  out = field out float64 [I] strides (1)\n"
        "  out_I_start = start(out, I)\n"
        "  out_I_stop = stop(out, I)\n"
        "  # nest0: stores out; I has unit stride in 2 of 2 fields\n"
        "state state0_out\n"
        "  map nest0_v_I [v_I=out_I_start:out_I_stop] CPU_Multicore\n"
        "    u[0:u_0_size] ->\n"
        "    dt[0] ->\n"
        "    tasklet make_out\n"
        "      v0 <- u[v_I + 1]\n"
        "      x0 <- dt[0]\n"
        "        const f64 v2 = v0 + x0;\n"
        "        o3 = v2;\n"
        "      o3 -> out[v_I]\n"
    )


def test_constant_bounds_below_zero_are_no_error_of_dace() -> None:
    graph = Graph()
    u = graph.input("u", (I,), REAL)
    box = (Range(I, Const(-3), Const(4)),)
    lowered = make_program("box", graph, [("u", REAL, (I,)), ("o", REAL, (I,))], [("o", box, u)])
    u_, o = RNG.random(12), np.zeros(12)

    Runner(lowered)(u_, o, origins=[(-5,), (-5,)])

    expected = np.zeros(12)
    expected[2:9] = u_[2:9]
    np.testing.assert_array_equal(o, expected)


def test_input_and_output_may_be_one_memory_where_the_plan_allows_it() -> None:
    graph = Graph()
    u = graph.input("u", (I,), REAL)
    value = graph.map("mul", (u, graph.map("add", (u, graph.literal(REAL, "1.0")))))
    fields = [("u", REAL, (I,)), ("out", REAL, (I,))]
    lowered = make_program("same", graph, fields, [("out", whole("out", (I,)), value)])
    u_ = RNG.random(1001)
    expected = u_ * (u_ + 1.0)
    runner = Runner(lowered, all_unit(lowered, I))
    assert runner.plan.accesses[0].pointwise == ((1, 0),)

    runner(u_, u_)

    np.testing.assert_array_equal(u_, expected)


def test_threads_that_call_at_once_share_one_state() -> None:
    lowered = laplacians(2)
    runner = Runner(lowered)
    u = RNG.random((24, 24))
    outs = [np.zeros((20, 20)) for _ in range(8)]
    calls = [
        threading.Thread(target=lambda out=out: runner(u, out, origins=[(-2, -2), (0, 0)]))
        for out in outs
    ]
    for call in calls:
        call.start()
    for call in calls:
        call.join()
    assert np.any(outs[0])
    for out in outs[1:]:
        np.testing.assert_array_equal(out, outs[0])


def test_without_dace_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sdfg_settings.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DaceNotFoundError, match="'dace' is not installed") as caught:
        CodegenDace(target=TARGET).environment()
    assert "pip install 'fieldforge[dace]'" in str(caught.value)


def test_another_series_of_dace_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "version.py").write_text("__version__ = '1.0.2'\n")
    found = ModuleSpec("dace", None, is_package=True)
    found.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(sdfg_settings.importlib.util, "find_spec", lambda name: found)
    with pytest.raises(DaceNotFoundError, match=r"needs DaCe 2\.0\.\*, got 1\.0\.2"):
        dace_version()


def test_the_version_of_dace_is_known_without_importing_it() -> None:
    code = (
        "import sys; from fieldforge.stages.codegen.dace.stage import CodegenDace;"
        "print(CodegenDace().environment()['dace'], 'dace' in sys.modules)"
    )
    done = python("-c", code, check=True)
    version, is_imported = done.stdout.split()
    assert version == dace_version()
    assert is_imported == "False"


# --- strips --------------------------------------------------------------------------------------


def test_rows_are_prefetched_before_the_loops_reach_them() -> None:
    lowered = laplacians(1)
    variant = all_unit(lowered, I)
    source = results_of(lowered, variant, jam=False)["generated"].source
    assert "const s64 ahead0 = i_J + 2 < out_J_stop - 1 ? i_J + 2 : out_J_stop - 1;" in source
    assert "const f64* q0 = u + (ahead0 + 1) * u_J_stride;" in source
    assert "__builtin_prefetch(q0 + at0" in source
    without = results_of(lowered, variant, prefetch=False)["generated"].source
    assert "__builtin_prefetch" not in without


@pytest.mark.parametrize("stream_from", [0, 1, 1 << 40])
def test_stores_past_the_caches_and_ends_of_rows_change_no_bit(stream_from: int) -> None:
    lowered = laplacians(1)
    variant = all_unit(lowered, I)
    source = results_of(lowered, variant, stream_from=stream_from)["generated"].source
    assert ("stream(s0 + at0, k0" in source) == bool(stream_from and TARGET.can_stream)
    run = Runner(lowered, variant, stream_from=stream_from)
    for size in (1, 8, 21, 64):
        u = np.asfortranarray(RNG.random((size + 2, 9)))
        out = np.full((size + 3, 7), -1.0, order="F")  # the rows begin at any address
        run(u, out[1:-2], origins=[(-1, -1), (0, 0)])
        ends = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        assert np.allclose(out[1:-2], 4.0 * u[1:-1, 1:-1] - ends, rtol=0, atol=1e-14)
        assert (out[0] == -1.0).all()
        assert (out[-2:] == -1.0).all()


@pytest.mark.parametrize("target", [TARGET, TARGET.host()], ids=["x86-64-v3", "host"])
def test_rows_that_begin_inside_of_a_line_are_stored_past_the_caches(target: Target) -> None:
    lowered = laplacians(1)
    variant = all_unit(lowered, I)
    source = results_of(lowered, variant, stream_from=1)["generated"].source
    assert "if (past0 && head0) __builtin_prefetch(s0 + " in source  # the ends of a later row
    run = Runner(lowered, variant, target=target, stream_from=1)
    for before, size in itertools.product(range(9), (1, 7, 8, 21, 40, 64)):
        u = np.asfortranarray(RNG.random((size + 2, 9)))
        whole = np.full((80, 7), -1.0, order="F")  # all rows begin at the same place of a line
        run(u, whole[before : before + size], origins=[(-1, -1), (0, 0)])
        ends = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        expected = 4.0 * u[1:-1, 1:-1] - ends
        assert np.allclose(whole[before : before + size], expected, rtol=0, atol=1e-14)
        assert (whole[:before] == -1.0).all()
        assert (whole[before + size :] == -1.0).all()


def test_checked_programs_walk_point_by_point() -> None:
    source = results_of(laplacians(1), all_unit(laplacians(1), I), checked=True)["generated"].source
    assert "lane0" not in source


@pytest.mark.parametrize("enabled", [True, pytest.param(False, marks=pytest.mark.in_full)])
def test_the_import_of_dace_leaves_the_collector_as_it_was(tmp_path: Path, enabled: bool) -> None:
    code = f"""
import gc, sys
from fieldforge.stages.codegen.dace.settings import MODULES, load_dace
(gc.enable if {enabled} else gc.disable)()
load_dace()
assert all(name in sys.modules for name in MODULES)
assert gc.isenabled() is {enabled}
assert gc.get_freeze_count() == 0
"""
    python("-c", code, check=True, cwd=tmp_path)
