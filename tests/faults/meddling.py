"""Do to each file under the cache folder what a person can do by accident, and run the program.

    python -m tests.faults.meddling

The program must give the right answer, and again once the next process has mended the store. What
was loaded before keeps giving it while the files behind it are spoilt.
"""

import argparse
import fcntl
import os
import random
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import fieldforge as ff
from fieldforge.runtime.process.settings import Settings

from .program import compiled_once, fresh_program, is_right, runs_right, use
from .report import Report, tell


def _spoil(path: Path, content: bytes) -> None:
    """Write in place, as an editor does that cares for no protection."""
    path.chmod(0o644)
    path.write_bytes(content)


def delete(path: Path) -> None:
    path.unlink()


def truncate(path: Path) -> None:
    _spoil(path, path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    _spoil(path, b"")


def zero(path: Path) -> None:
    _spoil(path, bytes(path.stat().st_size))


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    if content:
        bit = random.Random(str(path)).randrange(8 * len(content))
        content[bit // 8] ^= 1 << bit % 8
    _spoil(path, bytes(content))


def append(path: Path) -> None:
    _spoil(path, path.read_bytes() + b"\n")


def swap(path: Path) -> None:
    """Give it the content of its neighbour."""
    others = [each for each in sorted(path.parent.parent.rglob("*")) if each.is_file()]
    _spoil(path, others[(others.index(path) + 1) % len(others)].read_bytes())


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/hostname")


def make_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def protect(path: Path) -> None:
    path.chmod(0)
    path.parent.chmod(0o500)


def lock(path: Path) -> None:
    """Hold a lock on it for the rest of this process."""
    handle = os.open(path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


DEEDS: tuple[Callable[[Path], None], ...] = (
    delete, truncate, empty, zero, flip, append, swap, make_folder, make_link, make_pipe, protect,
    lock,
)  # fmt: skip


def run(folder: Path, share: int = 1, turn: int = 0) -> Report:
    """Meddle with every file in every way, each time with a store that was sound.

    With a `share` of n, with every file in every n-th way, by turns; n runs with the turns 0, 1,
    ... do it all.
    """
    settings, reports = use(folder), Report("cases of meddling")
    with compiled_once():
        assert is_right(settings)
        shutil.copytree(settings.cache_dir, folder / "sound", symlinks=True)
        names = [path.relative_to(settings.cache_dir) for path in _files(settings.cache_dir)]
        for number, name in enumerate(names):
            for deed in DEEDS[(number + turn) % share :: share]:
                _renew(settings, folder / "sound")
                _meddle(settings, name, deed, reports)
        if turn == 0:
            _renew(settings, folder / "sound")
            _meddle_with_all(settings, reports)
            _renew(settings, folder / "sound")
            _meddle_with_locks(settings, reports)
    return reports


def _meddle(settings: Settings, name: Path, deed: Callable[[Path], None], report: Report) -> None:
    """Let a child meddle and run, so that what it holds ends with it."""
    engine, program = fresh_program(settings)
    pid = os.fork()
    if pid == 0:
        with suppress(BaseException):
            with ff.using(engine):
                program.build()
            deed(settings.cache_dir / name)
            code = 0 if runs_right(program) else 1
            os._exit(code if is_right(settings) and is_right(settings) else 2)
        import traceback

        traceback.print_exc()
        os._exit(3)
    _, status = os.waitpid(pid, 0)
    report.cases += 1
    if status:
        meaning = {1: "the loaded program is spoilt", 2: "a wrong answer", 3: "an error"}
        code = os.waitstatus_to_exitcode(status)
        report.faults.append(f"{deed.__name__} {name}: {meaning.get(code, f'signal {-code}')}")


def _meddle_with_all(settings: Settings, report: Report) -> None:
    """Zero everything at once, then delete everything at once."""
    for deed in (zero, delete):
        assert is_right(settings)
        for path in _files(settings.cache_dir):
            deed(path)
        report.cases += 1
        if not is_right(settings):
            report.faults.append(f"{deed.__name__} everything: a wrong answer")


def _meddle_with_locks(settings: Settings, report: Report) -> None:
    """Put something else in place of every lock, and let everything be built again."""
    for deed in (make_pipe, make_folder, make_link, protect):
        assert is_right(settings)
        for path in _files(settings.cache_dir / "v1/act"):
            path.unlink()
        for path in _files(settings.cache_dir / "v1/lock"):
            deed(path)
        report.cases += 1
        if not (is_right(settings) and is_right(settings)):
            report.faults.append(f"{deed.__name__} every lock: a wrong answer")


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _renew(settings: Settings, sound: Path) -> None:
    for path in settings.cache_dir.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    shutil.rmtree(settings.cache_dir)
    shutil.copytree(sound, settings.cache_dir, symlinks=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=int, default=1, help="every n-th way of each file only")
    parser.add_argument("--turn", type=int, default=0, help="which of these")
    args = parser.parse_args()
    return tell(lambda folder: run(folder, args.share, args.turn))


if __name__ == "__main__":
    sys.exit(main())
