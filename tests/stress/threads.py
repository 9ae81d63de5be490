"""Run the jobs in many threads for a while: `python -m tests.stress.threads --seconds 60`.

Fails where a result is wrong, a call raises, memory of a GPU is left over, or the process hangs or
dies. `--part gpu` runs the jobs of the GPU runtime on the platform that FIELDFORGE_GPU names, null
otherwise; `--part all` gives half the time to them.
"""

import argparse
import faulthandler
import importlib.util
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

# Streams and events of each kind that are kept for reuse.
POOLS = 5 * 256


def load_core(path: str) -> None:
    """Let the package use another build of its native core."""
    name = "fieldforge.runtime._core"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def stress(
    jobs: Sequence[Callable[[random.Random], None]], seconds: float, threads: int, seed: int
) -> Counter[str]:
    """Return how often each job ran; the first error of any thread is raised."""
    counts: Counter[str] = Counter()
    errors: list[BaseException] = []
    end = time.monotonic() + seconds

    def work(number: int) -> None:
        chance, done = random.Random(f"{seed} {number}"), Counter[str]()
        while time.monotonic() < end and not errors:
            job = chance.choice(jobs)
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


def stress_cpu(seconds: float, threads: int, seed: int) -> Counter[str]:
    """Call programs."""
    from .jobs import JOBS

    return stress(JOBS, seconds, threads, seed)


def stress_gpu(seconds: float, threads: int, seed: int) -> Counter[str]:
    """Use one GPU from all threads; nothing may be left over, and no order may be missing."""
    from . import gpu_jobs

    before, handles = gpu_jobs.held(), gpu_jobs.handles()
    counts = stress(gpu_jobs.JOBS, seconds, threads, seed)
    left = gpu_jobs.held() - before
    found = gpu_jobs.problems()
    more = gpu_jobs.handles() - handles
    if left or found or more > POOLS:
        raise AssertionError(f"{left} bytes, {more} streams and events are left; {found[:5]}")
    return counts


def main() -> None:
    """Read the command line, run, and say what ran."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--seconds", type=float, default=60.0)
    reader.add_argument("--threads", type=int, default=8)
    reader.add_argument("--seed", type=int, default=0)
    reader.add_argument("--core", help="path of another build of the native core")
    reader.add_argument("--part", choices=("cpu", "gpu", "all"), default="all")
    given = reader.parse_args()
    faulthandler.dump_traceback_later(given.seconds * 3 + 300, exit=True)
    sys.setswitchinterval(1e-5)
    if given.core:
        load_core(given.core)
    parts = {"cpu": stress_cpu, "gpu": stress_gpu}
    chosen = parts if given.part == "all" else {given.part: parts[given.part]}
    counts: Counter[str] = Counter()
    for part in chosen.values():
        counts += part(given.seconds / len(chosen), given.threads, given.seed)
    rows = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    print(f"{sum(counts.values())} jobs in {given.threads} threads without an error: {rows}")  # noqa: T201


if __name__ == "__main__":
    main()
