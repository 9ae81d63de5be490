"""Run ICON4Py's standalone driver on flow over a Gaussian hill, from a grid written here.

    fieldforge run --as-gt4py tests/model/gauss3d.py --steps 3 --backend gtfn_cpu

The driver and all its parts are those that are installed, unmodified. Prints a line for each field
of the last state, so that two runs can be compared.
"""

import argparse
import logging
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def main() -> None:
    """Write the grid, configure the experiment, and let the driver run."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--steps", type=int, default=3)
    options.add_argument("--levels", type=int, default=20)
    options.add_argument("--size", type=int, nargs=2, default=(16, 16))
    options.add_argument("--backend", default="gtfn_cpu")
    given = options.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))
    from torus_grid import write_grid

    logging.basicConfig(level=logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        grid = Path(folder) / "torus.nc"
        write_grid(grid, *given.size, 2000.0)
        begun = time.perf_counter()
        states = _run(grid, Path(folder) / "output", given)
        print(f"{given.steps} steps, {time.perf_counter() - begun:.1f} s with start")  # noqa: T201
    for name in ("vn", "w", "rho", "exner", "theta_v"):
        values = getattr(states.prognostics.current, name).asnumpy()
        print(f"{name:8} {values.min():.12e} {values.max():.12e} {values.mean():.12e}")  # noqa: T201


def _run(grid: Path, output: Path, given: Any) -> Any:
    from icon4py.model.common import model_backends, model_options
    from icon4py.model.common.decomposition import definitions as decomposition
    from icon4py.model.standalone_driver import driver_utils, standalone_driver

    backend = model_options.customize_backend(
        program=None, backend=driver_utils.get_backend_from_name(given.backend)
    )
    config = _config(output, given)
    process = decomposition.get_process_properties(decomposition.get_runtype(with_mpi=False))
    manager = driver_utils.create_grid_manager(
        grid_file_path=grid,
        vertical_grid_config=config.vertical_grid,
        allocator=model_backends.get_allocator(backend),
        process_props=process,
    )
    states, _ = standalone_driver.run_driver(
        config=config, grid_manager=manager, process_props=process, backend=backend
    )
    return states


def _config(output: Path, given: Any) -> Any:
    from icon4py.model.atmosphere.diffusion import diffusion
    from icon4py.model.atmosphere.dycore import solve_nonhydro
    from icon4py.model.common import (
        initial_condition,
        prescribed_tendencies,
        time as model_time,
        topography,
    )
    from icon4py.model.common.grid import geometry_config, vertical
    from icon4py.model.common.initial_condition.analytical import gauss3d
    from icon4py.model.common.interpolation import interpolation_factory
    from icon4py.model.common.metrics import metrics_factory
    from icon4py.model.common.states import tracer_state
    from icon4py.model.common.topography.analytical import gaussian_hill
    from icon4py.model.standalone_driver import config as driver_config

    begin = model_time.AbsoluteTime.fromisoformat("2000-01-01T00:00:00+00:00")
    step = model_time.RelativeTime(seconds=4.0)
    return driver_config.ExperimentConfig(
        geometry=geometry_config.GeometryConfig(use_analytical_means=True),
        metrics=metrics_factory.MetricsConfig(),
        interpolation=interpolation_factory.InterpolationConfig(),
        vertical_grid=vertical.VerticalGridConfig(
            num_levels=given.levels, rayleigh_damping_height=18000.0
        ),
        topography=topography.TopographyConfig(config=gaussian_hill.GaussianHillConfig()),
        nonhydrostatic=solve_nonhydro.NonHydrostaticConfig(),
        diffusion=diffusion.DiffusionConfig(),
        tracer_config=tracer_state.TracerConfig.from_ntracer(0),
        initial_condition=initial_condition.InitialConditionConfig(
            config=gauss3d.Gauss3DConfig(u0=10.0)
        ),
        prescribed_tendencies=prescribed_tendencies.PrescribedTendenciesConfig(),
        driver=driver_config.DriverConfig.make_initial(
            experiment_name="gauss3d",
            profiling_options=None,
            dtime=step,
            start_of_simulation=begin,
            end_of_simulation=begin + given.steps * step,
            output_path=output,
        ),
    )


if __name__ == "__main__":
    main()
