"""A fresh process imports what it uses and no more, and a warm one imports no compiler of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fieldforge as ff
from fieldforge.cache.code import reach, read_sources

FOREIGN = (
    "click", "concurrent.futures", "cupy", "dace", "difflib", "logging", "matplotlib", "networkx",
    "rich", "structlog", "subprocess", "sympy", "tempfile",
)  # fmt: skip
WORKERS = (
    "stages.bind.plans", "stages.codegen.cpp.kernel", "stages.codegen.schedule.schedule",
    "stages.compile.command", "stages.interpret.evaluation", "stages.interpret.stage",
    "stages.ir.dataflow", "stages.ir.dataflow_reader", "stages.ir.loops", "stages.ir.nest_groups",
    "stages.ir.nests", "stages.ir.syntax", "stages.lower.build",
    "stages.lower.passes", "stages.parse.definition", "stages.parse.meanings",
    "runtime.embedded.embedded", "workflows.batches.collective", "workflows.engine.executors",
    "workflows.engine.inspection", "workflows.batches.lock_file", "workflows.batches.orders",
    "workflows.batches.precompile", "workflows.builds.background", "workflows.builds.order",
    "workflows.builds.pool", "workflows.engine.reasons", "workflows.engine.request",
    "workflows.entries.embedded_ranges",
)  # fmt: skip

IMPORT = "import fieldforge"
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


def imported(script: str, **environment: str) -> set[str]:
    """Run a script in a process of its own and return the modules that it has imported."""
    done = subprocess.run(
        [sys.executable, "-c", f"{script}\nimport sys\nprint(*sys.modules)"],
        env={**os.environ, **environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stdout.split())


def ours(names: tuple[str, ...]) -> set[str]:
    return {f"fieldforge.{name}" for name in names}


def test_an_import_brings_no_heavy_package_and_nothing_that_builds():
    found = imported(IMPORT)

    assert "fieldforge.workflows.entries.decorators" in found
    assert found.isdisjoint(FOREIGN)
    assert found.isdisjoint(ours(WORKERS))


@pytest.mark.needs_compiler
def test_a_first_call_from_the_store_imports_nothing_that_builds(tmp_path):
    cold = imported(FIRST_CALL, FIELDFORGE_CACHE_DIR=str(tmp_path))
    warm = imported(FIRST_CALL, FIELDFORGE_CACHE_DIR=str(tmp_path))

    built_with = {
        name
        for name in ours(WORKERS) - ours(("stages.interpret.evaluation", "stages.interpret.stage"))
        if ".stages." in name
    }
    assert built_with <= cold, "the names of this test are out of date"
    assert warm.isdisjoint(FOREIGN)
    assert warm.isdisjoint(ours(WORKERS))


def test_what_a_stage_imports_late_is_part_of_its_key():
    sources = read_sources(str(Path(ff.__file__).parent), None)

    lower = reach(sources, ["stages.lower.stage"])
    parse = reach(sources, ["stages.parse.stage"])

    assert {"stages/lower/build.py", "stages/lower/boxes/infer_boxes.py"} <= set(lower)
    assert {"stages/parse/statements.py", "stages/ir/syntax.py"} <= set(parse)


def test_public_names_that_come_late_are_there():
    for name in ff.__all__:
        assert getattr(ff, name) is not None, name
    assert set(ff.__all__) <= set(dir(ff))
    assert not hasattr(ff, "precompil")
