"""`Capsule`: one call of a program in one file, a zip archive of JSON tables and NumPy arrays.

Nothing in it is code that runs: a replay starts from the parsed program. Arrays are read without
pickle, tables by the codec of the store.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

import attrs
import numpy as np

from ...stages.artifacts import Parsed, Spans, Variant
from .values import Array, CapsuleError, Json

FORMAT: Final = 1
HEAD: Final = "capsule.json"
ARTIFACTS: Final[Mapping[str, type[Any]]] = {"parsed": Parsed, "spans": Spans, "variant": Variant}


@attrs.frozen(eq=False, repr=False)
class Capsule:
    """A call: the parsed program, its variant, the arguments, and what the call wrote.

    Attributes:
        head: names, versions, source, closure values, options, key components and the description
            of arguments and results.
        parsed: the typed tree of the program.
        spans: where its parts were written.
        variant: what the build knew about the arguments.
        arrays: the values of fields before the call and after it, and neighbour tables.

    """

    head: Json
    parsed: Parsed
    spans: Spans
    variant: Variant
    arrays: Mapping[str, Array]

    @property
    def name(self) -> str:
        """The name of the program."""
        return str(self.head["program"])

    @property
    def text(self) -> str:
        """A summary for a person: program, place, backend, arguments, results."""
        head = self.head
        source = head["source"]
        rows = [
            f"{self.name}, {source['file']}:{source['line']}",
            f"captured by fieldforge {head['fieldforge']} on backend "
            f"'{head['backend'] or 'embedded'}'",
            *(f"  {name} = {shown}" for name, shown in head["closure"].items()),
            "arguments: " + ", ".join(head["arguments"]),
            "written: " + ", ".join(head["written"]),
        ]
        return "\n".join([*rows, *([f"raised {head['error']}"] if head["error"] else [])])

    def __repr__(self) -> str:
        return f"<capsule of {self.name}, {len(self.arrays)} arrays>"

    def save(self, path: str | Path) -> Path:
        """Write the file, whole or not at all."""
        target = Path(path)
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(HEAD, json.dumps(self.head, indent=1, default=str))
            for port in ARTIFACTS:
                for name, content in getattr(self, port).files().items():
                    archive.writestr(f"{port}/{name}", content)
            for name, array in self.arrays.items():
                stream = io.BytesIO()
                np.save(stream, array, allow_pickle=False)
                archive.writestr(f"arrays/{name}.npy", stream.getvalue())
        part.replace(target)
        return target

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that `save` wrote.

        Raises:
            CapsuleError: if the file is no capsule, is damaged, or has another format.

        """
        try:
            with zipfile.ZipFile(path) as archive:
                files = {name: archive.read(name) for name in archive.namelist()}
            head = json.loads(files[HEAD])
            if head["format"] != FORMAT:
                raise CapsuleError(
                    f"'{path}' is a capsule of format {head['format']}, this version of fieldforge "
                    f"reads format {FORMAT}."
                )
            artifacts = {port: kind.from_files(_below(files, port)) for port, kind in _KINDS}
            arrays = {
                name.removesuffix(".npy"): np.load(io.BytesIO(content), allow_pickle=False)
                for name, content in _below(files, "arrays").items()
            }
        except CapsuleError:
            raise
        except (OSError, KeyError, ValueError, TypeError, zipfile.BadZipFile) as error:
            raise CapsuleError(f"'{path}' is no capsule, or it is damaged: {error}.") from error
        return cls(head, artifacts["parsed"], artifacts["spans"], artifacts["variant"], arrays)


_KINDS: Final = tuple(ARTIFACTS.items())


def _below(files: Mapping[str, bytes], folder: str) -> dict[str, bytes]:
    start = f"{folder}/"
    return {name.removeprefix(start): files[name] for name in files if name.startswith(start)}
