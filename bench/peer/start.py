"""First result of the diffusion, and one call with 15 fields, in a fresh process; ours or the peer.

    python start.py BACKEND FOLDER

`cpu` and `dace_cpu` are ours, `gt4py DaCe` and `gt4py C++` the peer's. Prints seconds from the
import of the program to its first result, and nanoseconds of a positional call, as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]


def backend_of(name: str, folder: Path) -> tuple[Any, str]:
    """Return the backend, and the package that programs import; nothing is built yet."""
    if not name.startswith("gt4py"):
        import fieldforge as ff

        ff.program, ff.ones, ff.where  # noqa: B018  (names are imported when they are used)
        return getattr(ff, name), "fieldforge"
    import alias

    alias.install(folder / "examples")
    if name == "gt4py C++":
        import gt4py.next as gtx

        return gtx.gtfn_cpu, "gt4py.next"
    from gt4py.next.program_processors.runners.dace import run_dace_cpu

    return run_dace_cpu, "gt4py.next"


def first_result(backend: Any) -> float:
    """Return the seconds to the first result."""
    import fieldforge as ff

    begin = time.perf_counter()
    from fieldforge.examples.diffusion import I, J, K, diffuse

    u = ff.ones(ff.domain({I: (-2, 34), J: (-2, 34), K: (0, 8)}), allocator=backend)
    coeff = ff.full(ff.domain({I: (0, 32), J: (0, 32), K: (0, 8)}), 0.05, allocator=backend)
    out = ff.zeros(ff.domain({I: (0, 32), J: (0, 32), K: (0, 8)}), allocator=backend)
    diffuse.with_backend(backend)(u, coeff, out, offset_provider={})
    took = time.perf_counter() - begin
    assert (out.asnumpy() == 1.0).all()
    return took


def call(backend: Any, package: str, folder: Path) -> float:
    """Return the least nanoseconds of a call with 15 fields and 3 numbers, by position."""
    import numpy as np
    from call_programs import arguments, nanoseconds, repeated, write_module

    import fieldforge as ff

    module = write_module(folder, package, "None")
    whole = ff.domain({module.I: (0, 1)})
    given = arguments([ff.zeros(whole, allocator=backend) for _ in range(15)])
    given |= {"low": np.int32(0), "high": np.int32(1)} if package != "fieldforge" else {}
    program = module.fields_15.with_backend(backend)
    more = {"offset_provider": {}} if package != "fieldforge" else {}
    program(*given.values(), **more)
    rounds = repeated(program, given, "positional", more)
    return min(nanoseconds(rounds, 0.01) for _ in range(15))


def main(name: str, folder: Path) -> None:
    """Measure both."""
    backend, package = backend_of(name, folder)
    took = first_result(backend)
    print(json.dumps({"first": took, "call": call(backend, package, folder)}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
