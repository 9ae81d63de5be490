"""Builds for GPUs: variants, architectures, refusals."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

import fieldforge as ff
from fieldforge.constructors import as_connectivity
from fieldforge.errors import DeviceError, OptionError
from fieldforge.runtime import gpu
from fieldforge.runtime.gpu.compiler import nvrtc
from fieldforge.runtime.gpu.errors import GpuError
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.workflows.batches.addresses import load_module
from fieldforge.workflows.commands.cli import main
from fieldforge.workflows.engine.policy import policy

from ...dimensions import E2C, Cell, E2CDim, Edge
from ...end_to_end.gpu_calls import SIMULATED, I, J, halve, plane
from ...processes import python

pytestmark = pytest.mark.needs_compiler

MODEL = """
import fieldforge as ff
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.workflows.backends.backend import find_backend

I = ff.Dimension("I")
Line = ff.Field[ff.Dims[I], ff.float64]

@ff.field_operator
def rise(u: Line) -> Line:
    return u(I + 1) - u

@ff.program(backend=find_backend("{backend}").with_options({options}))
def climb(u: Line, n: ff.int32, out: Line):
    rise(u, out=out, domain={{I: (0, n)}})
"""


def has_nvrtc():
    try:
        nvrtc()
    except GpuError:
        return False
    return True


BOTH = [
    pytest.param(("gpu-host", "on_device=True"), id="gpu-host"),
    pytest.param(
        ("gpu", "target=GpuTarget(('sm_80', 'sm_90'))"),
        id="gpu",
        marks=pytest.mark.skipif(
            not has_nvrtc(), reason="NVRTC is not installed: pip install 'fieldforge[gpu]'"
        ),
    ),
]


@pytest.fixture(params=BOTH)
def model(request, tmp_path, monkeypatch, own_engine):
    """Give a module with a program for GPUs; it is compiled for some that are not there."""
    backend, options = request.param
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "climbing.py"
    file.write_text(MODEL.format(backend=backend, options=options))
    return load_module(str(file))


def test_an_explanation_and_a_trace_tell_of_kernels(model):
    trace = model.climb.trace()

    assert "launch 0" in trace["bind"].text
    assert "k0" in trace["codegen"].text
    manifest, _ = json.JSONDecoder().raw_decode(trace["compile"].text)
    assert manifest["bytes"] > 0
    assert "compile" in trace.explain()


def test_one_entry_is_built_for_several_architectures(model):
    if model.climb.backend.name == "gpu-host":
        pytest.skip("the null platform has one architecture")
    manifest, _ = json.JSONDecoder().raw_decode(model.climb.trace()["compile"].text)
    assert manifest["architectures"] == ["sm_80", "sm_90"]
    assert sorted(manifest["kernels"]) == ["k0 sm_80", "k0 sm_90"]


# --- variants -------------------------------------------------------------------------------------


@pytest.fixture
def simulated():
    with gpu.use_platform("null"):
        yield


def test_other_layouts_and_domains_are_variants(simulated):
    program = halve.with_compilation_options(static_domains=True)
    wide = ff.full({I: 7, J: 9}, 3.0, allocator=ff.gpu)
    rows = gpu.Array.full((3, 4), 5.0)
    turned = ff.Field(rows, (I, J), (0, 0))
    assert rows.strides == (32, 8)

    for a in (plane(2), wide, turned):
        out = ff.zeros(a.domain, allocator=ff.gpu)
        program(a, out)
        assert (out.asnumpy() == a.asnumpy() / 2).all()

    assert program.variants.count("built") + program.variants.count("\n") >= 3
    program.drop_variants()
    with policy("must_hit"):
        program(plane(2), plane(3))


# --- what is refused, in one sentence -------------------------------------------------------------


def one_sentence(error):
    return str(error.value).split("\n")[0].count(". ") == 0


def test_an_unknown_architecture_is_refused():
    with pytest.raises(OptionError, match="Unknown GPU architecture 'sm_12345'") as caught:
        GpuTarget("sm_12345")
    assert one_sentence(caught)


@pytest.mark.skipif(gpu.is_available("cuda") or gpu.is_available("hip"), reason="there is a GPU")
def test_without_a_gpu_fields_are_refused():
    with pytest.raises(DeviceError, match="cannot be allocated on 'CUDA:0'"):
        ff.zeros({I: 3}, allocator=ff.gpu)


@pytest.mark.skipif(gpu.is_available("cuda") or gpu.is_available("hip"), reason="there is a GPU")
@pytest.mark.parametrize("name", ["gpu"])
def test_the_demo_says_that_there_is_no_gpu_and_writes_nothing(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["demo", "--backend", name])
    assert done.exit_code == 1
    assert "Fields cannot be allocated on 'CUDA:0'" in done.output
    assert list(tmp_path.glob("*.png")) == []


@ff.field_operator
def jump(a: ff.Field[ff.Dims[Cell], ff.float64]) -> ff.Field[ff.Dims[Edge], ff.float64]:
    return a(E2C[1]) - a(E2C[0])


def test_a_table_of_the_host_is_refused_by_name(simulated):
    entries = np.array([[0, 1], [1, 2]], np.int32)
    table = as_connectivity([Edge, E2CDim], codomain=Cell, data=entries)
    a, out = (ff.zeros({dim: 3}, allocator=ff.gpu) for dim in (Cell, Edge))

    with pytest.raises(DeviceError, match="'E2C' lies on device CPU:0") as caught:
        jump.with_backend(SIMULATED)(a, out=out[:2], offset_provider={"E2C": table})
    assert one_sentence(caught)


def test_a_device_that_is_not_there_is_refused(simulated):
    with pytest.raises(DeviceError, match="There is no device 7: platform 'null' has 2") as caught:
        plane(1, device=7)
    assert one_sentence(caught)


def test_devices_of_the_null_platform_are_counted_by_a_setting():
    script = "from fieldforge.runtime import gpu; print(gpu.device_count(), gpu.Device(4))"
    environment = {"FIELDFORGE_GPU": "null", "FIELDFORGE_GPU_DEVICES": "5"}
    done = python("-c", script, check=True, env=environment)
    assert done.stdout == "5 <Device null:4>\n"
