"""What is watched of calls on GPUs: failing kernels, missing order, ranges, times."""

import re
import subprocess
import warnings
from contextlib import nullcontext
from pathlib import Path

import pytest

from fieldforge.instrumentation import hooks, metrics
from fieldforge.runtime import gpu
from fieldforge.runtime.calls import gpu_order
from fieldforge.runtime.gpu import GpuOrderWarning, watching
from fieldforge.runtime.gpu.native import null as driver
from fieldforge.runtime.process import settings

from ..processes import python
from .gpu_calls import SIMULATED, halve, plane

pytestmark = pytest.mark.needs_compiler


@pytest.fixture
def setting(setting):
    """Change settings for a test, on the null platform."""
    with gpu.use_platform("null"):
        halve(plane(1), plane(2))
        yield setting
        gpu_order.forget()


def waits():
    driver.record(False)
    return [name for name, _ in driver.calls() if name == "stream_sync"]


# --- failing kernels -----------------------------------------------------------------------------


def test_an_error_of_a_kernel_names_it_and_its_program(setting):
    setting(gpu_sync=True)
    a, out = plane(1), plane(2)
    gpu.null.fail_next("stream_sync", 700)

    with pytest.raises(gpu.GpuError, match="for kernel 'grid_of_k0' of program 'halve'") as caught:
        halve(a, out)

    assert caught.value.code == 700
    halve(a, out)


def test_calls_wait_only_where_that_is_asked(setting):
    a, out = plane(1), plane(2)
    driver.record(True)
    halve(a, out)
    assert waits() == []

    setting(gpu_sync=True)
    driver.record(True)
    halve(a, out)
    assert waits() == ["stream_sync"]


# --- missing order -------------------------------------------------------------------------------


@pytest.fixture
def strict(setting):
    setting(gpu_debug=("order",))
    with warnings.catch_warnings():
        warnings.simplefilter("error", GpuOrderWarning)
        yield


def test_a_read_without_an_order_names_both_calls(strict):
    a, b, c = plane(1), plane(2), plane(3)
    first, second = gpu.Stream(), gpu.Stream()
    with first:
        halve(a, b)  # the writer

    with second, pytest.raises(GpuOrderWarning) as caught:
        halve(b, c)  # the reader

    text = str(caught.value)
    sites = re.findall(r"at \S*test_gpu_watching.py:(\d+)", text)
    assert "'halve' read 'a' on stream" in text
    assert "but 'halve' wrote 'out' on stream" in text
    assert f"{first.ptr:#x}" in text
    assert int(sites[1]) == int(sites[0]) - 3


@pytest.mark.parametrize("how", ["wait", "event", "sync", "event of a later call", "device"])
def test_an_order_is_seen(strict, how):
    a, b, c = plane(1), plane(2), plane(3)
    first, second = gpu.Stream(), gpu.Stream()
    with first:
        halve(a, b)
    if how == "wait":
        second.wait(first)
    elif how == "event":
        second.wait(first.record())
    elif how == "sync":
        first.sync()
    elif how == "device":
        gpu.Device(0).sync()
    else:
        with first:
            halve(a, a)
        second.wait(first.record())

    with second:
        halve(b, c)


def test_an_event_from_before_the_write_orders_nothing(strict):
    a, b, c = plane(1), plane(2), plane(3)
    first, second = gpu.Stream(), gpu.Stream()
    event = first.record()
    with first:
        halve(a, b)
    second.wait(event)

    with second, pytest.raises(GpuOrderWarning):
        halve(b, c)


def test_a_write_behind_a_read_needs_an_order_too(strict):
    a, b, c = plane(1), plane(2), plane(3)
    first, second = gpu.Stream(), gpu.Stream()
    with first:
        halve(a, b)

    with second, pytest.raises(GpuOrderWarning, match=r"wrote 'out' .*read 'a'"):
        halve(c, a)


def test_reads_on_two_streams_and_other_fields_need_none(strict):
    a = plane(1)
    streams = [gpu.Stream() for _ in range(3)]
    for stream in streams:
        with stream:
            halve(a, plane(2))


def test_bound_calls_are_looked_at(strict):
    a, b, c = plane(1), plane(2), plane(3)
    write, read = halve.bind(a=a, out=b), halve.bind(a=b, out=c)
    first, second = gpu.Stream(), gpu.Stream()
    with first:
        write()
    with second, pytest.raises(GpuOrderWarning):
        read()


def test_memory_that_is_used_again_has_no_past(strict):
    a = plane(1)
    streams = [gpu.Stream() for _ in range(4)]
    for stream in streams:
        with stream:
            out = plane(2)
            halve(a, out)
            out.ndarray.to_host()
            del out


def test_a_platform_whose_driver_is_missing_has_no_order_to_watch(setting, monkeypatch):
    loaded = {"null", "hip"}  # programs of both were loaded, which touches no driver
    monkeypatch.setattr(watching, "_platforms", loaded)

    setting(gpu_debug=("order",))

    assert settings.current().gpu_debug == ("order",)


# --- ranges of profilers -------------------------------------------------------------------------


def test_each_call_is_a_range_while_that_is_asked(setting):
    a, out = plane(1), plane(2)
    bound = halve.bind(a=a, out=out)
    halve(a, out)
    assert gpu.null.ranges() == []

    setting(gpu_ranges=True)
    halve(a, out)
    bound()
    assert gpu.null.ranges() == ["push halve", "pop"] * 2

    setting(gpu_ranges=False)
    halve(a, out)
    assert gpu.null.ranges() == []


def test_without_a_library_of_markers_a_warning_says_so(setting, monkeypatch):
    monkeypatch.setattr(watching.native, "mark_ranges", lambda _: False)
    with pytest.warns(UserWarning, match="calls are not marked"):
        setting(gpu_ranges=True)


INJECTED = r"""
#include <cstdint>
#include <cstdio>
#include <cstdlib>
struct Callbacks { size_t size; int (*table)(int, void (****)(), unsigned*); };
static FILE* file;
static int say(const char* what, const char* name) {
    std::fprintf(file, "%s%s\n", what, name);
    return std::fflush(file);
}
static int push(const char* name) { return say("push ", name); }
static int pop() { return say("pop", ""); }
extern "C" int InitializeInjectionNvtx2(const void* (*tables)(uint32_t)) {
    auto* callbacks = static_cast<const Callbacks*>(tables(1));
    void (***table)() = nullptr;
    unsigned size = 0;
    if (callbacks == nullptr || callbacks->table(1, &table, &size) == 0 || size < 12) return 0;
    file = std::fopen(std::getenv("RANGES_OF_TEST"), "w");
    *table[9] = reinterpret_cast<void (*)()>(push);
    *table[11] = reinterpret_cast<void (*)()>(pop);
    return 1;
}
"""

CHILD = """
from fieldforge.runtime import gpu
from fieldforge.runtime.gpu import native
from tests.end_to_end.gpu_calls import halve, plane
with gpu.use_platform("null"):
    halve(plane(1), plane(2))
    assert native.mark_ranges("cuda")
    halve(plane(1), plane(2))
"""


def test_a_profiler_hears_of_ranges_by_the_protocol_of_nvtx(tmp_path):
    source, library, heard = tmp_path / "tool.cpp", tmp_path / "tool.so", tmp_path / "heard"
    source.write_text(INJECTED)
    subprocess.run(["c++", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    environment = {"NVTX_INJECTION64_PATH": str(library), "RANGES_OF_TEST": str(heard)}

    python("-c", CHILD, check=True, cwd=Path(__file__).parents[2], env=environment)

    assert heard.read_text().split("\n") == ["push halve", "pop", ""]


# --- metrics and hooks ---------------------------------------------------------------------------


def test_metrics_have_the_time_of_the_device(setting):
    setting(collect_metrics=metrics.PERFORMANCE)
    metrics.sources.clear()
    a, out = plane(1), plane(2)
    driver.record(True)

    halve(a, out)
    halve.bind(a=a, out=out)()

    driver.record(False)
    taken = [name for name, _ in driver.calls() if name == "event_elapsed"]
    samples = [
        sample
        for source in metrics.sources.values()
        for sample in source.metrics["compute"].samples
    ]
    assert len(taken) == len(samples) == 2
    assert all(0.0 <= sample < 1.0 for sample in samples)


def test_hooks_see_calls(setting):
    seen = []

    def around(program_pool, key, args, kwargs, offset_provider):
        seen.append(program_pool.root)
        return nullcontext()

    hooks.compiled_program_call_context.register(around)
    try:
        halve(plane(1), plane(2))
    finally:
        hooks.compiled_program_call_context.remove(around)

    assert seen == [("halve", SIMULATED.name)]
