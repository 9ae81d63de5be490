"""The passes over loops as a list: in order, traced one by one, replaced, removed, extended."""

import attrs
import pytest

from fieldforge.runtime.process.errors import OptionError
from fieldforge.stages.artifacts import Variant
from fieldforge.stages.codegen import arena, passes
from fieldforge.stages.codegen.cpu.options import CPU_PASSES
from fieldforge.stages.codegen.cpu.pass_list import cpu_passes
from fieldforge.stages.codegen.cpu.passes.tiling import tile
from fieldforge.stages.codegen.cpu.stage import Codegen
from fieldforge.stages.codegen.gpu.options import GPU_PASSES
from fieldforge.stages.codegen.gpu.pass_list import gpu_passes
from fieldforge.stages.codegen.gpu.stage import CodegenGpu
from fieldforge.stages.codegen.pass_list import Rules, edited, name_of
from fieldforge.stages.codegen.passes import make_loops
from fieldforge.stages.ir.loops.cpu import Tiles
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show
from fieldforge.stages.ir.loops.traverse import walk

from .programs import TARGET, I, all_unit, laplacians

RULES = Rules(TARGET)


def note(kernel, rules):
    return attrs.evolve(kernel, notes=(*kernel.notes, f"seen with {rules.target.isa}"))


def drop_buffers(kernel, _):
    return attrs.evolve(kernel, buffers=())


def return_nothing(kernel, _):
    return None


def test_each_platform_has_a_function_for_each_name():
    assert tuple(map(name_of, cpu_passes(CPU_PASSES))) == CPU_PASSES
    assert tuple(map(name_of, gpu_passes(GPU_PASSES))) == GPU_PASSES
    assert cpu_passes(["patch"]) != gpu_passes(["patch"])


def test_watch_sees_the_kernel_after_the_schedule_and_each_pass():
    seen = {}

    steps = cpu_passes(CPU_PASSES)
    kernel, _ = make_loops(laplacians(3), Variant(), RULES, steps, seen.__setitem__)

    assert list(seen) == ["schedule", *CPU_PASSES]
    tiles = {name: [n for n in walk(seen[name]) if isinstance(n, Tiles)] for name in seen}
    assert not tiles["schedule"]
    assert tiles["tile"]
    assert not seen["unswitch"].slots
    assert seen["plan_arena"] == kernel


def test_the_arena_is_planned_and_the_last_kernel_verified_once(monkeypatch):
    planned, verified = [], []

    def count_plan(kernel, rules):
        planned.append(kernel)
        return arena.plan_arena(kernel, rules)

    def count_verify(kernel):
        verified.append(kernel)
        return kernel

    monkeypatch.setattr(passes, "verify", count_verify)

    make_loops(laplacians(3), Variant(), RULES, (*cpu_passes(CPU_PASSES[:-1]), count_plan))

    assert len(planned) == 1
    assert len(verified) == 1


def test_an_error_tells_which_pass_broke_the_kernel_first():
    def break_it(kernel, rules):
        return attrs.evolve(kernel, buffers=(*kernel.buffers, kernel.buffers[0]))

    def stumble(kernel, rules):
        raise KeyError("a later pass")

    with pytest.raises(ValueError, match="two buffers have one name"):
        make_loops(laplacians(3), Variant(), RULES, (break_it, stumble))
    with pytest.raises(KeyError, match="a later pass"):
        make_loops(laplacians(3), Variant(), RULES, (stumble,))


def test_listings_show_what_each_pass_did():
    lowered = laplacians(3)
    stage = Codegen(target=TARGET)

    after = stage.after_passes(lowered=lowered, variant=all_unit(lowered, I))

    assert "  tiles arrays @" not in after["schedule"]
    assert "  tiles arrays @" in after["tile"]
    assert all(show(read(text)) == text for text in after.values())


def test_options_leave_passes_out():
    stage = Codegen(target=TARGET, prefetch=False, unswitch=False, stream_from=0)

    assert stage.chosen() == ("tile", "march", "slide", "patch", "plan_arena")


def test_a_users_pass_runs_in_its_place_with_the_rules():
    stage = Codegen(target=TARGET, passes=edited(CPU_PASSES, [note], {}, after="tile"))
    lowered = laplacians(3)

    after = stage.after_passes(lowered=lowered, variant=Variant())

    assert list(after)[1:4] == ["tile", "note", "stream"]
    assert f"# seen with {TARGET.isa}" in after["note"]


def test_a_pass_that_breaks_the_rules_is_refused():
    with pytest.raises(ValueError, match="unknown buffer"):
        make_loops(laplacians(2), Variant(), RULES, (drop_buffers, arena.plan_arena))
    with pytest.raises(OptionError, match="'return_nothing' returned a 'NoneType'"):
        make_loops(laplacians(2), Variant(), RULES, (return_nothing,))


def test_arrays_without_memory_are_refused():
    with pytest.raises(OptionError, match=r"no memory.\nHint: Let 'plan_arena' run last"):
        make_loops(laplacians(3), Variant(), RULES, (tile,))


def test_lists_that_cannot_run_are_refused():
    with pytest.raises(OptionError, match=r"no loop pass 'tyle'.\nHint: Did you mean 'tile'"):
        Codegen(target=TARGET, passes=("tyle",))
    with pytest.raises(OptionError, match="no loop pass 'tile'"):
        CodegenGpu(passes=("tile",))
    with pytest.raises(OptionError, match="two loop passes 'note'"):
        Codegen(target=TARGET, passes=(note, note))
    with pytest.raises(OptionError, match="a named function from 'Kernel'"):
        Codegen(target=TARGET, passes=(lambda kernel, rules: kernel,))


def test_a_pass_needs_a_place():
    with pytest.raises(OptionError, match=r"Where does loop pass 'note' run"):
        edited(CPU_PASSES, [note], {})
    with pytest.raises(OptionError, match=r"runs no loop pass 'tyle'"):
        edited(CPU_PASSES, [], {"tyle": None})
