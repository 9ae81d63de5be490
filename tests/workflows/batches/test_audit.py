"""Programs give the same bytes in every process; of others the first stage is shown."""

import pytest
from click.testing import CliRunner

from fieldforge.workflows.batches.audit import AuditError, audit
from fieldforge.workflows.commands.cli import main

EXAMPLES = [
    f"fieldforge.examples.{name}"
    for name in (
        "diffusion:diffuse", "terrain:smooth_step", "laplacians:seven_points",
        "laplacians:twenty_seven_points", "tridiagonal:solve", "vertical_advection:advect",
        "precipitation:precipitate", "saturation_adjustment:adjust",
    )
]  # fmt: skip

UNSTEADY = """
import os
import attrs
import fieldforge as ff

I = ff.Dimension("I")
Line = ff.Field[ff.Dims[I], ff.float64]

def shuffle(program):
    names = sorted({"a", "b", "c", "d", "e", "f", "g", "h"}, key=hash)
    return attrs.evolve(program, name="rise_" + "".join(names))

def steady(program):
    return program

BACKEND = ff.cpu.with_workflow(ff.cpu.workflow.insert_after("lower", WHICH))

@ff.field_operator(backend=BACKEND)
def rise(u: Line) -> Line:
    return u(I + 1) - u
"""


def model(tmp_path, which):
    file = tmp_path / f"with_{which}.py"
    file.write_text(UNSTEADY.replace("WHICH", which))
    return f"{file}:rise"


def test_examples_give_the_same_bytes_under_other_seeds_imports_and_paths():
    found = audit(EXAMPLES, runs=2)

    assert [str(each) for each in found] == []


def test_a_pass_that_depends_on_the_hash_seed_is_found_with_its_stage_and_diff(tmp_path):
    """The other program is the same in processes that reach its file by different paths."""
    steady, shuffled = (model(tmp_path, which) for which in ("steady", "shuffle"))

    (found,) = audit([steady, shuffled])

    assert found.program == shuffled
    assert found.stage == "shuffle"
    assert "\n-program rise_" in found.diff
    assert "\n+program rise_" in found.diff


def test_a_program_that_cannot_be_lowered_is_an_error(tmp_path):
    with pytest.raises(AuditError, match="A process of the audit failed"):
        audit([model(tmp_path, "nothing")])


def test_the_command_ends_with_1_where_something_differs(tmp_path):
    done = CliRunner().invoke(main, ["audit", model(tmp_path, "shuffle")])

    assert done.exit_code == 1
    assert "stage 'shuffle' differs between processes." in done.output
