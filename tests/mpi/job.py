"""One rank of a job that builds programs together with the others, in several scenarios in turn.

mpirun -n 4 python tests/mpi/job.py FOLDER SCENARIO...
"""

from __future__ import annotations

import json
import linecache
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fieldforge as ff
from fieldforge.cache.disk import Disk
from fieldforge.workflows.batches.orders import orders_of
from fieldforge.workflows.engine.events import Finished

I, J = ff.Dimension("I"), ff.Dimension("J")
Plane = ff.Field[ff.Dims[I, J], ff.float64]
COUNT = 4
TEXT = """
@ff.field_operator(backend=ff.cpu)
def sum_{number}(u: Plane) -> Plane:
    return u(I + 1) + u(J - 1) * {number}.5
"""


def programs(count: int, rank: int | None = None) -> list[Any]:
    """Make operators by text, as files do; with a rank the last one differs from rank to rank."""
    found = []
    for number in range(count):
        text = TEXT.format(number=number if rank is None or number < count - 1 else 100 + rank)
        name = f"<program {number}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        space = {"ff": ff, "Plane": Plane, "I": I, "J": J}
        exec(compile(text, name, "exec"), space)
        found.append(next(value for key, value in space.items() if key.startswith("sum_")))
    return found


def spoiled(scenario: str, folder: Path, comm: Any) -> Any:
    """Return the backend that the third program has, which cannot be built by it."""

    def spoil(program: Any) -> Any:
        if scenario == "end":
            os.kill(os.getpid(), signal.SIGKILL)
        raise ValueError("This pass does not like it.")

    if scenario == "fails":
        return ff.cpu.with_options(flags=("-no-such-flag",))
    if scenario == "dies":
        return ff.cpu.with_options(cxx=str(dying_compiler(folder, comm)))
    return ff.cpu.with_workflow(ff.cpu.workflow.insert_after("lower", spoil))


def dying_compiler(folder: Path, comm: Any) -> Path:
    path = folder / "c++"
    if comm.rank == 0:
        path.write_text(
            '#!/bin/sh\ncase "$1" in --version) echo dying;; -print*) ;; *) kill -9 $$;; esac\n'
        )
        path.chmod(0o700)
    wait_for_all(comm)
    return path


def wait_for_all(comm: Any) -> None:
    """Meet the other ranks; a barrier that spins would slow them."""
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(0.002)


def play(scenario: str, folder: Path, comm: Any) -> dict[str, Any]:
    seen = ff.Collector()
    store = Disk(folder / f"rank{comm.rank}" if scenario == "apart" else folder)
    said: dict[str, Any] = {"rank": comm.rank, "errors": []}
    with ff.using(ff.Engine(store, observers=[seen])):
        wanted = programs(COUNT, comm.rank if scenario == "differ" else None)
        if scenario in ("fails", "raises", "dies", "end"):
            wanted[2] = wanted[2].with_backend(spoiled(scenario, folder, comm))
        if scenario == "late" and comm.rank == 2:
            time.sleep(0.3)  # the others wait actively
        try:
            with ff.precompile(comm=comm, progress=None) as builds:
                for program in wanted if scenario != "idle" or comm.rank != 3 else ():
                    builds.add(program)
                if scenario == "lost" and comm.rank == 1:
                    raise KeyError("mine")
        except ExceptionGroup as group:
            said["errors"] = [
                f"{type(error).__name__} {getattr(error, '__notes__', [''])[-1]}"
                for error in group.exceptions
            ]
        except KeyError as error:
            said["errors"] = [repr(error)]
        said["compiled"] = list(compiled(seen))
        said["missing"] = [program.__name__ for program in wanted if not stored(program)]
    return said


def compiled(seen: Any) -> Iterator[str]:
    for each in seen.events:
        if isinstance(each, Finished) and each.stage == "compile":
            yield each.program


def stored(program: Any) -> bool:
    return all(order.is_stored() for order in orders_of(program))


def main() -> None:
    from mpi4py import MPI  # pytest imports this file too, and is no rank

    comm = MPI.COMM_WORLD
    for scenario in sys.argv[2:]:
        folder = Path(sys.argv[1], scenario.removesuffix("-again"))
        folder.mkdir(exist_ok=True)
        said = play(scenario, folder, comm)
        Path(folder, f"{scenario}{comm.rank}.json").write_text(json.dumps(said))
        wait_for_all(comm)


if __name__ == "__main__":
    main()
