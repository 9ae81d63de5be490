"""Programs and fields on the simulated devices, for the tests of calls on GPUs."""

import numpy as np

import fieldforge as ff
from fieldforge.runtime.process.device import Device, DeviceType
from fieldforge.workflows.backends.backend import BACKENDS

from ..dimensions import I, J, K, Plane

Box = ff.Field[ff.Dims[I, J, K], ff.float64]
SIMULATED = BACKENDS["gpu-host"].with_options(on_device=True)


@ff.field_operator
def halved(a: Plane) -> Plane:
    return 0.5 * a


@ff.program(backend=SIMULATED)
def halve(a: Plane, out: Plane):
    halved(a, out=out)


@ff.scan_operator(axis=K, forward=True, init=0.0)
def down(above: float, a: float) -> float:
    return 0.5 * above + a


@ff.scan_operator(axis=K, forward=False, init=1.0)
def up(below: float, a: float) -> float:
    return a - 0.25 * below


@ff.field_operator
def swept(a: Box) -> Box:
    return up(down(a)) * 2.0


# With temporaries in memory of the device: else two scans hand on what they share.
@ff.program(backend=SIMULATED.with_options(shared=False))
def sweep(a: Box, out: Box):
    swept(a, out=out)


def plane(value, device=0):
    """Return a field on a simulated device."""
    return ff.full({I: 3, J: 4}, float(value), device=Device(DeviceType.NULL, device))


def box(seed=1):
    """Return random numbers on a simulated device."""
    values = np.random.default_rng(seed).random((5, 4, 9))
    return ff.as_field([I, J, K], values, device=Device(DeviceType.NULL, 0))


def swept_on_the_cpu(a):
    """Return what `sweep` gives, by the CPU."""
    out = ff.zeros({I: 5, J: 4, K: 9})
    sweep.with_backend("cpu")(ff.as_field([I, J, K], a.asnumpy()), out)
    return np.array(out.asnumpy())
