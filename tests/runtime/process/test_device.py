"""Section 9.1: devices."""

import importlib.util
import sys
import types

import pytest

from fieldforge.runtime.process import device
from fieldforge.runtime.process.device import DeviceType

from ...processes import python


def test_9_1_device_types_have_the_numbers_of_dlpack():
    assert (DeviceType.CPU, DeviceType.CUDA, DeviceType.ROCM) == (1, 2, 10)


def test_9_1_importing_devices_imports_no_cupy():
    script = "import sys, fieldforge.runtime.process.device; assert 'cupy' not in sys.modules"

    assert python("-c", script).returncode == 0


@pytest.mark.parametrize(("is_hip", "kind"), [(False, DeviceType.CUDA), (True, DeviceType.ROCM)])
def test_9_1_the_device_type_of_cupy_is_found_when_asked_for(monkeypatch, is_hip, kind):
    runtime = types.SimpleNamespace(is_hip=is_hip)
    cupy = types.SimpleNamespace(cuda=types.SimpleNamespace(runtime=runtime))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.delitem(vars(device), "CUPY_DEVICE_TYPE", raising=False)

    assert device.CUPY_DEVICE_TYPE is kind

    del device.CUPY_DEVICE_TYPE


def test_9_1_without_cupy_there_is_no_such_device_type(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

    assert device.cupy_device_type() is None


def test_other_names_are_missing_attributes():
    with pytest.raises(AttributeError, match="no attribute 'GPU'"):
        device.GPU  # noqa: B018 - that is the test
