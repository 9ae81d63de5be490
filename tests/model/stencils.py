"""Run every stencil of ICON4Py: `python -m tests.model.stencils`.

Each is decorated, built for the CPU, and run embedded, interpreted, compiled, and as the model
itself sets it up, on small drawn arguments; all must agree. Ends with a table, and with the number
of stencils that do not.
"""

import argparse
import json
import os
import select
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, Final

from fieldforge.workflows.commands.migration.gt4py_imports import install

from .finding import Found, Stencil, find, is_installed

PATIENCE: Final = 900.0  # seconds that one stencil may take
BACKENDS: Final = ("cpu", "rows", "dace_cpu", "gpu", "gpu-host")
MISSING: Final = """ICON4Py is not installed. `make model` installs it; by hand, for Python >= 3.12:
  pip install --no-deps  what MODEL in the Makefile lists
  pip install            what MODEL_NEEDS lists
"""
COLUMNS: Final = ("found", "decorated", "built", "refused", "bit for bit", "near", "wrong")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the result is 0 if every stencil does what it should."""
    options = _options(arguments)
    sys.path += options.path
    os.environ["FLOAT_PRECISION"] = options.precision  # read by the model
    os.environ["MODEL_BACKEND"] = options.backend  # read by the workers
    install()
    if not is_installed():
        sys.stderr.write(MISSING)
        return 2
    begun = time.perf_counter()
    found = find(options.match)
    for module, error in found.errors.items():
        _print(f"--- {module} cannot be imported\n{error}\n")
    decorating = time.perf_counter() - begun
    rows = list(_told(_results(found, options), len(found.decorated)))
    _print(_table(found, rows))
    # Whole components make their fields themselves, on the host.
    is_whole = not options.match and not found.errors and options.backend != "gpu"
    different = _components() if is_whole else []
    wrong = sum(row["state"] in ("failed", "differs") for row in rows)
    missing = len(found.stencils) - len(found.decorated)
    seconds = time.perf_counter() - begun
    _print(f"{seconds:.0f} s, {decorating:.0f} of them import; {missing} missing, {wrong} wrong")
    return 1 if wrong or missing or different else 0


def _components() -> list[str]:
    """Run whole components of the model; return the fields that they compute differently."""
    from .granules import differences
    from .inputs import small_grid

    found = list(differences(*small_grid()))
    _print(f"diffusion and dynamics: {', '.join(found) or 'every field bit for bit'}")
    return found


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.model.stencils", description=__doc__)
    parser.add_argument("--match", default="", help="only stencils whose name contains this")
    parser.add_argument("--seeds", type=int, default=2, help="how many sets of arguments to draw")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes")
    parser.add_argument("--precision", choices=("double", "mixed", "single"), default="double")
    parser.add_argument("--backend", choices=BACKENDS, default="cpu")
    parser.add_argument("--path", action="append", default=[], help="where else to find the model")
    return parser.parse_args(arguments)


def _results(found: Found, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    names = [str(each) for each in found.decorated]
    shares = [names[first :: options.jobs] for first in range(options.jobs)]
    rows: SimpleQueue[dict[str, Any] | None] = SimpleQueue()

    def work(share: list[str]) -> None:
        try:
            for row in _share(share, options):
                rows.put(row)
        finally:
            rows.put(None)

    with ThreadPoolExecutor(options.jobs) as threads:
        working = [threads.submit(work, share) for share in shares]
        for _ in working:
            yield from iter(rows.get, None)
    for each in working:
        each.result()  # raises what went wrong in it


def _told(rows: Iterator[dict[str, Any]], count: int) -> Iterator[dict[str, Any]]:
    """Print what is wrong at once, and how far the run has come."""
    for number, row in enumerate(rows, 1):
        if row["state"] not in ("same", "near", "refused"):
            _print(f"--- {row['name']}: {row['state']}\n{row['text']}\n")
        if number % 50 == 0:
            _print(f"{number} of {count}")
        yield row


def _share(names: list[str], options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Run stencils in a process of their own; begin another one where it ends early."""
    left = list(names)
    while left:
        asked = {"names": left, "seeds": list(range(options.seeds)), "path": options.path}
        for row in _answers(json.dumps(asked)):
            if row["state"] != "begun":
                left.remove(row["name"])
                yield row


def _answers(asked: str) -> Iterator[dict[str, Any]]:
    command = [sys.executable, "-m", f"{__package__}.work"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(f"{asked}\n".encode())
        worker.stdin.close()
        current, why = "", "ended early"
        while True:
            if not select.select([worker.stdout], [], [], PATIENCE)[0]:
                worker.kill()
                why = f"took more than {PATIENCE:.0f} s"
                break
            line = worker.stdout.readline()
            if not line:
                break
            row = json.loads(line)
            current = row["name"] if row["state"] == "begun" else ""
            yield row
        worker.wait()
    if current:
        text = f"The process {why} (status {worker.returncode})."
        yield {"name": current, "state": "failed", "seconds": 0.0, "text": text}
    elif worker.returncode:
        raise SystemExit(f"A worker could not begin: status {worker.returncode}.")


def _table(found: Found, rows: list[dict[str, Any]]) -> str:
    """Return counts for each package and kind, and the seconds that its stencils took."""
    kinds = {str(each): (each.package, each.kind) for each in found.stencils}
    counts: dict[tuple[str, str], Counter[str]] = {each: Counter() for each in kinds.values()}
    for each in found.stencils:
        counts[each.package, each.kind].update(_seen(each, found))
    for row in rows:
        counts[kinds[row["name"]]].update(_states(row))
    head = f"{'package':18} {'kind':15}" + "".join(f"{each:>12}" for each in COLUMNS) + "     s"
    lines = [_line(*key, counts[key]) for key in sorted(counts)]
    return "\n".join([head, *lines, _line("all", "", sum(counts.values(), Counter()))])


def _line(package: str, kind: str, count: Counter[str]) -> str:
    numbers = "".join(f"{count[each]:12}" for each in COLUMNS)
    return f"{package:18} {kind:15}{numbers}{count['milliseconds'] / 1000:6.0f}"


def _seen(each: Stencil, found: Found) -> list[str]:
    return ["found", *(["decorated"] if each in found.decorated else [])]


def _states(row: dict[str, Any]) -> Counter[str]:
    name = {"same": "bit for bit", "failed": "wrong", "differs": "wrong"}.get(row["state"])
    built = row["state"] in ("same", "near", "differs")
    return Counter(
        {name or row["state"]: 1, "built": int(built), "milliseconds": int(row["seconds"] * 1000)}
    )


if __name__ == "__main__":
    sys.exit(main())
