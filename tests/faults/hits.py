"""Measure what a hit costs: in memory, and on disk with every byte verified.

python -m tests.faults.hits
"""

import shutil
import sys
import tempfile
import timeit
from pathlib import Path

from fieldforge.cache.disk import Disk
from fieldforge.cache.layered import Layered
from fieldforge.cache.memory import Memory, SingleFlight

from .sample import is_there, keep, key


def main() -> int:
    folder = Path(tempfile.mkdtemp(prefix="fieldforge-hits-"))
    try:
        disk, flight = Disk(folder), SingleFlight[int]()
        layered, k = Layered(Memory(), disk), key(1)
        record = keep(disk, 1)
        is_there(layered, 1)
        flight.get_or_build(k, lambda: 1)
        for what, work in {
            "live value of this process": lambda: flight.get_or_build(k, lambda: 1),
            "record and files from memory": lambda: layered.read(layered.find(k), "out"),
            "record and a file of 30 kB from disk": lambda: disk.read(disk.find(k), "out"),
            "a write of both": lambda: disk.take(record, {"out": layered.read(record, "out")}),
        }.items():
            best = min(timeit.repeat(work, number=200, repeat=9)) / 200
            sys.stdout.write(f"{what}: {best * 1e6:.1f} us\n")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
