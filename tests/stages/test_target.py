from __future__ import annotations

import os

import attrs
import pytest

from fieldforge.stages import target as module
from fieldforge.stages.target import Target, host_isa


def test_native_becomes_a_named_instruction_set() -> None:
    assert Target.host().isa == host_isa() != "native"
    assert Target.host("x86-64-v2").isa == "x86-64-v2"


def test_an_unknown_instruction_set_is_refused() -> None:
    with pytest.raises(ValueError, match="Unknown instruction set 'native'; expected one of"):
        Target(isa="native")


def test_a_host_has_the_processors_of_the_machine_not_those_of_the_process() -> None:
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this system binds no processes")
    whole, own = Target.host(), os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(own)})
    try:
        assert Target.host() == whole
    finally:
        os.sched_setaffinity(0, own)


def test_without_the_lists_of_the_system_the_interpreter_counts(monkeypatch) -> None:
    monkeypatch.setattr(module, "_PROCESSORS", "/nowhere")
    assert Target.host().cores == os.cpu_count()


def test_wider_vectors_favour_recomputing() -> None:
    narrow, wide = (Target(isa=isa).operations_per_element(8) for isa in ("x86-64-v2", "x86-64-v3"))
    assert wide == 2 * narrow


def test_a_target_is_a_value() -> None:
    target = Target(isa="x86-64-v3", cores=4)
    assert attrs.evolve(target, cores=4) == target
    assert target.bandwidth == 120e9
