"""One worker: run the stencils that it is told of, and write a line of JSON before and after each.

A process of its own, so that one that crashes or hangs takes nothing else with it.
"""

import json
import sys
import time
import traceback
from typing import Any

from fieldforge.workflows.commands.migration.gt4py_imports import install


def main() -> None:
    """Read the names of stencils and the seeds from stdin; write what became of each to stdout."""
    asked = json.loads(sys.stdin.readline())
    sys.path += asked["path"]
    install()
    from .finding import find
    from .inputs import small_grid

    found = {str(each): made for each, made in find().decorated.items()}
    tables, mesh = small_grid()
    for name in asked["names"]:
        _say(name, "begun", 0.0)
        begun = time.perf_counter()
        state, text = _outcome(found[name], tables, mesh, asked["seeds"], name)
        _say(name, state, time.perf_counter() - begun, text)


def _outcome(
    entry: Any, tables: Any, mesh: dict[str, int], seeds: list[int], name: str
) -> tuple[str, str]:
    from fieldforge.runtime.process.errors import DomainError

    from .comparing import COMPILED, differences, refusal

    reason, built = refusal(entry), False
    try:
        if entry.__definition__.kind != "scan_operator":  # those are built for what they are given
            entry.with_backend(COMPILED).build(tables)
        built = True
        if reason:
            return "failed", f"It {reason}, and was built."
        found = [each for seed in seeds for each in differences(entry, tables, mesh, seed)]
    except Exception as error:  # whatever it is, it is a finding
        if reason and not built and isinstance(error, DomainError):
            return "refused", f"It {reason}."
        return "differs" if built else "failed", "".join(traceback.format_exception(error))
    wrong = [each for each in found if not each.is_near]
    if wrong:
        return "differs", "\n".join(map(str, wrong))
    return ("near", "\n".join(map(str, found))) if found else ("same", "")


def _say(name: str, state: str, seconds: float, text: str = "") -> None:
    line = json.dumps({"name": name, "state": state, "seconds": seconds, "text": text})
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
