"""Answer one JSON object a line for one read from standard input.

What others print, compilers above all, goes to standard error. Needs nothing but Python.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any


def serve(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answer until the input ends; a request that fails is answered by the reason."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            given = answer(json.loads(line))
        except Exception as error:  # whatever it is, the table is to say it
            traceback.print_exc()  # to the log
            lines = str(error).strip().splitlines() or [""]
            given = {"refused": f"{type(error).__name__}: {lines[0]}", "detail": str(error)}
        print(json.dumps(given), file=answers, flush=True)
