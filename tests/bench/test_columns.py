"""Schemes that act column by column agree with kernels by hand, on a CPU and a simulated GPU."""

import columns
import pytest
from columns_by_hand import FORMS, GPU_FORMS, THREADS, on_cpu, on_gpu
from untuned_calls import place

from fieldforge.runtime import gpu

ACROSS = 20  # columns: whole strips, and rests


@pytest.mark.needs_compiler
@pytest.mark.filterwarnings("ignore:.*may be uninitialized")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", FORMS)
def test_schemes_agree_with_cpp_by_hand(name, dtype):
    on = place("cpu")
    of = columns.scheme(name, dtype, ACROSS, on)

    meant, calls = columns.outputs(of, columns.ours(of, on)), on_cpu(of)

    shares = {form: columns.far(dtype, meant, columns.outputs(of, c)) for form, c in calls.items()}
    assert shares == dict.fromkeys(FORMS[name], 0.0)


@pytest.mark.needs_compiler
@pytest.mark.filterwarnings("ignore:.*may be uninitialized")
@pytest.mark.parametrize("name", FORMS)
def test_schemes_agree_with_cuda_by_hand_on_a_simulated_device(name):
    with gpu.use_platform("null"):
        on = place("gpu")
        of = columns.scheme(name, "float64", ACROSS, on)

        meant, calls = columns.outputs(of, columns.ours(of, on)), on_gpu(of)

        found = {c: columns.far("float64", meant, columns.outputs(of, calls[c])) for c in calls}
    forms = [f"{form}, {threads} threads" for form in GPU_FORMS[name] for threads in THREADS]
    assert found == dict.fromkeys(forms, 0.0)
