"""Run the benchmark's programs once on the GPU: `python -m tests.examples.on_gpu diffusion nabla2`.

For tools that watch a process, such as compute-sanitizer: few points, no pytest, no CuPy.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from cases import chosen_cases

import fieldforge as ff
from fieldforge.runtime import gpu
from fieldforge.workflows.backends.backend import BACKENDS

from ..placing import placed, placed_tables

SMALL = {"diffusion": 0.08, "mesh": 0.004, "velocity": 0.004, "laplacians": 0.05}
IS_SIMULATED = gpu.platform() == "null"
GPU = BACKENDS["gpu-host"].with_options(on_device=True) if IS_SIMULATED else BACKENDS["gpu"]


class _OnDevice:
    """What `placed` asks of a backend."""

    allocator = BACKENDS["gpu"].allocator


def main(names: Sequence[str]) -> int:
    """Compare each program in both precisions with the CPU; the result is how many differ."""
    wrong = 0
    for name, make in chosen_cases(names).items():
        for dtype in ("float64", "float32"):
            size = next((size for part, size in SMALL.items() if part in name), 0.1)
            case = make(dtype, size)
            arguments = {key: placed(value, _OnDevice) for key, value in case.arguments.items()}
            tables = placed_tables(case.tables, _OnDevice)
            case.program.with_backend(ff.cpu)(**case.arguments, offset_provider=case.tables)
            case.program.with_backend(GPU)(**arguments, offset_provider=tables)
            same = all(
                np.array_equal(
                    arguments[output].asnumpy(), case.arguments[output].asnumpy(), equal_nan=True
                )
                for output in case.outputs
            )
            sys.stdout.write(f"{name} {dtype}: {'the bits of the CPU' if same else 'DIFFERS'}\n")
            wrong += not same
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
