"""All parts of the fault tests in one go: a line a part with its time, then whether all passed.

    python -m tests.faults.everything --jobs 16
    python -m tests.faults.everything kills flips --kills 1000

Parts run one after the other. Each is cut into processes of their own, `--jobs` of them at a time.
It needs no pytest; `model` needs hypothesis and is left out where that is not installed.
"""

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeAlias

from . import crashes

Words: TypeAlias = list[str]
Run: TypeAlias = tuple[int, str]  # exit code, and what was said

_LONGEST: Final = 3600.0  # seconds; only what hangs takes so long
_NUMBER: Final = re.compile(r"\d+\.\d+|\d+")


def _kills(jobs: int, args: argparse.Namespace) -> list[Words]:
    return [[str(count), "--seed", str(seed)] for seed, count in _shares(args.kills, jobs)]


def _crashes(jobs: int, args: argparse.Namespace) -> list[Words]:
    return [[deed] for deed in crashes.DEEDS]


def _flips(jobs: int, args: argparse.Namespace) -> list[Words]:
    return [["--step", str(jobs), "--first", str(first)] for first in range(jobs)]


def _holders(jobs: int, args: argparse.Namespace) -> list[Words]:
    shares = _shares(args.holders, jobs)
    churn = ["--processes", "32", "--holds", "1000"]
    return [[str(n), *(["--holds", "0"] if number else churn)] for number, n in shares]


def _loaded(jobs: int, args: argparse.Namespace) -> list[Words]:
    return [[str(count), "--seed", str(1 + seed)] for seed, count in _shares(args.loaded, jobs)]


def _meddling(jobs: int, args: argparse.Namespace) -> list[Words]:
    return [["--share", str(jobs), "--turn", str(turn)] for turn in range(jobs)]


def _errors(jobs: int, args: argparse.Namespace) -> list[Words]:
    return [["--all", "--step", str(jobs), "--first", str(1 + job)] for job in range(jobs)]


def _model(jobs: int, args: argparse.Namespace) -> list[Words]:
    return [[str(count)] for _, count in _shares(args.rounds // 20, jobs)]


PARTS: dict[str, Callable[[int, argparse.Namespace], list[Words]]] = {
    "kills": _kills,
    "crashes": _crashes,
    "flips": _flips,
    "holders": _holders,
    "loaded": _loaded,
    "meddling": _meddling,
    "errors": _errors,
    "model": _model,
}


def run(names: Sequence[str], jobs: int, args: argparse.Namespace) -> list[str]:
    """Run parts in turn and say how each went; return those that failed."""
    failed = []
    for name in names:
        began = time.monotonic()
        runs = _together(name, PARTS[name](jobs, args), jobs)
        bad = [said for code, said in runs if code != 0]
        if bad:
            failed.append(name)
        state = "FAILED" if bad else "passed"
        _say(f"{name:<9} {state} {time.monotonic() - began:7.1f} s")
        for said in bad or [summed([said for _, said in runs])]:
            _say("\n".join(f"    {line}" for line in said.splitlines()))
    return failed


def possible(names: Sequence[str]) -> tuple[list[str], str]:
    """Return the parts that can run here, and words for the last line about the one that cannot."""
    if "model" not in names or importlib.util.find_spec("hypothesis") is not None:
        return list(names), ""
    _say("model     LEFT OUT: hypothesis is not installed")
    return [name for name in names if name != "model"], ", model left out"


def summed(texts: Sequence[str]) -> str:
    """Join what equal processes said: counts are added, of measured times the longest stays.

    Where they did not say the same in other numbers, all of it is shown.

    >>> summed(["3 kills, longest wait 2.5 ms", "4 kills, longest wait 1.0 ms"])
    '7 kills, longest wait 2.5 ms'
    """
    first, *others = dict.fromkeys(_NUMBER.sub("#", text) for text in texts)
    if others:
        return "\n".join(text.strip() for text in texts)
    columns = zip(*(_NUMBER.findall(text) for text in texts), strict=True)
    numbers = [
        str(max(map(float, column)) if "." in column[0] else sum(map(int, column)))
        for column in columns
    ]
    head, *rest = first.split("#")
    return head + "".join(f"{number}{text}" for number, text in zip(numbers, rest, strict=True))


def _together(name: str, shares: Iterable[Words], jobs: int) -> list[Run]:
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda words: _run(name, words), shares))


def _run(name: str, words: Words) -> Run:
    command = [sys.executable, "-m", f"{__spec__.parent}.{name}", *words]
    # what is looked for is order, not what a disk keeps: memory is faster
    memory = {"TMPDIR": "/dev/shm"} if os.path.isdir("/dev/shm") else {}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    try:
        done = subprocess.run(
            command, **pipes, check=False, env={**os.environ, **memory}, timeout=_LONGEST
        )
    except subprocess.TimeoutExpired as error:
        return 1, f"{' '.join(command)} hangs:\n{error.output or ''}"
    place = f"{' '.join(command)}:\n" if done.returncode else ""
    return done.returncode, f"{place}{done.stdout.strip()}"


def _shares(total: int, jobs: int) -> list[tuple[int, int]]:
    """Deal a number of rounds to jobs, as evenly as can be; no job gets none."""
    counts = [total // jobs + (job < total % jobs) for job in range(jobs)]
    return [(job, count) for job, count in enumerate(counts) if count]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of: {', '.join(PARTS)}")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--kills", type=int, default=10_000, help="builders that are killed")
    parser.add_argument("--holders", type=int, default=500, help="holders of each kind")
    parser.add_argument("--loaded", type=int, default=1000, help="disturbances of the store")
    parser.add_argument("--rounds", type=int, default=20_000, help="steps of the model")
    args = parser.parse_args()
    unknown = [name for name in args.parts if name not in PARTS]
    if unknown:
        parser.error(f"there is no part '{unknown[0]}', expected some of: {', '.join(PARTS)}")
    began = time.monotonic()
    names, without = possible(args.parts or list(PARTS))
    failed = run(names, max(args.jobs, 1), args)
    state = f"FAILED: {', '.join(failed)}" if failed else "all parts passed"
    _say(f"{state}{without} ({time.monotonic() - began:.0f} s)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
