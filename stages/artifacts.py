"""What the stages hand to each other: the six artifacts, frozen and readable.

Each offers `text` for a person, and `files`/`from_files` for the store. The canonical bytes of IR
nodes come from `ir/codec.py` (tables of tagged rows in JSON) or, for the
dataflow IR, from its own text form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

import attrs

from .ir import codec

# Every stage names its artifacts, so they are there from the start; what they hold is imported
# with the first value of its kind: see docs/decisions/0005.
if TYPE_CHECKING:
    from ..runtime.calls.plan import Launch, Plan, StatusKind
    from ..runtime.process.source import Span
    from .ir import bounds, dataflow, syntax
    from .ir.strides import Stride


@attrs.frozen
class Parsed:
    """A typed operator, scan or program, and every operator and scan that it reaches by key.

    A key is the operator's name and the first 16 digits of the digest of its
    canonical bytes, `laplacian:3fa9c2d1e0b7a654`; `operators` is sorted by key.
    """

    root: syntax.Root
    operators: tuple[tuple[str, syntax.Callee], ...]

    @property
    def text(self) -> str:
        """The tree, one node a line."""
        from .ir import syntax_text

        return syntax_text.show(self.root, dict(self.operators))

    def files(self) -> Mapping[str, bytes]:
        """One JSON table."""
        return {"syntax.json": codec.encode((self.root, self.operators))}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Read the table back."""
        return cls(*codec.decode(files["syntax.json"]))


@attrs.frozen
class Spans:
    """Where the rows of `Parsed.root` were written: the one output that a move changes."""

    definition: Span
    nodes: tuple[Span, ...]

    @property
    def text(self) -> str:
        """One span a line."""
        return "\n".join(f"%{row}  {span}" for row, span in enumerate(self.nodes))

    def files(self) -> Mapping[str, bytes]:
        """One JSON table."""
        return {"spans.json": codec.encode((self.definition, self.nodes))}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Read the table back."""
        return cls(*codec.decode(files["spans.json"]))


@attrs.frozen
class Variant:
    """What a build may know about the arguments beyond their types.

    `unit` gives, for field leaves by name, the dimension whose stride is one
    element; a leaf that is not listed has no known layout. `static` gives the canonical
    spelling of scalar leaves whose value is part of the program. `domain` says that an operator
    that is called directly gets a `domain=`: its bounds are the int64 scalars
    `domain.L.D.start` and `domain.L.D.stop` for leaf L of the output and its axis D.
    `tables` are the neighbour tables of the offset provider by name: width, and whether entries may
    be skipped; never their contents or sizes. `alike` are groups of leaves of outputs that are
    written on the same ranges, as far as they have the same dimensions: then one walk serves all.
    `ranges` are rows (leaf, dimension, start, stop) of fields whose domains are compiled in.
    """

    unit: tuple[tuple[str, str], ...] = ()
    static: tuple[tuple[str, str], ...] = ()
    domain: bool = False
    tables: tuple[tuple[str, int, bool], ...] = ()
    alike: tuple[tuple[str, ...], ...] = ()
    ranges: tuple[tuple[str, str, int, int], ...] = ()

    @property
    def text(self) -> str:
        """One fact a line."""
        return "\n".join(
            [f"unit stride of {name}: {dim}" for name, dim in self.unit]
            + [f"static {name} = {value}" for name, value in self.static]
            + ["domain given at the call"] * self.domain
            + [
                f"table {name}: {width} neighbours{', some missing' if skip else ''}"
                for name, width, skip in self.tables
            ]
            + [f"written on the same ranges: {', '.join(names)}" for names in self.alike]
            + [f"{name} along {dim}: {first}:{last}" for name, dim, first, last in self.ranges]
        )

    def files(self) -> Mapping[str, bytes]:
        """One JSON table."""
        return {"variant.json": codec.encode(attrs.astuple(self, recurse=False))}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Read the table back."""
        return cls(*codec.decode(files["variant.json"]))


@attrs.frozen
class Lowered:
    """Dataflow IR with the box that every value is needed on and the boxes that are read.

    `boxes[i]` is the hull of the boxes on which value i is needed; it is derived from the
    program by `infer_boxes` and printed beside the values.
    """

    program: dataflow.Dataflow
    boxes: tuple[bounds.Ranges, ...] = ()
    reads: tuple[dataflow.Read, ...] = ()

    @property
    def text(self) -> str:
        """A listing that parses back."""
        from .ir import dataflow_text

        return dataflow_text.show(self)

    def files(self) -> Mapping[str, bytes]:
        """Return the listing."""
        return {"dataflow.txt": self.text.encode()}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Parse the listing."""
        from .ir import dataflow_text

        return cls(*dataflow_text.parse(files["dataflow.txt"].decode()))


@attrs.frozen
class Generated:
    """Source text for one target, the schedule that it was written from, and how to compile it."""

    language: str
    source: str
    loops: str
    flags: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The source."""
        return self.source

    def files(self) -> Mapping[str, bytes]:
        """Source and schedule are two files, so that a person can read them in the store."""
        return {
            "source.txt": self.source.encode(),
            "loops.txt": self.loops.encode(),
            "build.json": codec.encode((self.language, self.flags)),
        }

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Put the files together."""
        language, flags = codec.decode(files["build.json"])
        return cls(language, files["source.txt"].decode(), files["loops.txt"].decode(), flags)


@attrs.frozen
class Interface:
    """What generated code expects at its entry point, in symbols; `bind` makes the plan of it.

    `fields` are the leaves behind `ptrs` in order, the `tables` of the offset provider follow them;
    `scalars` are the leaves behind the scalar slots, `ints` what each integer is. `continues` are
    the places of statements that are a further part of the one before, and read what it reads.
    `alike` are groups of leaves that must have the same ranges, as those of a `Variant`.
    `device` is where memory lies, as DLPack numbers devices, `abi` the version of the entry point's
    signature. `statuses` say what codes it returns: rows (code, kind, field), see `Status` of
    `runtime/calls/plan.py`. A program for a GPU has no entry point: `launches` say which kernels of
    the module for `platform` run, `codes` what a call returns if a tested store fails. `clamped` is
    the place of the integer that is 1 if a read leads out of a field where `where` may hide it, -1
    if there is none. `stepped` is the place of the integer that selects one statement, counted from
    1; 0 stands for all, and -1 means that they cannot run one at a time.
    """

    program: str
    parameters: tuple[str, ...]
    leaves: tuple[dataflow.Leaf, ...]
    fields: tuple[str, ...]
    scalars: tuple[str, ...]
    ints: tuple[bounds.Bound | Stride, ...]
    unit: tuple[tuple[str, str], ...]
    statements: tuple[dataflow.Statement, ...]
    reads: tuple[dataflow.Read, ...]
    workspace: bounds.Bound
    backend: str
    tables: tuple[dataflow.Table, ...] = ()
    continues: tuple[int, ...] = ()
    alike: tuple[tuple[str, ...], ...] = ()
    device: int = 1
    abi: int = 1
    statuses: tuple[tuple[int, StatusKind, str], ...] = ()
    launches: tuple[Launch, ...] = ()
    platform: str = ""
    codes: tuple[int, ...] = ()
    clamped: int = -1
    stepped: int = -1

    @property
    def text(self) -> str:
        """Pointers, integers and scalars, one a line, in order."""
        memory = [*self.fields, *(f"table {table.name}" for table in self.tables)]
        rows = [f"ptrs[{i}]     {name}" for i, name in enumerate(memory)]
        rows += [f"ints[{i}]     {source}" for i, source in enumerate(self.ints)]
        rows += [f"scalars[{i}]  {name}" for i, name in enumerate(self.scalars)]
        rows += [f"launch      {launch}" for launch in self.launches]
        return "\n".join([*rows, f"arena       {self.workspace} bytes"])

    def files(self) -> Mapping[str, bytes]:
        """One JSON table."""
        return {"interface.json": codec.encode(attrs.astuple(self, recurse=False))}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Read the table back."""
        return cls(*codec.decode(files["interface.json"]))


@attrs.frozen
class Compiled:
    """A shared library with the manifest of what went into it and the compiler's log."""

    library: bytes = attrs.field(repr=False)
    manifest: str
    log: str

    @property
    def text(self) -> str:
        """Command, sizes and log."""
        return f"{self.manifest}\n{self.log}".rstrip()

    def files(self) -> Mapping[str, bytes]:
        """Return the library, the manifest, the log."""
        return {
            "library.so": self.library,
            "manifest.json": self.manifest.encode(),
            "log.txt": self.log.encode(),
        }

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Put the files together."""
        return cls(files["library.so"], files["manifest.json"].decode(), files["log.txt"].decode())


@attrs.frozen
class Bound:
    """An argument plan: all that the native core needs beside the library. Nothing is compiled."""

    plan: Plan

    @property
    def text(self) -> str:
        """The plan, one argument, integer and box a line."""
        from ..runtime.calls.plan import show_plan

        return show_plan(self.plan)

    def files(self) -> Mapping[str, bytes]:
        """One JSON table."""
        return {"plan.json": codec.encode(self.plan)}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Read the table back."""
        return cls(codec.decode(files["plan.json"]))
