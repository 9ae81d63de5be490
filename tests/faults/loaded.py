"""Evict, exchange and cut what lies in the store while programs made of it run.

python -m tests.faults.loaded 50
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import threading
from pathlib import Path

import fieldforge as ff
from fieldforge.cache.disk import Disk
from fieldforge.cache.eviction import Budget

from .program import compiled_once, fresh_program, is_right, runs_right, use


def run(folder: Path, rounds: int) -> int:
    """Return how many calls were made, all of them right."""
    settings, chance = use(folder), random.Random(1)
    calls, wrong, done = [0], [0], threading.Event()
    with compiled_once():
        engine, program = fresh_program(settings)
        with ff.using(engine):
            program.build()

        def call() -> None:
            while not done.is_set():
                calls[0] += 1
                wrong[0] += not runs_right(program)

        caller = threading.Thread(target=call)
        caller.start()
        try:
            for _ in range(rounds):
                _disturb(settings.cache_dir, settings.local_dir / "libraries", chance)
                assert is_right(settings)  # what is rebuilt is right, too
        finally:
            done.set()
            caller.join()
    assert wrong[0] == 0
    return calls[0]


def _disturb(root: Path, libraries: Path, chance: random.Random) -> None:
    """Do one of the things that happen to files; the private copies may go, or be exchanged."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    path = chance.choice(files)
    match chance.randrange(5):
        case 0:
            Disk(root).prune(Budget(size=0, spare=0.0))
        case 1:
            other = path.with_name("other")
            other.write_bytes(b"other")
            os.replace(other, path)
        case 2:
            os.truncate(path, path.stat().st_size // 2)
        case 3:
            for copy in libraries.iterdir():
                copy.unlink()
        case 4:
            for copy in sorted(libraries.iterdir()):
                draft = copy.with_name("draft")
                draft.write_bytes(b"other")
                os.replace(draft, copy)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int)
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fieldforge-loaded-"))
    try:
        calls = run(folder, args.rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write(f"{args.rounds} disturbances during {calls} calls: every result right\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
