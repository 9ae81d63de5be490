"""Write the text of the stages that FIELDFORGE_DUMP selects to files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ...runtime.process import classes
from .events import Dumped
from .handle import Result


@classes.frozen
class Dump:
    """The stages to write, and the folder: `<folder>/<program>/<stage>.txt`.

    A second output of a stage goes to `<stage>.<port>.txt`.
    """

    folder: Path
    stages: frozenset[str]

    def write(self, result: Result) -> Iterator[Dumped]:
        """Write the outputs of a result if its stage is selected, and report the files."""
        if result.name not in self.stages:
            return
        folder = self.folder / result.program
        folder.mkdir(parents=True, exist_ok=True)
        for number, (port, handle) in enumerate(result.outputs.items()):
            text = getattr(handle.get(), "text", None)
            if text is None:
                continue
            path = folder / f"{result.name}{f'.{port}' if number else ''}.txt"
            beside = path.with_suffix(f".{os.getpid()}.part")
            beside.write_text(text)
            beside.replace(path)
            yield Dumped(result.program, result.name, str(path))
