"""Run the jobs in many threads for a while: `python -m tests.stress.threads --seconds 60`.

Fails where a result is wrong, a call raises, or the process hangs or dies.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib.util
import random
import sys
import threading
import time
from collections import Counter


def load_core(path: str) -> None:
    """Let the package use another build of its native core."""
    name = "fieldforge.runtime._core"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def stress(seconds: float, threads: int, seed: int) -> Counter[str]:
    """Return how often each job ran; the first error of any thread is raised."""
    from .jobs import JOBS

    counts: Counter[str] = Counter()
    errors: list[BaseException] = []
    end = time.monotonic() + seconds

    def work(number: int) -> None:
        chance, done = random.Random(f"{seed} {number}"), Counter[str]()
        while time.monotonic() < end and not errors:
            job = chance.choice(JOBS)
            try:
                job(chance)
            except BaseException as error:
                errors.append(error)
            done[job.__name__] += 1
        with lock:
            counts.update(done)

    lock = threading.Lock()
    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]
    return counts


def main() -> None:
    """Read the command line, run, and say what ran."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--seconds", type=float, default=60.0)
    reader.add_argument("--threads", type=int, default=8)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--core", help="path of another build of the native core")
    given = reader.parse_args()
    faulthandler.dump_traceback_later(given.seconds * 3 + 300, exit=True)
    sys.setswitchinterval(1e-5)
    if given.core:
        load_core(given.core)
    counts = stress(given.seconds, given.threads, given.seed)
    rows = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    print(f"{sum(counts.values())} jobs in {given.threads} threads without an error: {rows}")  # noqa: T201


if __name__ == "__main__":
    main()
