"""Every program of the benchmark compiles for an H100, in few registers, and spills nothing.

`registers.json` has the most registers that a kernel of each program took when it was last
recorded, and with which compiler. A thread gets registers by eights, and another version may need
that much more: `TOLERANCE`. After a change of the schedule, record again and read the difference:

    RECORD=1 pytest tests/stages/compile/test_registers.py
"""

import importlib
import json
import os
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from fieldforge.runtime.gpu import GpuError
from fieldforge.runtime.gpu.compiler import nvrtc
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.workflows.backends.backend import BACKENDS

from ...selection import runs_all

TOLERANCE = 8
# Bytes that kernels may spill, as the listing says: measured faster than fewer blocks.
SPILLED = {"velocity.velocity_tendency": {"kp": 128, "k3": 32}}
HOME = Path(__file__).parent
BENCH = HOME.parents[2] / "bench"
RECORD = HOME / "registers.json"
GPU = BACKENDS["gpu"].with_options(target=GpuTarget("sm_90"))
SMALL = {"diffusion": 0.08, "mesh": 0.004, "velocity": 0.004, "laplacians": 0.05}


def is_whole(config):
    return runs_all(config) or "RECORD" in os.environ


@pytest.fixture(scope="module")
def programs(request):
    """Return the facts about the kernels of each program, by its name and precision.

    `make test` takes only every third program, in double precision.
    """
    whole = is_whole(request.config)
    dtypes = ("float64", "float32") if whole else ("float64",)
    try:
        nvrtc()
    except GpuError as error:
        pytest.skip(error.message)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        makers = importlib.import_module("cases").all_cases()
        for name in ("by_hand", "mesh", "velocity"):  # nothing by hand is called here
            patch.setattr(importlib.import_module(f"cases.{name}"), "compiled", MagicMock())
        return {
            f"{name} {dtype}": kernels_of(make(dtype, SMALL.get(name.partition(".")[0], 0.08)))
            for name, make in list(makers.items())[:: 1 if whole else 3]
            for dtype in dtypes
        }


def kernels_of(case):
    program = case.program.with_backend(GPU)
    made = program.trace(**case.arguments, offset_provider=case.tables, until="compile")
    return json.loads(made["compile"].text.partition("\n}\n")[0] + "\n}")["kernels"]


def test_registers_stay_within_what_was_recorded(programs, request):
    found = {
        name: max(each["registers"] for each in kernels.values())
        for name, kernels in programs.items()
    }
    if os.environ.get("RECORD"):
        version = ".".join(map(str, nvrtc().version))
        made = {"compiler": f"NVRTC {version}", "architecture": "sm_90", "registers": found}
        RECORD.write_text(json.dumps(made, indent=1) + "\n")
    recorded = json.loads(RECORD.read_text())["registers"]

    if is_whole(request.config):
        assert found.keys() == recorded.keys()
    assert found
    assert found.keys() <= recorded.keys()
    more = {
        name: f"{count} registers, recorded {recorded[name]}"
        for name, count in found.items()
        if count > recorded[name] + TOLERANCE
    }
    assert not more


def test_no_kernel_spills(programs):
    spilled = {
        f"{name}: {kernel}": taken["spilled"] + taken["stack"]
        for name, kernels in programs.items()
        for kernel, taken in kernels.items()
        if taken["spilled"] > SPILLED.get(name.partition(" ")[0], {}).get(kernel[:2], 0)
    }
    assert not {name: count for name, count in spilled.items() if count}


def test_every_kernel_has_its_occupancy(programs):
    for kernels in programs.values():
        assert kernels
        for taken in kernels.values():
            assert taken["threads"] >= 32
            assert 0 < taken["occupancy"] <= 1
