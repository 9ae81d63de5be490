"""A fresh process imports what it uses and no more, and a warm one imports no compiler of ours."""

import ast
from pathlib import Path

import attrs
import pytest

import fieldforge as ff
from fieldforge.cache.code import reach, read_sources
from fieldforge.runtime.embedded import builtins
from fieldforge.workflows.backends import pipelines

from .processes import python

FOREIGN = (
    "click", "concurrent.futures", "cupy", "dace", "difflib", "logging", "matplotlib", "networkx",
    "rich", "structlog", "subprocess", "sympy", "tempfile",
)  # fmt: skip
WORKERS = (
    "stages.bind.plans", "stages.codegen.cpu.text.kernel", "stages.codegen.schedule.schedule",
    "stages.compile.command", "stages.interpret.evaluation", "stages.interpret.stage",
    "stages.ir.dataflow", "stages.ir.loops.kernel",
    "stages.ir.loops.nest", "stages.ir.loops.verify", "stages.ir.syntax", "stages.lower.build",
    "stages.lower.passes", "stages.parse.definition", "stages.parse.meanings",
    "runtime.calls.refusals", "runtime.embedded.builtin_meanings", "runtime.embedded.embedded",
    "runtime.embedded.piecewise_field", "runtime.gpu", "runtime.language.regions",
    "stages.gpu_target",
    "workflows.batches.collective", "workflows.engine.executors",
    "workflows.engine.inspection", "workflows.batches.lock_file", "workflows.batches.orders",
    "workflows.batches.precompile", "workflows.builds.background", "workflows.builds.order",
    "workflows.builds.pool", "workflows.engine.reasons", "workflows.engine.request",
    "workflows.entries.cut_definition", "workflows.entries.embedded_ranges",
    "workflows.entries.pickling",
)  # fmt: skip

NOT_FOR_THE_FIRST_TIER = (
    "stages.codegen.acts", "stages.codegen.schedule.columns", "workflows.entries.recording",
    "stages.codegen.cpu.passes.marching",
    "stages.codegen.cpu.passes.portions", "stages.codegen.cpu.passes.sliding",
    "stages.codegen.cpu.passes.unswitching",
    "stages.codegen.cpu.text.kernel", "stages.codegen.gpu", "stages.codegen.mesh",
    "stages.compile.command", "stages.ir.dataflow_reader", "stages.ir.loops.gpu",
    "stages.ir.loops.text", "cache.failures", "runtime.gpu", "workflows.engine.request",
)  # fmt: skip

IMPORT = "import fieldforge"
NAMES = """
from fieldforge import Dimension, Dims, Field, as_field, cpu, field_operator, float64, program
from fieldforge import Collector, Connectivity, Engine, FieldOffset, neighbor_sum, using, where
"""
ALL_NAMES = """
import sys, threading
import fieldforge as ff
start, found = threading.Barrier(8), []
def look(step):
    start.wait()
    names = [*ff.__all__, "sum"]
    found.append({name: getattr(ff, name) for name in names[::step]})
threads = [threading.Thread(target=look, args=[step]) for step in (1, -1) * 4]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert len(found) == 8
assert all(each[name] is getattr(ff, name) for each in found for name in each)
"""
VERSION = """
import sys
from fieldforge.workflows.commands.start import main
sys.argv = ["fieldforge", "--version"]
main()
"""
ON_A_CPU = """
from fieldforge.runtime.fields.patch_lists import bring
assert bring(bytes(8), 1, 0)[1] > 0
"""
FIRST_CALL = """
import fieldforge as ff
from fieldforge.examples.diffusion import I, J, K, diffuse
program = diffuse.with_backend(ff.cpu)
u = ff.ones({I: (-2, 6), J: (-2, 6), K: 3}, allocator=ff.cpu)
coeff = ff.full({I: 4, J: 4, K: 3}, 0.05, allocator=ff.cpu)
out = ff.zeros({I: 4, J: 4, K: 3}, allocator=ff.cpu)
program(u, coeff, out)
assert (out.asnumpy() == 1.0).all()
"""
FIRST_CALL_OF_ANOTHER = """
import fieldforge as ff
from fieldforge.examples.laplacians import I, J, K, seven_points
u = ff.ones({I: (-1, 5), J: (-1, 5), K: (-1, 4)}, allocator=ff.cpu)
out = ff.zeros({I: 4, J: 4, K: 3}, allocator=ff.cpu)
seven_points.with_backend(ff.cpu)(u, out)
"""
ON_A_MESH = """
import numpy as np
import fieldforge as ff
from fieldforge.examples.icosahedral import Edge, E2V, E2VDim, Vertex
ff.as_connectivity([Edge, E2VDim], Vertex, np.zeros((3, 2), np.int32))
"""


def imported(script: str, **environment: str) -> set[str]:
    """Run a script in a process of its own and return the modules that it has imported."""
    done = python("-c", f"{script}\nimport sys\nprint(*sys.modules)", check=True, env=environment)
    return set(done.stdout.split())


def ours(names: tuple[str, ...]) -> set[str]:
    return {f"fieldforge.{name}" for name in names}


def test_an_import_alone_brings_nothing_but_the_face():
    found = {name for name in imported(IMPORT) if name.partition(".")[0] == "fieldforge"}

    assert found == {"fieldforge", *ours(("runtime", "runtime.start"))} | ours(
        ("runtime.start.error_text", "runtime.start.excepthook", "runtime.start.own_modules")
    )
    assert imported(IMPORT).isdisjoint({*FOREIGN, "attrs", "numpy"})


def test_the_version_is_told_before_more_is_imported():
    found = imported(VERSION)

    assert "fieldforge.workflows.commands.start" in found
    assert found.isdisjoint({*FOREIGN, "attrs", "numpy"})


def test_the_names_of_a_program_bring_no_heavy_package_and_nothing_that_builds():
    found = imported(NAMES)

    assert "fieldforge.workflows.entries.decorators" in found
    assert found.isdisjoint(FOREIGN)
    assert found.isdisjoint(ours(WORKERS))


def test_names_may_be_used_first_by_several_threads_at_once():
    assert "fieldforge.workflows.tuning.tune" in imported(ALL_NAMES)


def test_patches_of_a_mesh_on_a_cpu_need_no_gpu_runtime():
    assert imported(ON_A_CPU).isdisjoint(ours(("runtime.gpu", "runtime.gpu.native")))


def test_no_stage_has_a_converter_whose_signature_attrs_would_tokenize():
    stages = pipelines.stages().values()

    converters = {field.converter for stage in stages for field in attrs.fields(stage)}

    assert {kind.__name__ for kind in converters if isinstance(kind, type)} <= {"str"}


@pytest.mark.needs_compiler
def test_a_first_call_from_the_store_imports_nothing_that_builds(tmp_path):
    cold = imported(FIRST_CALL, FIELDFORGE_CACHE_DIR=str(tmp_path))
    warm = imported(FIRST_CALL, FIELDFORGE_CACHE_DIR=str(tmp_path))

    built_with = {
        name
        for name in ours(WORKERS) - ours(("stages.interpret.evaluation", "stages.interpret.stage"))
        if ".stages." in name and "gpu" not in name
    }
    assert built_with <= cold, "the names of this test are out of date"
    assert warm.isdisjoint(FOREIGN)
    assert warm.isdisjoint(ours(WORKERS))


@pytest.mark.needs_compiler
def test_a_first_call_on_the_first_tier_imports_no_writer_of_c(tmp_path):
    store = {"FIELDFORGE_CACHE_DIR": str(tmp_path), "FIELDFORGE_BUILD_AFTER": "3600"}
    imported(FIRST_CALL_OF_ANOTHER, FIELDFORGE_TIERS="compiled", **store)  # finds the compiler

    found = imported(FIRST_CALL, FIELDFORGE_TIERS="both", **store)

    assert "fieldforge.stages.encode.tree" in found
    assert found.isdisjoint({*FOREIGN, "attrs", "shutil", "numpy.ma"})
    assert found.isdisjoint(ours(NOT_FOR_THE_FIRST_TIER))


def test_a_mesh_of_the_examples_brings_no_heavy_package():
    assert imported(ON_A_MESH).isdisjoint({*FOREIGN, "attrs", "numpy.ma"})


def test_what_a_stage_imports_late_is_part_of_its_key():
    sources = read_sources(str(Path(ff.__file__).parent), None)

    lower = reach(sources, ["stages.lower.stage"])
    parse = reach(sources, ["stages.parse.stage"])

    assert {"stages/lower/build.py", "stages/lower/boxes/infer_boxes.py"} <= set(lower)
    assert {"stages/parse/statements.py", "stages/ir/syntax.py"} <= set(parse)
    assert not any(name.startswith("runtime/fields/") for name in lower)


def test_public_names_that_come_late_are_there():
    for name in ff.__all__:
        assert getattr(ff, name) is not None, name
    assert set(ff.__all__) - set(ff._OF_GT4PY) <= set(dir(ff))
    assert not hasattr(ff, "precompil")
    assert not hasattr(ff, "concat_where")  # of 'ff.experimental'
    assert "sum" in dir(ff)


def test_names_that_only_programs_of_gt4py_import_are_hidden():
    shown = set(dir(ff))

    assert len(set(ff._OF_GT4PY)) == len(ff._OF_GT4PY)
    assert all(hasattr(ff, name) for name in ff._OF_GT4PY)
    assert shown.isdisjoint({*ff._OF_GT4PY, "runtime", "stages", "_LATE"})
    assert {"program", "config", "cartesian", "experimental", "__version__"} <= shown


def test_type_checkers_learn_the_names_of_the_face_from_the_same_places():
    tree = ast.parse(Path(ff.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))

    told = {
        (f"{'.' * node.level}{node.module or ''}", alias.name)
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    late = {(place, name) for place, names in ff._PLACES.items() for name in names}
    language = {(".runtime.embedded.builtins", name) for name in ff._BUILTINS}
    assert [*ff._BUILTINS] == builtins.__all__
    assert told - {(".runtime.embedded.builtins", "*"), (".", "errors")} == late - language
