"""What a part of the fault tests found, and how it says so."""

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import attrs


class Found(Protocol):
    """What a part gives back."""

    @property
    def text(self) -> str:
        """What a person reads; the first line has all figures."""

    @property
    def is_clean(self) -> bool:
        """Whether everything was as it must be."""


@attrs.define
class Report:
    """How many cases of something there were, and what was wrong with them."""

    what: str
    cases: int = 0
    faults: list[str] = attrs.field(factory=list)

    @property
    def is_clean(self) -> bool:
        return not self.faults

    @property
    def text(self) -> str:
        lines = [f"{self.cases} {self.what}, {len(self.faults)} faults"]
        return "\n".join([*lines, *self.faults[:20]])


def tell(run: Callable[[Path], Found]) -> int:
    """Run a part in a folder that goes afterwards, print what it found, return its exit code."""
    folder = Path(tempfile.mkdtemp(prefix="fieldforge-faults-"))
    try:
        found = run(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write(f"{found.text}\n")
    return 0 if found.is_clean else 1
