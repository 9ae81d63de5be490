"""Run components of ICON4Py, horizontal diffusion and the dynamical core, on drawn states.

Nothing of them is replaced: they set up their programs for sizes and constants, and run them in
order, embedded and compiled. Both must leave the same numbers in every field of their states.
"""

import dataclasses
import inspect
import re
import sys
import typing
import warnings
from collections.abc import Callable, Iterator, Mapping
from types import UnionType
from typing import Any, Final

import numpy as np

import fieldforge as ff
from fieldforge.runtime.language.annotations import type_from_annotation
from fieldforge.runtime.language.types import FieldType

from .comparing import COMPILED

LEVELS: Final = 10
HALF: Final = re.compile(  # fields on half levels, of which there is one more
    r"half|_ic$|wgtfac|^w$|_w$|ddqz|hdef|dwd[xy]|div_ic|dwdz|vertical_wind_advective"
)
STEP: Final = 0.01  # seconds; the drawn states are far from any balance


@dataclasses.dataclass
class States:
    """Draws the states of a component: every field from its annotation."""

    tables: Mapping[str, Any]
    mesh: Mapping[str, int]
    random: np.random.Generator

    def make(self, made: Any, **given: Any) -> Any:
        """Return an instance of a dataclass of the model; what is `given` is not drawn."""
        names = vars(sys.modules[made.__module__])
        for each in dataclasses.fields(made):
            if each.name not in given:
                levels = LEVELS + bool(HALF.search(each.name))
                given[each.name] = self.value(_evaluated(each.type, names), levels)
        return made(**given)

    def value(self, annotation: Any, levels: int) -> Any:
        """Return a value of an annotated type."""
        options = typing.get_args(annotation) if isinstance(annotation, UnionType) else ()
        type_ = type_from_annotation(options[0] if options else annotation)
        if isinstance(type_, FieldType):
            return self.field(type_.dims, type_.dtype.name, levels)
        name = getattr(type_, "name", "")
        return True if name == "bool" else np.dtype(name).type(3)

    def field(
        self, dims: tuple[ff.Dimension, ...], dtype: str = "float64", levels: int = LEVELS
    ) -> Any:
        """Return a field of numbers around 1, of flags, or of zeros where they are indices."""
        shape = [levels if dim.value == "K" else self.mesh[dim.value] for dim in dims]
        if dtype == "bool":
            values: Any = self.random.random(shape) < 0.5
        elif dtype.startswith("float"):
            values = self.random.uniform(0.5, 1.5, shape)
        else:
            values = np.zeros(shape)
        return ff.as_field(dims, values.astype(dtype))

    def edges(self) -> Any:
        """Return the geometry of edges, whose parameters have no annotations."""
        from icon4py.model.common import dimension as dims
        from icon4py.model.common.grid.states import EdgeParams

        given = {}
        for name in list(inspect.signature(EdgeParams.__init__).parameters)[1:]:
            local = dims.E2C2VDim if name.endswith(("vert_x", "vert_y")) else dims.E2CDim
            on_edges = not name.endswith(("vert_x", "vert_y", "cell_x", "cell_y"))
            given[name] = self.field((dims.EdgeDim,) if on_edges else (dims.EdgeDim, local))
        return EdgeParams(**given)


def differences(tables: Any, mesh: Mapping[str, int]) -> Iterator[str]:
    """Yield the name of every field that a component computes differently."""
    for component in (diffusion, dynamics):
        runs = []
        for backend in (None, COMPILED):
            states = States(tables, mesh, np.random.default_rng(1))
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                runs.append(component(states, backend))
        meant, given = runs
        for name, values in meant.items():
            if not np.array_equal(values, given[name], equal_nan=values.dtype.kind == "f"):
                yield f"'{name}' of {component.__name__}"
            elif not np.isfinite(values).all():
                yield f"'{name}' of {component.__name__} (not finite)"


def diffusion(states: States, backend: Any) -> dict[str, Any]:
    """Run an initial and an ordinary step of horizontal diffusion."""
    from icon4py.model.atmosphere.diffusion import diffusion as model, diffusion_states as own
    from icon4py.model.common.grid.states import CellParams
    from icon4py.model.common.states.prognostic_state import PrognosticState

    config = model.DiffusionConfig()
    run = model.Diffusion(
        config=config,
        params=model.DiffusionParams(config),
        vertical_grid=_levels(),
        metric_state=states.make(own.DiffusionMetricState),
        interpolation_state=states.make(own.DiffusionInterpolationState),
        edge_params=states.edges(),
        cell_params=states.make(CellParams),
        **_around(backend),
    )
    diagnostic = states.make(own.DiffusionDiagnosticState)
    prognostic = states.make(PrognosticState)
    for initial in (True, False):
        run.run(diagnostic, prognostic, dtime=STEP, initial_run=initial)
    return {**_fields(diagnostic), **_fields(prognostic)}


def dynamics(states: States, backend: Any) -> dict[str, Any]:
    """Run two substeps of the dynamical core: advection of velocity, predictor and corrector."""
    from icon4py.model.atmosphere.dycore import dycore_states as own, solve_nonhydro as model
    from icon4py.model.common import utils
    from icon4py.model.common.grid.states import CellParams
    from icon4py.model.common.states.nonhydro_states import DiagnosticStateNonHydro
    from icon4py.model.common.states.prognostic_state import PrognosticState

    config = model.NonHydrostaticConfig()
    mask = states.field((ff.Dimension("Cell"),), "bool")
    run = model.SolveNonhydro(
        config=config,
        params=model.NonHydrostaticParams(config),
        metric_state_nonhydro=states.make(own.MetricStateNonHydro, mask_prog_halo_c=mask),
        interpolation_state=states.make(own.InterpolationState),
        vertical_params=_levels(),
        edge_geometry=states.edges(),
        cell_geometry=states.make(CellParams),
        owner_mask=states.field((ff.Dimension("Cell"),), "bool"),
        **_around(backend),
    )
    pairs: dict[str, Any] = {
        name: utils.PredictorCorrectorPair(
            *(states.value(annotation, LEVELS + 1) for _ in range(2))
        )
        for name, annotation in _pairs(DiagnosticStateNonHydro)
    }
    pairs["max_vertical_cfl"] = np.array(0.0)  # a number that the model holds in an array
    diagnostic = states.make(DiagnosticStateNonHydro, **pairs)
    now, later = (states.make(PrognosticState) for _ in range(2))
    steps = utils.TimeStepPair(now, later)
    transport = states.make(own.PrepAdvection)
    for first in (True, False):
        run.time_step(
            diagnostic_state_nh=diagnostic, prognostic_states=steps, prep_adv=transport,
            second_order_divdamp_factor=0.02, dtime=STEP, ndyn_substeps_var=2, lprep_adv=True,
            at_initial_timestep=first, at_first_substep=first, at_last_substep=not first,
        )  # fmt: skip
        steps.swap()
    found = {**_fields(diagnostic), **_fields(transport)}
    for state, when in ((steps.current, "now"), (steps.next, "next")):
        found |= {f"{name} {when}": values for name, values in _fields(state).items()}
    return found


def _around(backend: Any) -> dict[str, Any]:
    from icon4py.model.common.decomposition import definitions
    from icon4py.model.common.grid import simple

    grid = simple.simple_grid(num_levels=LEVELS)
    return {"grid": grid, "backend": backend, "exchange": definitions.SingleNodeExchange()}


def _levels() -> Any:
    from icon4py.model.common import dimension as dims
    from icon4py.model.common.grid import vertical

    heights, shares = np.linspace(12000.0, 0.0, LEVELS + 1), np.linspace(0.0, 1.0, LEVELS + 1)
    return vertical.VerticalGrid(
        config=vertical.VerticalGridConfig(num_levels=LEVELS),
        vct_a=ff.as_field((dims.KDim,), heights),
        vct_b=ff.as_field((dims.KDim,), shares),
    )


def _pairs(made: Any) -> Iterator[tuple[str, Any]]:
    """Yield the elements of a state that are pairs, with the annotation of what they hold."""
    names = vars(sys.modules[made.__module__])
    for each in dataclasses.fields(made):
        text = str(each.type)
        if "PredictorCorrectorPair[" in text:
            yield each.name, _evaluated(text.partition("[")[2].rpartition("]")[0], names)


def _evaluated(annotation: Any, names: dict[str, Any]) -> Any:
    evaluate: Callable[..., Any] = eval  # the annotations of the model are postponed
    return evaluate(annotation, names) if isinstance(annotation, str) else annotation


def _fields(state: Any) -> dict[str, Any]:
    values = {each.name: getattr(state, each.name) for each in dataclasses.fields(state)}
    return {
        name: value.asnumpy().copy()
        for name, value in values.items()
        if isinstance(value, ff.Field)
    }
