"""Run Python in a process of its own, as users start it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any


def python(
    *words: Any, env: Mapping[str, str] | None = None, check: bool = False, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Return what a process said as text; `env` adds to the environment of this one."""
    command = [sys.executable, *map(str, words)]
    environment = {**os.environ, **(env or {})}
    return subprocess.run(
        command, env=environment, check=check, capture_output=True, text=True, **options
    )
