"""Evict, exchange and cut what lies in the store while programs made of it run.

python -m tests.faults.loaded 50
"""

import argparse
import os
import random
import sys
import threading
from pathlib import Path

import attrs

import fieldforge as ff
from fieldforge.cache.disk import Disk
from fieldforge.cache.eviction import Budget

from .program import compiled_once, fresh_program, is_right, runs_right, use
from .report import tell


@attrs.define
class Report:
    """How often the store was disturbed, and how many of the calls meanwhile were right."""

    rounds: int
    calls: int = 0
    wrong: int = 0

    @property
    def is_clean(self) -> bool:
        return not self.wrong

    @property
    def text(self) -> str:
        said = f"{self.wrong} wrong" if self.wrong else "every result right"
        return f"{self.rounds} disturbances during {self.calls} calls: {said}"


def run(folder: Path, rounds: int, seed: int) -> Report:
    settings, chance, report = use(folder), random.Random(seed), Report(rounds)
    done = threading.Event()
    with compiled_once():
        engine, program = fresh_program(settings)
        with ff.using(engine):
            program.build()

        def call() -> None:
            while not done.wait(0.0001):  # who disturbs needs the interpreter, too
                report.calls += 1
                report.wrong += not runs_right(program)

        caller = threading.Thread(target=call)
        caller.start()
        try:
            for _ in range(rounds):
                _disturb(settings.cache_dir, settings.local_dir / "libraries", chance)
                report.wrong += not is_right(settings)  # what is rebuilt must be right, too
        finally:
            done.set()
            caller.join()
    return report


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
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    return tell(lambda folder: run(folder, args.rounds, args.seed))


if __name__ == "__main__":
    sys.exit(main())
