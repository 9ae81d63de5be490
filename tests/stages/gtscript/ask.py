"""Ask the oracle: `python -m tests.stages.gtscript.ask PYTHON` writes its answers anew.

PYTHON is the interpreter of an environment with gt4py 1.2.3.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .cases import ANSWERS, OF_CORPUS, Case
from .corpus.every import CORPUS
from .models import EXAMPLES


def ask(python: str, cases: Sequence[Case]) -> list[Any]:
    """Return the answers to cases, from a process of their own."""
    script = Path(__file__).with_name("oracle.py")
    with tempfile.TemporaryDirectory(prefix="oracle-") as folder:  # gt4py writes its cache there
        done = subprocess.run(
            [python, "-W", "ignore", str(script)],
            input=json.dumps(list(cases)).encode(),
            capture_output=True,
            check=False,
            cwd=folder,
        )
    if done.returncode:
        raise RuntimeError(f"The oracle failed: {done.stderr.decode()[-2000:]}")
    found: list[Any] = json.loads(done.stdout)
    return found


def main(python: str) -> None:
    """Write the answers to all examples, and to the corpus."""
    for cases, file in ((EXAMPLES, ANSWERS), (CORPUS, OF_CORPUS)):
        names = sorted(cases)
        found = dict(zip(names, ask(python, [cases[name] for name in names]), strict=True))
        for name, each in found.items():
            if "error" in each:
                sys.stderr.write(f"{name}: {each['error']}: {each['message']}\n")
        file.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
