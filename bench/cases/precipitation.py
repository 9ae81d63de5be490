"""Precipitation of six kinds of water: a scan of 15 numbers with pointwise work around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

import numpy as np

import fieldforge as ff
from fieldforge.examples.precision import in_precision

from .by_hand import Grid, variant
from .case import Case

STEP = 30.0  # seconds
VARIANTS = ("whole", "chunks64", "chunks256", "streamed64", "streamed256")
WATER = ("vapour", "cloud", "rain", "ice", "snow", "graupel")
INPUTS = ("t", *WATER, "most", "density", "thickness")
OUTPUTS = ("new_t", *(f"new_{kind}" for kind in WATER), "flux")
CONVERSIONS, FALL, REST = 79, 4 * 15, 23  # a root, a minimum and a choice count as one


def precipitation(dtype: str, scale: float) -> Case:
    """256 x 256 x 80."""
    program = in_precision("precipitation", dtype)
    ni, nj, nk = round(256 * scale), round(256 * scale), round(80 * scale)
    data = _column((ni, nj, nk), dtype)
    grid = Grid(ni, nj, nk, np.dtype(dtype))
    inputs = [grid.array(each) for each in data.values()]
    core = {program.I: ni, program.J: nj, program.K: nk}
    given = {name: ff.as_field(core, each, allocator=ff.cpu) for name, each in data.items()}
    made = {name: ff.zeros(core, np.dtype(dtype).type, allocator=ff.cpu) for name in OUTPUTS}
    size = ni * nj * nk
    return Case(
        name="precipitation",
        size=f"{ni}x{nj}x{nk}",
        dtype=dtype,
        program=program.precipitate,
        arguments={**given, "step": np.dtype(dtype).type(STEP), **made},
        tables={},
        outputs=OUTPUTS,
        by_hand={
            name: variant("precipitation", name, grid, inputs, OUTPUTS, 0, (STEP,))
            for name in VARIANTS
        },
        in_numpy=lambda: _in_numpy(program, **data),
        moved=(len(INPUTS) + len(OUTPUTS)) * size * np.dtype(dtype).itemsize,
        operations=(CONVERSIONS + FALL + REST) * size,
    )


CASES: tuple[Callable[[str, float], Case], ...] = (precipitation,)


def _column(shape: tuple[int, int, int], dtype: str) -> dict[str, np.ndarray]:
    """Make air that is cold above and warm below, with a little of everything."""
    numbers = np.random.default_rng(6)
    height = np.linspace(0.0, 1.0, shape[-1])
    data = {"t": 240.0 + 50.0 * height + numbers.uniform(-2.0, 2.0, shape)}
    for kind, amount in zip(WATER, (8e-3, 1e-3, 1e-3, 3e-4, 1e-3, 5e-4), strict=True):
        data[kind] = np.maximum(numbers.uniform(-0.5 * amount, amount, shape), 0.0)
    data["most"] = numbers.uniform(2e-3, 8e-3, shape)
    data["density"] = 0.4 + 0.8 * height + numbers.uniform(-0.02, 0.02, shape)
    data["thickness"] = 500.0 - 450.0 * height + numbers.uniform(-5.0, 5.0, shape)
    return {name: each.astype(dtype) for name, each in data.items()}


def _in_numpy(p: ModuleType, **data: np.ndarray) -> Mapping[str, np.ndarray]:
    real = data["t"].dtype.type
    converted = _converted(p, real, **{n: a for n, a in data.items() if n[:2] not in ("de", "th")})
    density, ratio = data["density"], real(STEP) / data["thickness"]
    thin = np.sqrt(real(1.2) / density)
    kinds = {"rain": p.RAIN, "ice": p.ICE, "snow": p.SNOW, "graupel": p.GRAUPEL}
    result = {f"new_{kind}": array.copy() for kind, array in converted.items()}
    result["flux"] = np.zeros_like(density)
    nothing = np.zeros_like(density[..., 0])
    states = dict.fromkeys(kinds, (nothing, nothing, nothing))
    capacity = heat = nothing
    for k in range(density.shape[-1]):
        per_density = real(1.0) / density[..., k]
        for kind, speed in kinds.items():
            content = converted[kind][..., k] * density[..., k]
            lift = real(speed) * thin[..., k]
            states[kind] = _fall(real, states[kind], content, lift, ratio[..., k])
            result[f"new_{kind}"][..., k] = states[kind][2] * per_density
        rain, ice, snow, graupel = (states[kind][0] for kind in kinds)
        mixing = ratio[..., k] / density[..., k]
        t = (converted["t"][..., k] + mixing * heat) / (real(1.0) + mixing * capacity)
        capacity = real(p.LIQUID) * rain + real(p.SOLID) * (ice + snow + graupel)
        heat = capacity * t
        result["new_t"][..., k] = t
        result["flux"][..., k] = rain + ice + snow + graupel
    return {name: result[name] for name in OUTPUTS}


def _fall(
    real: type[np.floating],
    above: tuple[np.ndarray, np.ndarray, np.ndarray],
    content: np.ndarray,
    lift: np.ndarray,
    ratio: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    flux, speed_above, content_above = above
    there = real(0.5) * (content + content_above)
    speed = real(0.5) * (lift * np.sqrt(np.sqrt(np.sqrt(there))) + speed_above)
    left = (content + ratio * flux) / (real(1.0) + ratio * speed)
    return speed * left, speed, left


def _converted(
    p: ModuleType,
    real: type[np.floating],
    t: np.ndarray,
    vapour: np.ndarray,
    cloud: np.ndarray,
    rain: np.ndarray,
    ice: np.ndarray,
    snow: np.ndarray,
    graupel: np.ndarray,
    most: np.ndarray,
) -> dict[str, np.ndarray]:
    zero, one, freezing = real(0.0), real(1.0), real(p.FREEZING)
    drizzle, collection, riming, melting, glaciation, aggregation, evaporation = (
        real(STEP) * real(rate)
        for rate in (
            *(p.DRIZZLE, p.COLLECTION, p.RIMING, p.MELTING),
            *(p.GLACIATION, p.AGGREGATION, p.EVAPORATION),
        )
    )

    def seven_eighths(x: np.ndarray) -> np.ndarray:
        half = np.sqrt(x)
        quarter = np.sqrt(half)
        return half * quarter * np.sqrt(quarter)

    grown = drizzle * np.maximum(cloud - real(p.CLOUD_LIMIT), zero)
    swept = collection * cloud * seven_eighths(rain)
    on_snow = np.where(t < freezing, riming * cloud * seven_eighths(snow), zero)
    on_graupel = np.where(t < freezing, riming * cloud * seven_eighths(graupel), zero)
    wanted = grown + swept + on_snow + on_graupel
    share = np.minimum(one, cloud / np.maximum(wanted, real(p.NONE)))
    melts = np.minimum(one, melting * np.maximum(t - freezing, zero))
    frozen = np.minimum(one, glaciation * np.maximum(freezing - t, zero)) * rain
    melted, crystals = melts * (ice + snow + graupel), ice - melts * ice
    clumped = aggregation * np.maximum(crystals - real(p.ICE_LIMIT), zero)
    thirst = evaporation * np.maximum(most - vapour, zero) * np.sqrt(rain)
    dried = np.minimum(rain - frozen, thirst)
    gained = share * (on_snow + on_graupel) + frozen - melted
    return {
        "t": t + real(p.MELTING_HEAT) * gained - real(p.CONDENSING) * dried,
        "vapour": vapour + dried,
        "cloud": cloud - share * wanted,
        "rain": rain - frozen - dried + share * (grown + swept) + melted,
        "ice": crystals - clumped,
        "snow": snow - melts * snow + clumped + share * on_snow,
        "graupel": graupel - melts * graupel + frozen + share * on_graupel,
    }
