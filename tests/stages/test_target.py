import os

import attrs
import pytest

from fieldforge.stages import Target, host_isa, target as module


def test_native_becomes_a_named_instruction_set() -> None:
    assert Target.host().isa == host_isa() != "native"
    assert Target.host("x86-64-v2").isa == "x86-64-v2"


def test_an_unknown_instruction_set_is_refused() -> None:
    with pytest.raises(ValueError, match="Unknown instruction set 'native'; expected one of"):
        Target(isa="native")


def test_hosts_of_one_instruction_set_are_one_class(monkeypatch) -> None:
    """Cores and caches of the machine at hand have no part in it."""
    here = Target.host()
    monkeypatch.setattr(os, "cpu_count", lambda: 4711)
    assert Target.host() == here
    assert here.l2 == 1 << 20
    assert not hasattr(module, "_PROCESSORS")


def test_wider_vectors_favour_recomputing() -> None:
    narrow, wide = (Target(isa=isa).operations_per_element(8) for isa in ("x86-64-v2", "x86-64-v3"))
    assert wide == 2 * narrow


def test_a_target_is_a_value() -> None:
    target = Target(isa="x86-64-v3", cores=4)
    assert attrs.evolve(target, cores=4) == target
    assert target.bandwidth == 120e9
