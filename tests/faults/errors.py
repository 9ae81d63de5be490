"""Let each call of the system fail with each cause while a program is built or found, and run it.

    python -m tests.faults.errors [--all]

Without `--all` the calls of a cold build and the causes take turns; a warm start meets all.
"""

import argparse
import errno
import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from fieldforge.cache.disk import Disk
from fieldforge.runtime.process.settings import Settings

from .injector import CAUSES, Injector, fail
from .program import compiled_once, fresh_program, is_right, runs_right, use
from .report import Report, tell
from .sample import is_there, keep

OLD = 1


def run(folder: Path, everything: bool, step: int = 1, first: int = 1) -> Report:
    settings, report = use(folder), Report("runs, each with one failing call")
    injector = Injector()
    with compiled_once():
        assert is_right(settings)
        keep(Disk(settings.cache_dir), OLD)
        with injector.installed():
            for state in ("warm", "stages", "cold"):
                at, total = first, first
                while at <= total:
                    causes = CAUSES if everything or state == "warm" else [CAUSES[at % len(CAUSES)]]
                    total = max(total, _meet(settings, state, at, causes, injector, report))
                    at += step
    return report


def _meet(
    settings: Settings,
    state: str,
    at: int,
    causes: Iterable[int],
    injector: Injector,
    report: Report,
) -> int:
    """Run the program while one call fails; return how many calls there were."""
    total = 0
    for cause in causes:
        _prepare(settings, state)
        engine, program = fresh_program(settings)
        answers: list[bool] = []

        def work(engine=engine, program=program, answers=answers) -> None:  # type: ignore[no-untyped-def]
            import fieldforge as ff

            with ff.using(engine):
                program.build()
            answers.append(runs_right(program))

        where = f"{state}, call {at}, {errno.errorcode[cause]}"
        try:
            total = max(total, injector.run(work, at, fail(cause)))
        except Exception as error:
            total = max(total, injector.seen)
            report.faults.append(f"{where}: {type(error).__name__}: {error}")
        else:
            if answers != [True]:
                report.faults.append(f"{where}: a wrong answer")
        report.cases += 1
        if not is_there(Disk(settings.cache_dir), OLD):
            report.faults.append(f"{where}: an old result is lost")
            keep(Disk(settings.cache_dir), OLD)
    return total


def _prepare(settings: Settings, state: str) -> None:
    """Bring the store to where nothing, each stage, or the whole build is known."""
    root = settings.cache_dir
    if state == "cold":
        shutil.rmtree(root)
        shutil.rmtree(settings.local_dir, ignore_errors=True)
        keep(Disk(root), OLD)
        return
    if not is_right(settings):
        raise AssertionError("The program does not run on a sound store.")
    if state == "stages":
        for record in Disk(root).records("deep"):
            os.unlink(root / "v1/act" / record.key[:2] / record.key)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="every cause at every call, cold too")
    parser.add_argument("--step", type=int, default=1, help="only every n-th call")
    parser.add_argument("--first", type=int, default=1, help="begin with this call")
    args = parser.parse_args()
    return tell(lambda folder: run(folder, args.all, args.step, args.first))


if __name__ == "__main__":
    sys.exit(main())
