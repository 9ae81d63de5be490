import pytest

from fieldforge.runtime.process.errors import OptionError
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.target import CpuTarget, Target
from fieldforge.workflows.backends import recipes
from fieldforge.workflows.backends.backend import (
    BACKENDS,
    ROWS,
    Backend,
    cpu,
    find_backend,
    gtfn_cpu,
    itir_python,
    reference,
)
from fieldforge.workflows.backends.first_tier import first_tier
from fieldforge.workflows.engine.handle import own_components
from fieldforge.workflows.graph.graph import Workflow
from fieldforge.workflows.graph.text import show_value

from ...processes import python


def nothing_changes(program):
    return program


def keep_loops(kernel, rules):
    return kernel


def tile_nothing(kernel, rules):
    return kernel


@pytest.mark.parametrize(
    ("given", "option", "value", "default"),
    [
        ({"fold": False}, "lower.fold", False, True),
        ({"lower.fold": False}, "lower.fold", False, True),
        ({"cxx": "clang++"}, "compile.cxx", "clang++", None),
    ],
    ids=["on every stage that has it", "its stage is named", "it does not count for equality"],
)
def test_option_is_set(given, option, value, default):
    assert cpu.with_options(**given).options[option] == value
    assert cpu.options[option] == default


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda: cpu.with_options(fould=True), r"'cpu' has no option 'fould'.\nHint: .* 'fold'"),
        (lambda: cpu.with_options(numerics="sloppy"), r"'numerics' of stage 'lower' .* 'sloppy'"),
        (lambda: reference.with_passes(tile=None), "'reference' has no passes over loops"),
    ],
    ids=["an unknown option", "another value", "a backend without loops"],
)
def test_what_a_backend_does_not_have_is_refused(change, words):
    with pytest.raises(OptionError, match=words):
        change()


def test_target_is_that_of_the_stages():
    target = Target(isa="x86-64-v3", cores=4)

    assert recipes.cpu(target=target).target == target
    assert reference.target is None


def test_workflow_of_a_backend_can_be_changed():
    changed = cpu.with_workflow(cpu.workflow.insert_after("lower", nothing_changes))

    assert "nothing_changes" in changed.workflow
    assert changed.name == "cpu"


def test_loop_passes_are_replaced_removed_and_added():
    changed = cpu.with_passes(keep_loops, before="plan_arena", tile=tile_nothing, stream=None)

    assert changed.options["codegen.passes"] == (
        tile_nothing, "march", "prefetch", "unswitch", "slide", "patch", keep_loops, "plan_arena",
    )  # fmt: skip
    assert cpu.options["codegen.passes"][0] == "tile"


def test_source_of_a_loop_pass_is_in_the_key():
    changed = cpu.with_passes(tile=tile_nothing)

    ours, own = (own_components(each.workflow["codegen"]) for each in (cpu, changed))

    assert ours["option.passes"].startswith("('tile', ")
    assert len(own["option.passes"]) == 64
    assert (
        own["option.passes"]
        != (own_components(cpu.with_passes(tile=keep_loops).workflow["codegen"])["option.passes"])
    )


def test_text_of_a_workflow_names_loop_passes():
    flow = cpu.with_passes(keep_loops, after="tile").workflow

    read = Workflow.parse(str(flow), {**recipes.registry(), "keep_loops": keep_loops})

    assert "passes=('tile', keep_loops, 'stream'" in str(flow)
    assert read == flow


def test_text_of_our_workflows_parses_back():
    for backend in (cpu, reference, recipes.cpu(fold=False, target=Target(cores=3))):
        text = str(backend.workflow)
        assert Workflow.parse(text, recipes.registry()) == backend.workflow


def test_one_lower_feeds_two_backends():
    merged = Workflow.merge(cpu=cpu.workflow, reference=reference.workflow)

    assert merged.names.count("lower") == 1
    assert {"codegen", "interpret"} <= set(merged.names)


def test_aliases_are_the_backends_that_they_stand_for():
    assert (gtfn_cpu, itir_python) == (cpu, reference)


def test_every_row_is_found_by_its_name_and_its_aliases():
    for row in ROWS:
        for name in (row.name, *row.aliases):
            assert find_backend(name) is BACKENDS[row.name]
            assert find_backend(name).allocator is row.allocator


def test_a_target_of_the_old_name_is_read():
    read = Workflow.parse("codegen(target=Target(isa='x86-64-v3'))", recipes.registry())

    assert read["codegen"].target == CpuTarget(isa="x86-64-v3")


def test_text_with_a_gpu_parses_back():
    text = show_value(GpuTarget("sm_90"))

    assert eval(text, {"GpuTarget": GpuTarget}) == GpuTarget("sm_90")
    assert recipes.registry()["GpuTarget"] is GpuTarget


def test_backend_is_found_by_name():
    assert find_backend("cpu") is cpu
    assert find_backend("embedded") is None
    assert isinstance(find_backend(recipes.reference()), Backend)


def test_unknown_backend_names_the_nearest():
    with pytest.raises(
        OptionError, match=r"no backend 'refrence'.\nHint: Did you mean 'reference'"
    ):
        find_backend("refrence")


def test_import_neither_probes_the_machine_nor_loads_what_is_heavy():
    script = (
        "import sys, fieldforge.stages.target as target\n"
        "target.CpuTarget.host = None\n"
        "import fieldforge.workflows.entries.decorators, fieldforge.workflows.backends.backend\n"
        "heavy = {'networkx', 'dace', 'cupy', 'rich', 'click', 'matplotlib', 'structlog'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )

    done = python("-c", script, check=True)

    assert done.stdout.strip() == "[]"


def test_processes_do_not_wait_for_results_of_the_first_tier():
    kept = [step.stage for step in first_tier(cpu).plan if step.stage.cache == "disk"]

    assert [stage.name for stage in kept] == ["parse", "lower", "encode", "bind"]
    assert not any(stage.is_awaited for stage in kept)
