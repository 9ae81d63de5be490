"""`Capsule`: one call of a program in one file, a zip archive of JSON tables and NumPy arrays.

Nothing in it is code that runs: a replay starts from the parsed program. Arrays are read without
pickle, tables by the codec of the store, and what they hold is checked against its declared types.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import GenericAlias
from typing import Any, Final, Self, get_type_hints

import numpy as np

from ...runtime.process import Span, classes
from ...runtime.process.archive import Archive
from ...runtime.process.shapes import MOST_TEXT, ShapeError
from ...stages.artifacts import Parsed, Spans, Variant
from ...stages.gtscript.parsed import ParsedStencil
from ...stages.ir import codec, stencil, syntax
from ...stages.ir.declared import check
from .head import bytes_of, read_head, size_of
from .values import Array, CapsuleError, Json

HEAD: Final = "capsule.json"
LIMIT: Final = 8 << 30
_HEADER: Final = 4096  # bytes before the numbers in an `.npy` file, at most
# The file of each artifact, and what the value inside is.
ARTIFACTS: Final[Mapping[str, tuple[str, Any, type[Any]]]] = {
    "parsed": (
        "syntax.json", tuple[syntax.Root, tuple[tuple[str, syntax.Callee], ...]], Parsed,
    ),
    "spans": ("spans.json", tuple[Span, tuple[Span, ...]], Spans),
    "variant": ("variant.json", GenericAlias(tuple, (*get_type_hints(Variant).values(),)), Variant),
}  # fmt: skip
_OF_STENCILS: Final[Mapping[str, tuple[str, Any, type[Any]]]] = {
    **ARTIFACTS,
    "parsed": ("stencil.json", tuple[stencil.Stencil, tuple[str, ...]], ParsedStencil),
}


@classes.frozen(eq=False, repr=False)
class Capsule:
    """A call: the parsed program, its variant, the arguments, and what the call wrote.

    Attributes:
        head: names, versions, source, closure values, options, key components and the description
            of arguments and results.
        parsed: the typed tree of the program, or of the stencil.
        spans: where its parts were written.
        variant: what the build knew about the arguments.
        arrays: the values of fields before the call and after it, and neighbour tables.

    """

    head: Json
    parsed: Parsed | ParsedStencil
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
            arrays = {name: np.asarray(array, order="C") for name, array in self.arrays.items()}
            described = {name: [each.dtype.name, each.shape] for name, each in arrays.items()}
            head = self.head | {"arrays": described}
            archive.writestr(HEAD, json.dumps(head, indent=1, default=str))
            for port in ARTIFACTS:
                for name, content in getattr(self, port).files().items():
                    archive.writestr(f"{port}/{name}", content)
            for name, array in arrays.items():
                stream = io.BytesIO()
                np.lib.format.write_array(stream, array, (1, 0), allow_pickle=False)
                archive.writestr(f"arrays/{name}.npy", stream.getvalue())
        part.replace(target)
        return target

    @classmethod
    def load(cls, path: str | Path, limit: int = LIMIT) -> Self:
        """Read a file that `save` wrote.

        Everything is checked before it is decompressed or built: the names and sizes of the
        members, the shape of the tables, the types inside the tree.

        Args:
            path: the file.
            limit: how many bytes the arrays may take in memory.

        Raises:
            CapsuleError: if the file is no capsule, is damaged, or has another format.

        """
        try:
            with open(path, "rb") as stream:
                return cls._read(Archive(stream), limit)
        except (OSError, ValueError) as error:  # all that the readers of its parts raise
            said = str(getattr(error, "message", error)).rstrip(".")
            raise CapsuleError(
                f"'{path}' is no capsule, or it is damaged: {said}.",
                hints=getattr(error, "hints", ()),
            ) from error

    @classmethod
    def _read(cls, archive: Archive, limit: int) -> Self:
        if HEAD not in archive.sizes:
            raise ShapeError(f"it has no '{HEAD}'")
        head = read_head(archive.read(HEAD, MOST_TEXT))
        known = _OF_STENCILS if head["kind"] == "stencil" else ARTIFACTS
        _check_members(archive, head, known, limit)
        artifacts = {
            port: _artifact(archive.read(f"{port}/{member}", MOST_TEXT), declared, kind)
            for port, (member, declared, kind) in known.items()
        }
        arrays = {
            name: _array(archive.read(f"arrays/{name}.npy", limit + _HEADER), *described)
            for name, described in head["arrays"].items()
        }
        return cls(head, arrays=arrays, **artifacts)


def _check_members(
    archive: Archive, head: Json, artifacts: Mapping[str, tuple[str, Any, type[Any]]], limit: int
) -> None:
    """Refuse members that no capsule has, and arrays that need more memory than allowed."""
    known = {HEAD, *(f"{port}/{row[0]}" for port, row in artifacts.items())}
    known |= {f"arrays/{name}.npy" for name in head["arrays"]}
    if known != set(archive.sizes):
        odd = min(known ^ set(archive.sizes))
        raise ShapeError(f"the member '{odd[:60]}' is {'missing' if odd in known else 'unknown'}")
    for name, described in head["arrays"].items():
        size = archive.sizes[f"arrays/{name}.npy"]
        if not 0 <= size - size_of(*described) <= _HEADER:
            raise ShapeError(f"the array '{name}' has {size} bytes, not those of its shape")
    needed = bytes_of(head)
    if needed > limit:
        raise CapsuleError(
            f"Its arrays take {needed} bytes, the limit is {limit}",
            hints=["If you trust it, give a larger limit, such as '--limit 64G'."],
        )


def _artifact(content: bytes, declared: Any, kind: type[Any]) -> Any:
    """Decode an artifact; what is not as its classes declare it is a `ValueError`."""
    value = codec.decode(content)
    check(value, declared, words=kind is not Spans)
    return kind(*value)


def _array(content: bytes, dtype: str, shape: list[int]) -> Array:
    """Return the array in an `.npy` file of format 1; the head of the capsule says what it is."""
    start = 10 + int.from_bytes(content[8:10], "little")
    if content[:8] != b"\x93NUMPY\x01\x00" or len(content) - start != size_of(dtype, shape):
        raise ShapeError(f"an array is no {dtype} of shape {shape}")
    return np.frombuffer(content, np.dtype(dtype).newbyteorder("<"), offset=start).reshape(shape)
