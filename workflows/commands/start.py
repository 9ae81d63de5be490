"""What the script `fieldforge` calls: it answers `--version` alone without click."""

from __future__ import annotations

import sys

PACKAGE = __name__.partition(".")[0]


def main() -> None:
    """Print the version, or run the command that the arguments name."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"{PACKAGE}, version {sys.modules[PACKAGE].__version__}\n")
        return
    from .cli import main as run

    run()
