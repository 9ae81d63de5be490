"""Holders of locks that die, stop or leave a child behind; and locks whose files are deleted.

python -m tests.faults.holders 20
"""

import argparse
import itertools
import os
import signal
import sys
import time
from pathlib import Path

import attrs

from fieldforge.cache.eviction import _remove_lock
from fieldforge.cache.locks import BuildLock
from fieldforge.cache.root import Shelves
from fieldforge.runtime.process.private_folder import open_folder

from .report import tell

LIMIT = 0.1


@attrs.define
class Report:
    """How long the next one waited, by what became of the holder; and overlaps of holds."""

    waits: dict[str, list[float]] = attrs.field(factory=dict)
    stuck: int = 0
    holds: int = 0
    overlaps: int = 0

    @property
    def is_clean(self) -> bool:
        return not (self.stuck or self.overlaps)

    @property
    def text(self) -> str:
        rows = [
            f"holder {what}: {len(waits)} times, longest wait {max(waits) * 1e3:.1f} ms"
            for what, waits in self.waits.items()
        ]
        rows.append(f"{self.stuck} stuck; {self.holds} holds of a lock whose file is deleted all "
                    f"the time, {self.overlaps} overlaps")  # fmt: skip
        return "\n".join(rows)


def run(folder: Path, rounds: int, processes: int = 6, holds: int = 400) -> Report:
    report = Report()
    for what in ("killed", "killed, its child alive", "stopped"):
        report.waits[what] = [_wait(folder / "lock", what, report) for _ in range(rounds)]
    _churn(folder, processes, holds, report)
    return report


def _wait(path: Path, what: str, report: Report) -> float:
    """Wait for a lock whose holder meets its end; return how long after that it took."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        with BuildLock(str(path)).acquire(5.0, "held"):
            child = os.fork() if "child" in what else -1
            if child != 0:
                os.write(writing, b"%d\n" % child)
            time.sleep(60)
            os._exit(0)
    child = int(os.read(reading, 20))
    os.kill(pid, signal.SIGSTOP if what == "stopped" else signal.SIGKILL)
    began = time.monotonic()
    with BuildLock(str(path)).acquire(LIMIT if what == "stopped" else 5.0) as mine:
        waited = time.monotonic() - began
    report.stuck += mine is (what == "stopped")
    for each in (pid, child):
        if each > 0:
            os.kill(each, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(reading)
    os.close(writing)
    return waited


def _churn(folder: Path, processes: int, holds: int, report: Report) -> None:
    """Let processes hold one lock in turn while another one deletes its file whenever it can."""
    path = folder / "churned"
    pids = [_fork_holder(path, folder / f"log-{n}", holds) for n in range(processes)]
    deleter = _fork_deleter(path)
    for pid in pids:
        report.stuck += os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0
    os.kill(deleter, signal.SIGKILL)
    _, status = os.waitpid(deleter, 0)
    report.stuck += status != signal.SIGKILL  # it failed, and deleted nothing
    rows = [line.split() for log in folder.glob("log-*") for line in log.read_text().splitlines()]
    intervals = sorted((int(begin), int(end)) for begin, end in rows)
    report.holds += len(intervals)
    report.overlaps += sum(b[0] < a[1] for a, b in itertools.pairwise(intervals))


def _fork_deleter(path: Path) -> int:
    """Start a process that deletes the lock's file as eviction does; it exits if that fails."""
    pid = os.fork()
    if pid:
        return pid
    try:
        shelves = Shelves(str(path.parent), open_folder(str(path.parent), None))
        while True:
            _remove_lock(shelves, path.name)
            time.sleep(0.0005)
    finally:
        os._exit(1)


def _fork_holder(path: Path, log: Path, holds: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    lines = []
    for _ in range(holds):
        with BuildLock(str(path)).acquire(60.0) as mine:
            if not mine:
                os._exit(1)
            begin = time.monotonic_ns()
            time.sleep(0.0001)
            lines.append(f"{begin} {time.monotonic_ns()}\n")
    log.write_text("".join(lines))
    os._exit(0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int)
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--holds", type=int, default=400)
    args = parser.parse_args()
    return tell(lambda folder: run(folder, args.rounds, args.processes, args.holds))


if __name__ == "__main__":
    sys.exit(main())
