"""Share a compiler's error with the processes that wait for the build: they fail once, together.

Only processes that waited believe the record; a later process compiles again. A random token tells
them apart, so no clocks of two hosts are compared.
"""

from __future__ import annotations

import json
import os
from typing import Final

from ..runtime.process import CompilationError, classes
from .sealed import seal, unseal

_KIND: Final = "fieldforge-failure-1"


@classes.frozen
class Failure:
    """What a `CompilationError` said; `token` is different for each one."""

    token: str
    message: str
    command: tuple[str, ...]
    exit_code: int
    log: str
    log_path: str | None
    hints: tuple[str, ...]

    @classmethod
    def of(cls, error: CompilationError) -> Failure | None:
        """Describe an error; None if the compiler was killed or never ran."""
        if error.exit_code is None or error.exit_code <= 0:
            return None
        token = os.urandom(8).hex()
        hints = tuple(error.hints)
        return cls(
            token, error.message, error.command, error.exit_code, error.log, error.log_path, hints
        )

    def error(self) -> CompilationError:
        """Return the error as an exception."""
        return CompilationError(
            self.message, command=self.command, exit_code=self.exit_code, log=self.log,
            log_path=self.log_path, hints=self.hints,
        )  # fmt: skip

    def encode(self) -> bytes:
        """Write it as a checksum line and JSON."""
        return seal(_KIND, json.dumps(classes.asdict(self), sort_keys=True))


def parse_failure(content: bytes) -> Failure:
    """Read what `Failure.encode` wrote; a fault is a `ValueError`."""
    body = unseal(_KIND, content)
    try:
        facts = json.loads(body)
        return Failure(**facts | {name: tuple(facts[name]) for name in ("command", "hints")})
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"A stored failure has the wrong shape: {error}.") from error
