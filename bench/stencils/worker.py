"""Measure stencils by one backend, in a process of its own: ours under gt4py's name, or gt4py.

    python worker.py PART BACKEND FOLDER [COUNT]

Parts: `first`, seconds from the decorator to the first result of one stencil; `many`, the same of
COUNT different stencils; `step`, microseconds of a hundred calls of COUNT different stencils, one
by one and recorded; `calls`, microseconds of calls with ten fields; `kernels`, milliseconds of
calls on large fields. Prints one JSON object.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from gt4py import storage
from gt4py.cartesian import gtscript

sys.path.insert(0, str(Path(__file__).parent))
TEXT = """
import numpy as np
from gt4py.cartesian.gtscript import PARALLEL, Field, computation, interval
def stencil_{number}(a: Field[np.float64], b: Field[np.float64], c: Field[np.float64]):
    with computation(PARALLEL), interval(...):
        t = a[1, 0, 0] - {number}.0 * a[-1, 0, 0]
        c = t[0, 1, 0] * b + t[0, -1, 0] if b > {number}.5 else t
"""


def fields(names: Any, shape: tuple[int, int, int], backend: str, halo: int) -> dict[str, Any]:
    """Return arrays of random numbers in the layout of a backend."""
    random = np.random.default_rng(7)
    whole = (shape[0] + 2 * halo, shape[1] + 2 * halo, shape[2])
    return {
        name: storage.from_array(
            1.0 + 0.1 * random.random(whole) + 5.0 * (name == "diagonal"),
            backend=backend,
            aligned_index=(halo, halo, 0),
        )
        for name in names
    }


def first(backend: str) -> dict[str, float]:
    """Return the seconds to the first result of a stencil."""
    import stencils

    given = fields(("q", "out"), (16, 16, 8), backend, stencils.HALO)
    begin = time.perf_counter()
    stencil = gtscript.stencil(backend, stencils.hyperdiffusion)
    stencil(**given, strength=0.01, origin=(3, 3, 0), domain=(16, 16, 8))
    return {"seconds": time.perf_counter() - begin}


def definitions(folder: Path, count: int) -> list[Any]:
    """Return different stencils, each from a module of its own."""
    sys.path.insert(0, str(folder))
    found = []
    for number in range(count):
        (folder / f"made_{number}.py").write_text(TEXT.format(number=number))
        module = importlib.import_module(f"made_{number}")
        found.append(getattr(module, f"stencil_{number}"))
    return found


def many(backend: str, folder: Path, count: int) -> dict[str, float]:
    """Return the seconds to the first results of many stencils."""
    texts = definitions(folder, count)
    given = fields("abc", (8, 8, 4), backend, 1)
    begin = time.perf_counter()
    made = [gtscript.stencil(backend, definition) for definition in texts]
    for stencil in made:
        stencil(**given, origin=(1, 1, 0), domain=(8, 8, 4))
    return {"seconds": time.perf_counter() - begin, "stencils": count}


def step(backend: str, folder: Path, count: int) -> dict[str, float]:
    """Return the least microseconds of a step of a hundred calls; gt4py records none."""
    given = fields("abc", (8, 8, 4), backend, 1)
    made = [gtscript.stencil(backend, each) for each in definitions(folder, count)]
    turns = [made[number % count] for number in range(100)]

    def calls_one_by_one() -> None:
        for stencil in turns:
            stencil(**given, origin=(1, 1, 0), domain=(8, 8, 4))

    found = {"one by one": 1e6 * least(calls_one_by_one, 0.02)}
    if "fieldforge" in gtscript.__name__:
        import fieldforge

        with fieldforge.record() as recorded:
            calls_one_by_one()
        found["recorded"] = 1e6 * least(recorded, 0.02)
    return found


def calls(backend: str) -> dict[str, float]:
    """Return the least microseconds of the processor for calls of ten fields, by way of calling."""
    import stencils

    names = "abcdefghxy"
    given = fields(names, (4, 4, 4), backend, 1)
    stencil = gtscript.stencil(backend, stencils.ten)
    origin, domain = (1, 1, 0), (4, 4, 4)
    origins = dict.fromkeys(names, origin)
    ordered = tuple(given.values())
    frozen = stencil.freeze(origin=origins, domain=domain)
    ways = {
        "call": lambda: stencil(*ordered, 2.0, origin=origin, domain=domain),
        "call by name": lambda: stencil(**given, w=2.0, origin=origins, domain=domain),
        "default domain": lambda: stencil(*ordered, 2.0, origin=origin),
        "run": lambda: stencil.run(
            **given, w=2.0, _domain_=domain, _origin_=origins, exec_info=None
        ),
        "frozen": lambda: frozen(**given, w=2.0),
    }
    return {name: 1e6 * least(way, 0.02) for name, way in ways.items()}


def kernels(backend: str) -> dict[str, float]:
    """Return the least milliseconds of calls on fields of 128 x 128 x 80 points."""
    import stencils

    shape, halo = (128, 128, 80), stencils.HALO
    found = {}
    for name, (definition, names, numbers) in stencils.KERNELS.items():
        given = fields(names, shape, backend, halo)
        origins = dict.fromkeys(names, (halo, halo, 0))
        stencil = gtscript.stencil(backend, definition)
        placed = {"_domain_": shape, "_origin_": origins, "exec_info": None}
        call = partial(stencil.run, **given, **numbers, **placed)
        found[name] = 1e3 * least(call, 0.1)
    return found


def least(call: Any, seconds: float) -> float:
    """Return the least seconds of the processor for one call, of 15 rounds."""
    call()
    begin = time.process_time()
    call()
    count = max(1, int(seconds / max(time.process_time() - begin, 1e-7)))
    rounds = []
    for _ in range(15):
        begin = time.process_time()
        for _ in range(count):
            call()
        rounds.append((time.process_time() - begin) / count)
    return min(rounds)


def main() -> None:
    """Run one part."""
    part, backend, folder, *rest = sys.argv[1:]
    if part in ("many", "step"):
        found = {"many": many, "step": step}[part](backend, Path(folder), int(rest[0]))
    else:
        found = {"first": first, "calls": calls, "kernels": kernels}[part](backend)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
