"""Time steps of the shallow-water model with gt4py; `bench/models.py` runs this by its Python.

python water.py FILE.npz BACKEND STEPS OUT.npz     prints {"build_s": ..., "step_s": ..., ...}

The programs are those of `examples/shallow_water/programs.py` as they stand. The file holds tables,
constants and a state as arrays; after the last step `h` and `u` go to the other one, and gt4py's
copies of the modules lie beside it.
"""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import alias
import numpy as np

MODULES = ("__init__", "grid", "programs")
STAGES = ((0.5, 1 / 6), (0.5, 1 / 3), (1.0, 1 / 3), (0.0, 1 / 6))


def model(folder: Path) -> Any:
    """Return the modules with the grid's dimensions and the programs, as gt4py reads them."""
    alias.install(folder)
    (folder / "shallow_water").mkdir()
    for name in MODULES:
        text = (alias.EXAMPLES / "shallow_water" / f"{name}.py").read_text()
        (folder / "shallow_water" / f"{name}.py").write_text(alias.with_numbers(text))
    from fieldforge.examples.shallow_water import grid, programs

    return grid, programs


def stepper(given: Any, backend: Any, folder: Path) -> tuple[Callable[[], None], Any, Any]:
    """Return what takes a step, and the fields `h` and `u`."""
    import gt4py.next as gtx

    grid, programs = model(folder)
    cells, edges, vertices = (len(given[name]) for name in ("h", "u", "constant_coriolis"))
    dims = {
        "curl": (grid.Vertex, grid.V2EDim), "share": (grid.Vertex, grid.V2CDim),
        "kinetic": (grid.Cell, grid.C2EDim), "divergence": (grid.Cell, grid.C2EDim),
        "tangential": (grid.Edge, grid.E2E2CDim), "per_distance": (grid.Edge,),
        "coriolis": (grid.Vertex,), "ground": (grid.Cell,),
    }  # fmt: skip
    field = functools.partial(gtx.as_field, allocator=backend)
    constants = {name: field(of, given[f"constant_{name}"]) for name, of in dims.items()}
    tables = {
        offset.value: gtx.as_connectivity(
            offset.target, offset.source, given[f"table_{offset.value}"],
            skip_value=-1 if (given[f"table_{offset.value}"] < 0).any() else None,
            allocator=backend,
        )
        for offset in grid.OFFSETS
    }  # fmt: skip

    def pair() -> tuple[Any, Any]:
        return field((grid.Cell,), np.zeros(cells)), field((grid.Edge,), np.zeros(edges))

    now = field((grid.Cell,), given["h"]), field((grid.Edge,), given["u"])
    stages, sums = (pair(), pair()), pair()
    (head, flux), (_, q_edge), dt = pair(), pair(), float(given["dt"])
    between = {"flux": flux, "q_edge": q_edge, "head": head}
    q = field((grid.Vertex,), np.zeros(vertices))
    diagnose, advance = (
        each.with_backend(backend) for each in (programs.diagnose, programs.advance)
    )
    diagnosed = ("coriolis", "ground", "curl", "share", "kinetic")
    c, e, v = np.int32(cells), np.int32(edges), np.int32(vertices)

    def step() -> None:
        for number, (a, w) in enumerate(STAGES):
            h, u = stages[number % 2] if number else now
            scratch, before = stages[(number + 1) % 2], sums if number else now
            into = now if number == len(STAGES) - 1 else sums
            diagnose(
                h=h, u=u, q=q, gravity=float(given["gravity"]), **between,
                **{name: constants[name] for name in diagnosed},
                flux_end=e, q_end=v, q_edge_end=e, head_end=c, offset_provider=tables,
            )  # fmt: skip
            advance(
                **between, h0=now[0], u0=now[1], a=a * dt, w=w * dt,
                **{name: constants[name] for name in ("divergence", "tangential", "per_distance")},
                h_sum=before[0], u_sum=before[1], h_next=scratch[0], u_next=scratch[1],
                h_sum_out=into[0], u_sum_out=into[1], h_end=c, u_end=e, offset_provider=tables,
            )  # fmt: skip

    return step, *now


def main(file: str, backend: str, steps: str, out: str) -> None:
    """Take one step that builds, then the others; time each of these."""
    import gt4py.next as gtx

    step, h, u = stepper(dict(np.load(file)), getattr(gtx, backend), Path(out).parent / "examples")
    begin = time.perf_counter()
    step()
    built, found, running = time.perf_counter() - begin, [], []
    for _ in range(int(steps) - 1):
        begin, before = time.perf_counter(), time.process_time()
        step()
        found.append(time.perf_counter() - begin)
        running.append(time.process_time() - before)
    np.savez(out, h=h.asnumpy(), u=u.asnumpy())
    print(json.dumps({"build_s": built, "step_s": min(found), "processor_s": min(running)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
