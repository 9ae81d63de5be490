"""Kill builders at random moments, and look at what they left.

    python -m tests.faults.kills 300 [--seed 0]

Builders are forked from one small process. Each takes locks, builds in a folder of its own,
publishes, evicts, prunes; some fork a child that outlives them with their lock in its hands. After
each kill the next process takes the lock that the dead one held, and the time of that is measured.
"""

import argparse
import mmap
import os
import random
import signal
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path

import attrs

from fieldforge.cache.disk import Disk
from fieldforge.cache.eviction import Budget
from fieldforge.cache.locks import build_once
from fieldforge.runtime.process.settings import Settings, set_current
from fieldforge.stages.compile.build_folder import build_folder

from .report import tell
from .sample import SIZE, content, is_there, is_wrong, keep, key, wrong

KEYS = 40
_ASLEEP, _IDLE = -2, -1
BUDGET = Budget(size=25 * SIZE, spare=0.0)
_NOTE = struct.Struct("iii")  # the key under way, a child left behind, how many results were kept


@attrs.define
class Report:
    """What a number of kills led to."""

    kills: int = 0
    kept: int = 0
    wrong: int = 0
    corrupt: int = 0
    stuck: int = 0
    left: int = 0
    holding: int = 0
    with_child: int = 0
    longest_wait: float = 0.0

    @property
    def is_clean(self) -> bool:
        return not (self.wrong or self.corrupt or self.stuck or self.left)

    @property
    def text(self) -> str:
        return (
            f"{self.kills} kills, {self.holding} of holders of a lock, {self.with_child} of them "
            f"with a child that lived on; {self.kept} results kept; {self.wrong} wrong hits, "
            f"{self.corrupt} damaged files, {self.stuck} stuck, {self.left} files left behind; "
            f"longest wait for a dead holder {self.longest_wait * 1e3:.1f} ms"
        )


def run(folder: Path, kills: int, seed: int) -> Report:
    """Kill that many builders over one store."""
    set_current(Settings(cache_dir=folder / "store", local_dir=folder / "local"))
    note = mmap.mmap(-1, _NOTE.size)
    chance, report = random.Random(seed), Report()
    for number in range(kills):
        note[:] = _NOTE.pack(_ASLEEP, 0, 0)
        pid = os.fork()
        if pid == 0:
            _build_for_ever(folder, number + seed * kills, note)
        while _NOTE.unpack(note[:])[0] == _ASLEEP:
            time.sleep(0.0005)
        time.sleep(chance.random() ** 2 * 0.03)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        _examine(folder, note, report)
        if number % 25 == 0:
            report.wrong += wrong(Disk(folder / "store"), range(KEYS))
    _examine_end(folder, report)
    return report


def _build_for_ever(folder: Path, seed: int, note: mmap.mmap) -> None:
    try:
        chance, kept = random.Random(seed), [0]
        disk = Disk(folder / "store", budget=BUDGET)
        note[:] = _NOTE.pack(_IDLE, 0, 0)
        while True:
            n = chance.randrange(KEYS)

            def build(n: int = n) -> str:
                child = _leave_a_child() if chance.random() < 0.1 else 0
                note[:] = _NOTE.pack(n, child, kept[0])
                with build_folder() as scratch:
                    Path(scratch.path, "program.so").write_bytes(content(n)["out"]["library.so"])
                    time.sleep(0.001)
                keep(disk, n)
                if child:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                note[:] = _NOTE.pack(_IDLE, 0, kept[0])
                return "built"

            found = build_once(
                disk, key(n), lambda n=n: "found" if is_there(disk, n) else None, build, 5.0
            )  # fmt: skip
            kept[0] += found == "built"
            if chance.random() < 0.5:
                Path(folder, "store/v1/act", key(n)[:2], key(n)).unlink(missing_ok=True)
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(1)


def _leave_a_child() -> int:
    """Fork a child that holds on to every descriptor of ours, but does not keep readers waiting."""
    pid = os.fork()
    if pid == 0:
        os.closerange(0, 3)
        time.sleep(60)
        os._exit(0)
    return pid


def _examine(folder: Path, note: mmap.mmap, report: Report) -> None:
    n, child, kept = _NOTE.unpack(note[:])
    report.kills += 1
    report.kept += kept
    if n < 0:
        return
    report.holding += 1
    report.with_child += bool(child)
    disk = Disk(folder / "store")
    began = time.monotonic()
    with disk.lock(key(n), limit=5.0) as mine:
        waited = time.monotonic() - began
    report.stuck += not mine
    report.longest_wait = max(report.longest_wait, waited)
    report.wrong += is_wrong(disk, n)
    if child:
        with suppress(ProcessLookupError):  # its parent may have ended it just in time
            os.kill(child, signal.SIGKILL)  # init is its parent now, and buries it


def _examine_end(folder: Path, report: Report) -> None:
    """Open the store once more and build once: nothing of the dead may be left."""
    disk = Disk(folder / "store")
    report.wrong += wrong(disk, range(KEYS))
    keep(disk, KEYS)
    with build_folder():
        pass
    report.corrupt += disk.stats().corrupt + len(os.listdir(folder / "store/v1/bad"))
    for place in ("store/v1/tmp", "local/build"):
        report.left += len(os.listdir(folder / place))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", type=int)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    return tell(lambda folder: run(folder, args.kills, args.seed))


if __name__ == "__main__":
    sys.exit(main())
