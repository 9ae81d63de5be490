"""The gradient of a run of shallow water in JAX; `bench/runs.py` starts it.

`scan` in `scan`: the outer one keeps a state for each block of steps, and `checkpoint` lets a block
run again when it is reversed; within it, `checkpoint` keeps a state for each step.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
import jax  # noqa: E402  (its threads are as many as processors)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

jax.config.update("jax_enable_x64", True)
ON_GPU = sys.argv[4:] == ["gpu"]
if not ON_GPU:
    jax.config.update("jax_platforms", "cpu")
clock = time.perf_counter if ON_GPU else time.process_time
GRAVITY = 9.80616
STAGES = ((0.5, 1 / 6), (0.5, 1 / 3), (1.0, 1 / 3), (0.0, 1 / 6))
State = tuple[jax.Array, jax.Array]


def tendency(h: jax.Array, u: jax.Array, c: Any) -> State:
    """Return the time derivatives of thickness and velocity; missing neighbours have weight 0."""
    c2e, e2c, e2v, v2e, v2c, e2e = (
        c[name] for name in ("C2E", "E2C", "E2V", "V2E", "V2C", "E2E2C")
    )
    flux = 0.5 * (h[e2c[:, 0]] + h[e2c[:, 1]]) * u
    q = (c["coriolis"] + (u[v2e] * c["curl"]).sum(1)) / (h[v2c] * c["share"]).sum(1)
    q_edge = 0.5 * (q[e2v[:, 0]] + q[e2v[:, 1]])
    head = GRAVITY * (h + c["ground"]) + (u[c2e] ** 2 * c["kinetic"]).sum(1)
    turning = (flux[e2e] * c["tangential"] * (0.5 * (q_edge[:, None] + q_edge[e2e]))).sum(1)
    return (
        -(flux[c2e] * c["divergence"]).sum(1),
        turning - (head[e2c[:, 1]] - head[e2c[:, 0]]) * c["per_distance"],
    )


def step(state: State, c: Any) -> State:
    """Take a Runge-Kutta step."""
    h, u = total_h, total_u = state
    for a, w in STAGES:
        dh, du = tendency(h, u, c)
        total_h, total_u = total_h + w * c["dt"] * dh, total_u + w * c["dt"] * du
        h, u = state[0] + a * c["dt"] * dh, state[1] + a * c["dt"] * du
    return total_h, total_u


def cost(h: jax.Array, u: jax.Array, c: Any, blocks: int, size: int) -> jax.Array:
    """Return half the sum of the squares of the thickness after `blocks * size` steps."""
    one = jax.checkpoint(lambda state, _: (step(state, c), None))

    @jax.checkpoint
    def block(state: State, _: None) -> tuple[State, None]:
        return jax.lax.scan(one, state, None, length=size)[0], None

    (h, u), _ = jax.lax.scan(block, (h, u), None, length=blocks)
    return 0.5 * (h * h).sum()


def main() -> None:
    """Measure."""
    folder, steps = Path(sys.argv[1]), int(sys.argv[2])
    given = dict(np.load(folder / "inputs.npz"))
    c = {name: jnp.asarray(each) for name, each in given.items() if name not in ("h", "u", "level")}
    h, u = jnp.asarray(given["h"]), jnp.asarray(given["u"])
    size = max(n for n in range(1, math.isqrt(steps) + 1) if steps % n == 0)
    run = jax.jit(jax.grad(cost), static_argnums=(3, 4))
    began = clock()
    compiled = run.lower(h, u, c, steps // size, size).compile()
    built = clock() - began  # by several threads of the compiler
    np.asarray(compiled(h, u, c)) if ON_GPU else None  # a first run on a GPU loads the kernels
    began = clock()
    found = np.asarray(compiled(h, u, c))
    seconds = clock() - began
    np.save(folder / "jax.npy", found)
    memory = compiled.memory_analysis()
    print(
        json.dumps(
            {
                "seconds": seconds,
                "megabytes": memory.temp_size_in_bytes / 2**20,
                "peak_rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "built": built,
                "blocks": steps // size,
                "size": size,
            }
        )
    )


if __name__ == "__main__":
    main()
