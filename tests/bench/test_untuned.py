"""The untuned programs have the same bits everywhere, and kernels by hand compute the same."""

from typing import Any

import attrs
import numpy as np
import pytest
import untuned_by_hand
import untuned_calls as untuned
import untuned_table
from cases.untuned import FLAT, NAMES, Described, described, space
from untuned_memory import Host, Simulated

from fieldforge.runtime import gpu
from fieldforge.workflows.backends.backend import BACKENDS

from ..selection import not_optimised

LEVELS = 7
HOST = untuned.Place("cpu", None, Host(), untuned_by_hand.on_cpu, untuned._timed_on_host)


def small(name: str, dtype: str, memory: Any) -> Described:
    return described(name, dtype, space(name, "cpu", 0.001, LEVELS), memory)


def outputs(of: Described, backend: Any, place: Any = HOST) -> dict[str, np.ndarray]:
    program = of.program.with_backend(backend)
    return untuned.outputs(of, place, lambda: program(**of.arguments, offset_provider=of.tables))


@pytest.mark.needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", [*NAMES, *FLAT])
def test_bits_are_those_of_embedded_execution(name, dtype):
    of = small(name, dtype, Host())

    wanted = outputs(of, "reference")
    found = {each: outputs(of, not_optimised(BACKENDS[each])) for each in ("cpu", "gpu-host")}

    for output, array in wanted.items():
        assert np.isfinite(array).all(), output
        assert (array != untuned.UNTOUCHED).mean() > 0.3, output
        for backend, arrays in found.items():
            assert arrays[output].tobytes() == array.tobytes(), (backend, output)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("name", [*NAMES, *FLAT])
def test_kernels_by_hand_agree_on_the_host(name):
    of = small(name, "float64", Host())
    built = untuned.Built(of, int, outputs(of, "reference"))

    calls = untuned_by_hand.on_cpu(of, Host())

    assert {
        call: untuned.far(built, untuned.outputs(of, HOST, run)) for call, run in calls.items()
    } == {"loops": 0.0}


@pytest.mark.needs_compiler
@pytest.mark.parametrize("name", [*NAMES, *FLAT])
def test_kernels_by_hand_agree_on_a_simulated_device(name):
    with gpu.use_platform("null"):
        device = attrs.evolve(HOST, memory=Simulated())
        of = small(name, "float32", device.memory)
        simulated = not_optimised(BACKENDS["gpu-host"]).with_options(on_device=True)
        built = untuned.Built(of, int, outputs(of, simulated, device))

        calls = untuned_by_hand.on_gpu(of, device.memory)

        shares = {
            call: untuned.far(built, untuned.outputs(of, device, run))
            for call, run in calls.items()
        }
        assert shares == {"128 threads": 0.0, "256 threads": 0.0}


@pytest.mark.needs_compiler
def test_a_split_program_has_the_bits_of_the_whole():
    of = small("limiter", "float64", Host())
    cpu = not_optimised(BACKENDS["cpu"])

    whole = outputs(of, cpu)
    parts = untuned.outputs(of, HOST, untuned.split(of, attrs.evolve(HOST, backend=cpu)))

    for output, array in whole.items():
        assert parts[output].tobytes() == array.tobytes(), output


def test_kernels_are_read_in_their_order_with_names_and_places():
    kernels = untuned_by_hand.kernels("limiter")

    assert [(kernel.form, kernel.name, kernel.more) for kernel in kernels] == [
        ("GRID", "cells", ("-1", "1", "-1", "1")),
        ("GRID", "west", ("0", "1", "0", "0")),
        ("GRID", "south", ("0", "0", "0", "1")),
    ]
    assert kernels[1].arguments == (("IN", "fx"), ("IN", "up"), ("IN", "down"), ("OUT", "lx"))


def test_programs_that_must_be_named_take_no_part_in_means():
    times = {"fieldforge": {"least": 1.0, "median": 1.0}}
    row = {"program": "riemann", "size": "", "dtype": "float64", "threads": 1, "times": times}

    assert [line[0] for line in untuned_table.cells([row])] == ["riemann"]
    usual = row | {"program": "momentum"}
    assert [line[0] for line in untuned_table.cells([usual])] == ["momentum", "*mean*"]


def test_a_mean_of_ratios_leaves_rows_without_a_second_checkout_out():
    times = {
        "fieldforge": {"least": 2.0, "median": 4.0},
        "by hand: loops": {"least": 4.0, "median": 4.0},
    }

    rows = [{"times": times}, {"times": times | {"before": {"least": 3.0, "median": 4.0}}}]

    hand, split, before = untuned_table.RATIOS
    assert untuned_table.means(rows, hand) == "2.00 / 1.00"
    assert untuned_table.means(rows, before) == "1.50 / 1.00"
    assert untuned_table.means(rows, split) == ""
