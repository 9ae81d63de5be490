"""The option `effort` searches for a plan: of values by default, of all decisions, or not."""

import re

import pytest
from tests.generated.large import large_case, program_of
from tests.generated.large_arguments import arguments_of

import fieldforge as ff
from fieldforge.stages import CpuTarget, Patches
from fieldforge.stages.codegen.cpu.options import MACHINES, CpuOptions
from fieldforge.stages.codegen.cpu.planning import moves
from fieldforge.stages.codegen.plan.machine import CLASSES, CpuClass
from fieldforge.stages.ir.loops.reader import read
from fieldforge.workflows.builds.building import trace
from fieldforge.workflows.tuning.subject import make_subject

from ....processes import python

STENCILS, MESH, GRID = 51, 17, 13  # seeds
SHOW = """
from tests.stages.codegen.cpu.test_planning import generated
print(generated(51, effort=2).text)
"""


def generated(seed, **options):
    """Return what codegen makes of a drawn program."""
    backend = ff.cpu.with_options(**options) if options else ff.cpu
    program = program_of(large_case(seed)).with_backend(backend)
    subject = make_subject(program, arguments_of(large_case(seed), 10_000, ff.cpu))
    entry = subject.on(backend)
    steps = trace(entry.__definition__, entry.backend, subject.variant(entry), "codegen")
    return steps["codegen"]


def names(seed, **options):
    """Return the moves of the plan of a drawn program, by name."""
    loops = read(generated(seed, **options).loops)
    return {move.name: move.other for move in moves(loops, CpuOptions(CpuTarget(), **options))}


def test_two_processes_find_one_plan():
    found = set()
    for seed in ("0", "1"):
        found.add(python("-c", SHOW, check=True, env={"PYTHONHASHSEED": seed}).stdout)

    assert found == {generated(STENCILS, effort=2).text + "\n"}


@pytest.mark.parametrize("seed", [STENCILS, MESH, GRID])
def test_results_keep_their_bits(seed):
    case = large_case(seed)
    results = []
    for effort in range(3):
        backend = ff.cpu.with_options(effort=effort)
        subject = make_subject(
            program_of(case).with_backend(backend), arguments_of(case, 10_000, ff.cpu)
        )
        subject.call(backend)()
        results.append(subject.results())

    first, *others = results
    for other in others:
        assert first.keys() == other.keys()
        for name, values in first.items():
            assert values.tobytes() == other[name].tobytes()


def test_a_value_that_the_user_wants_in_place_stays_there():
    (first, *_) = re.findall(r"(%\d+) is an array: asked for, or planned", generated(GRID).loops)

    assert f"{first} is an array" not in generated(GRID, inline=(first,)).loops


def test_moves_are_what_a_tree_shows():
    tiled = names(STENCILS)
    assert {"pass tile", "size of tiles", "prefetch", "non-temporal stores", "%64"} <= tiled.keys()
    assert "portions" not in tiled

    plain = names(STENCILS, passes=("plan_arena",), prefetch=False)
    assert "pass tile" not in plain
    assert "non-temporal stores" not in plain
    assert plain["prefetch"] == "on"


def test_patches_of_a_mesh_can_be_left_out_and_taken_again():
    sizes = Patches(elements=64, portion=16, least_bytes=1)

    assert "portions" in names(MESH, patches=sizes)
    assert names(MESH, patches=False)["portions"] == "on"


def test_every_class_of_cpus_has_a_name():
    assert {*MACHINES} == {name for name, each in CLASSES.items() if isinstance(each, CpuClass)}
