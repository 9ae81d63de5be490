"""Read changed files for as long as one likes: `python -m tests.generated.files 10000`.

For each kind of file a valid one is written, changed, and read as the package reads it. A change
may lead to the documented errors of that reader and to no others. A child process reads a batch:
its memory has a limit, an audit hook records what it starts, the compiler is a script that records
its words, and a program above the file's folder writes a canary when it is imported. Ctrl-C ends
the run early, with the same summary; `--kind lock --seed 7 --only 31` reads one change again.
"""

import argparse
import contextlib
import json
import os
import random
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from fieldforge.stages.compile.watcher import _ANNOUNCE, _WATCH, SHELL

from .file_kinds import KINDS, Kind
from .mutations import CANARY

BATCH: Final = 50
MEMORY: Final = 2 << 30  # bytes that a child may map beyond those of the empty process
GROWTH: Final = 512 << 10  # kilobytes that reading one file may add to the most that it has used
SECONDS: Final = 90  # for one change
BRIEF: Final = 10  # where what takes longer is read again alone
# Written down again, because the allow-list must not be tested by itself.
FORBIDDEN: Final = re.compile(
    r"-wrapper|-include|-specs|-fplugin.*|-B.*|-I.*|@.*|-mllvm|.*canary.*"
)


class TooLongError(BaseException):
    """A reader takes too long; no reader catches this."""


@attrs.frozen
class Options:
    """What is run; equal options draw equal changes."""

    kind: str
    count: int
    seed: int
    folder: Path
    only: int | None = None
    alone: bool = False  # read each change in a process of its own

    def changed(self, kind: Kind, sample: bytes, number: int) -> bytes:
        """Return change `number` of the sample."""
        return kind.mutate(random.Random(f"{self.kind}/{self.seed}/{number}"), sample)


# --- a child, which reads ------------------------------------------------------------------------


def read_batch(options: Options, sample: bytes, numbers: Sequence[int]) -> Iterator[list[Any]]:
    """Yield the number of each change before it is read, and what went wrong."""
    kind, started, patience = KINDS[options.kind], _recorded(), SECONDS
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _too_long)
    if kind.alone is not None and options.alone:
        kind = attrs.evolve(kind, read=kind.alone)
    elif kind.alone is not None:  # a C library that hangs runs no handler: let the alarm end it
        patience = BRIEF
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for number in numbers:
        yield [number]
        folder = Path(tempfile.mkdtemp(dir=options.folder))
        path = folder / kind.name
        path.write_bytes(options.changed(kind, sample, number))
        for name, text in kind.beside.items():
            (folder / name).write_text(text)
        started.clear()
        os.chdir(folder)
        is_refused, wrong = _read(kind, path, patience)
        yield [number, wrong or _executed(options.folder, started), is_refused]
        os.chdir(options.folder)
        shutil.rmtree(folder)


def _read(kind: Kind, path: Path, patience: int) -> tuple[bool, str]:
    """Return whether a reader refused a file, and what it did that is not documented."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.alarm(patience)
    try:
        kind.read(path)
    except kind.errors as error:
        return True, "" if str(error).strip() else "an error without a message"
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        inside = [each for each in frames if "fieldforge" in each.filename] or frames
        place = f"{Path(inside[-1].filename).name}:{inside[-1].name}"
        return True, f"{type(error).__name__} in {place}: {str(error)[:200]}"
    finally:
        signal.alarm(0)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return False, f"took {grown >> 10} MB" if grown > GROWTH else ""


def _executed(folder: Path, started: list[str]) -> str:
    """Return what was executed: by a program that wrote the canary, an event, or a compiler."""
    if any(Path(where, CANARY).exists() for where in (".", folder, folder.parent)):
        return "the canary was written"
    if started:
        return f"started {started[0]}"
    log = folder / "compiled"
    words = log.read_text().split("\x1f") if log.exists() else []
    log.unlink(missing_ok=True)
    for word in words:
        if FORBIDDEN.fullmatch(word):
            return f"the compiler was given '{word}'"
    return ""


def _recorded() -> list[str]:
    """Return the list to which an audit hook adds what this process starts or runs."""
    started: list[str] = []
    compiler = os.environ["FIELDFORGE_CXX"]

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event in ("os.system", "os.exec", "os.posix_spawn", "pty.spawn", "os.startfile"):
            started.append(f"{event} {args!r}")
        elif event == "subprocess.Popen" and not _is_ours(args[1], compiler):
            started.append(f"{event} {args[:2]!r}")
        elif event == "pickle.find_class":
            started.append(f"{event} {args!r}")

    sys.addaudithook(hook)
    return started


def _is_ours(words: Sequence[str], compiler: str) -> bool:
    """Tell whether words start the reader of meshes, or the compiler, maybe by its shell."""
    known = (
        [compiler],
        [SHELL, "-c", _WATCH],
        [SHELL, "-c", _ANNOUNCE, "sh", compiler],
        [sys.executable, "-P", "-m", "fieldforge.runtime.meshes.isolated"],
    )
    return any(list(words[: len(start)]) == start for start in known)


def _too_long(*_: Any) -> None:
    raise TooLongError(f"more than {SECONDS} s")


def batch_apart(options: Options, sample: bytes, numbers: Sequence[int]) -> Iterator[list[Any]]:
    """Read a batch in a child; if that ends early, the last change was the reason."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        status = 1
        try:
            os.close(reading)
            resource.setrlimit(resource.RLIMIT_AS, (_size() + MEMORY, resource.RLIM_INFINITY))
            with os.fdopen(writing, "w") as pipe:
                for row in read_batch(options, sample, numbers):
                    print(json.dumps(row), file=pipe, flush=True)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    last, done = numbers[0], -1
    try:
        for row in _rows(reading):
            last, done = row[0], row[0] if len(row) > 1 else done
            if len(row) > 1:
                yield row
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        os.close(reading)
        _, status = os.waitpid(process, 0)
    if done != numbers[-1]:
        how = os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        yield [last, f"the process ended ({how})", True]
        rest = [number for number in numbers if number > last]
        if rest:
            yield from batch_apart(options, sample, rest)


def judged(options: Options, sample: bytes, numbers: Sequence[int]) -> Iterator[list[Any]]:
    """Read a batch; what goes wrong is read again alone, if the package does that by default."""
    for row in batch_apart(options, sample, numbers):
        if row[1] and KINDS[options.kind].alone is not None:
            yield from batch_apart(attrs.evolve(options, alone=True), sample, row[:1])
        else:
            yield row


def _rows(reading: int) -> Iterator[list[Any]]:
    rest = b""
    while select.select([reading], [], [], 2 * SECONDS)[0] and (part := os.read(reading, 1 << 16)):
        *lines, rest = (rest + part).split(b"\n")
        yield from map(json.loads, lines)


def _size() -> int:
    pages = Path("/proc/self/statm").read_text().split()[0]
    return int(pages) * resource.getpagesize()


# --- the run --------------------------------------------------------------------------------------


def run(options: Options, sample: bytes, show: bool = True) -> Counter[str]:
    """Read all changes of one kind of file; return what was found, by sort."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    found: Counter[str] = Counter()
    console = Console(soft_wrap=True, quiet=not show)
    numbers = [options.only] if options.only is not None else list(range(options.count))
    columns = (TextColumn(f"{options.kind:8}"), BarColumn(), MofNCompleteColumn())
    done = refused = 0
    try:
        with Progress(*columns, TextColumn("{task.description}"), console=console) as progress:
            task = progress.add_task("", total=len(numbers))
            for start in range(0, len(numbers), BATCH):
                batch = numbers[start : start + BATCH]
                for number, wrong, is_refused in judged(options, sample, batch):
                    done += 1
                    refused += is_refused
                    if wrong:
                        sort = re.sub(r"[0-9]+|'.*", "", wrong)[:80]
                        found[sort] += 1
                        again = f"--kind {options.kind} --seed {options.seed} --only {number}"
                        if found[sort] <= 2:
                            console.print(f"{again}: {wrong}", markup=False, highlight=False)
                    progress.update(
                        task, completed=done, description=f"{sum(found.values())} wrong"
                    )
    except KeyboardInterrupt:
        console.print("Ended early.")
        found["ended early"] = len(numbers) - done
    total = sum(found.values())
    console.print(
        f"{options.kind}: {done} changed files, {refused} refused, {total} wrong", highlight=False
    )
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and run; 1 says that a reader did what is not documented."""
    parser = argparse.ArgumentParser(prog="files", description=__doc__.partition("\n")[0])
    parser.add_argument("count", type=int, nargs="?", default=1000, help="changes of each kind")
    parser.add_argument("--kind", choices=sorted(KINDS), action="append", help="one kind of file")
    parser.add_argument("--seed", type=int, default=0, help="other seeds draw other changes")
    parser.add_argument("--only", type=int, help="the number of one change")
    given = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell may have had the first one ignored
        signal.signal(number, signal.default_int_handler)
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="fieldforge-files-") as folder:
        root = prepared(Path(folder).resolve())
        for name in given.kind or KINDS:
            sample = KINDS[name].sample(root)
            if sample is None:
                print(f"{name}: not read, because a package is missing")  # noqa: T201
                continue
            (root / "refuse").touch()
            options = Options(name, given.count, given.seed, root, given.only)
            found = run(options, sample)
            (root / "refuse").unlink()
            wrong += sum(found.values())
            if found["ended early"]:
                break
    return 1 if wrong else 0


def prepared(root: Path) -> Path:
    """Make the compiler that records its words, and settings that lead to this folder only."""
    compiler = root / "compiler"
    compiler.write_text(
        "#!/bin/sh\n"
        f'[ -e {root}/refuse ] || exec c++ "$@"\n'
        'case "$1" in --version|-print-*|-dump*) exec c++ "$@";; esac\n'
        f"for word; do printf '%s\\037' \"$word\"; done >> {root}/compiled\n"
        "exit 1\n"
    )
    compiler.chmod(0o755)
    os.environ["FIELDFORGE_CXX"] = str(compiler)
    os.environ["FIELDFORGE_CACHE_DIR"] = str(root / "store")
    os.environ["FIELDFORGE_LOCAL_DIR"] = str(root / "local")
    from fieldforge.runtime.process import settings

    settings.set_current(settings.Settings.from_env())
    return root


if __name__ == "__main__":
    sys.exit(main())
