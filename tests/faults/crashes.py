"""End a process before and after every call of the system, and look at what it left.

    python -m tests.faults.crashes [--when before]

Every deed is done by a forked process that dies at call 1, 2, ... until it lives through it.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from fieldforge.cache.disk import Disk
from fieldforge.cache.eviction import Budget
from fieldforge.cache.store import keep_result
from fieldforge.runtime.process.errors import CompilationError

from .injector import CRASHED, Deed, Injector, crash_after, crash_before
from .report import Report, tell
from .sample import SIZE, is_there, is_wrong, keep, key

OLD, NEW = 1, 2
REFUSED = CompilationError("The compiler failed.", command=("c++",), exit_code=1, log="no")


def _keep(root: Path) -> None:
    keep(Disk(root), NEW)


def _keep_beside_its_blob(root: Path) -> None:
    keep_result(
        Disk(root), key(NEW), stage="compile", program="p", components={"n": str(NEW)},
        outputs={"out": {"library.so": NEW.to_bytes(4, "big") * (SIZE // 4), "log.txt": b"2"}},
    )  # fmt: skip


def _fail(root: Path) -> None:
    Disk(root).keep_failure(key(NEW), REFUSED)


def _hold(root: Path) -> None:
    with Disk(root).lock(key(NEW), 0.0):
        pass


def _meet_damage(root: Path) -> None:
    path = root / "v1/act" / key(NEW)[:2] / key(NEW)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"damaged")
    Disk(root).find(key(NEW))


def _prune(root: Path) -> None:
    disk = Disk(root)
    keep(disk, NEW)
    disk.prune(Budget(size=SIZE + 5000, spare=0.0))


DEEDS: dict[str, Callable[[Path], None]] = {
    "first result": _keep,
    "later result": _keep,
    "blob is there": _keep_beside_its_blob,
    "failure": _fail,
    "lock": _hold,
    "damage": _meet_damage,
    "prune": _prune,
}


WHEN: dict[str, tuple[Deed, ...]] = {
    "before": (crash_before,),
    "after": (crash_after,),
    "both": (crash_before, crash_after),
}


def run(folder: Path, deeds: Iterable[str] = DEEDS, when: str = "both") -> Report:
    report = Report("crashes at calls of the system")
    for name in deeds:
        for crash in WHEN[when]:
            at = 1
            while _dies(folder / "store", name, DEEDS[name], crash, at, report):
                at += 1
    return report


def _dies(
    root: Path, name: str, deed: Callable[[Path], None], when: Deed, at: int, report: Report
) -> bool:
    """Let a child die at one call; tell whether it did."""
    shutil.rmtree(root, ignore_errors=True)
    if name != "first result":
        keep(Disk(root), OLD)
    if name == "blob is there":
        keep(Disk(root), NEW)
        (root / "v1/act" / key(NEW)[:2] / key(NEW)).unlink()
    pid = os.fork()
    if pid == 0:
        injector = Injector()
        with injector.installed():
            injector.run(lambda: deed(root), at, when)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, CRASHED):
        report.faults.append(f"{name}, call {at}, {when.__name__}: exit code {code}")
    report.cases += code == CRASHED
    for fault in _faults(root, has_old=name not in ("first result", "prune")):
        report.faults.append(f"{name}, call {at}, {when.__name__}: {fault}")
    return code == CRASHED


def _faults(root: Path, has_old: bool) -> list[str]:
    """Say what is not as it must be for the next process."""
    faults = []
    disk = Disk(root)
    if is_wrong(disk, NEW) or is_wrong(disk, OLD):
        faults.append("a wrong hit")
    if has_old and not is_there(disk, OLD):
        faults.append("an old result is lost")
    with disk.lock(key(NEW), 1.0) as mine:
        if not mine:
            faults.append("the lock is not free")
    keep(disk, NEW)
    if not is_there(Disk(root), NEW):
        faults.append("the result cannot be stored any more")
    if os.listdir(root / "v1/tmp"):
        faults.append("drafts are left")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("deeds", nargs="*", help=f"some of: {', '.join(DEEDS)}")
    parser.add_argument("--when", choices=WHEN, default="both", help="before or after a call")
    args = parser.parse_args()
    return tell(lambda folder: run(folder, args.deeds or DEEDS, args.when))


if __name__ == "__main__":
    sys.exit(main())
