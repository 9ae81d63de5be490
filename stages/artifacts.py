"""The artifacts that stages pass to each other, frozen and readable.

Each has `text` for people, and `files`/`from_files` for the store. The canonical bytes of IR
nodes come from `ir/codec.py` (tables of tagged rows in JSON) or, for the
dataflow IR, from its own text form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from ..runtime.process import classes
from .ir import codec

# Every stage names its artifacts, so every process imports this module. It imports the classes of
# their contents with the first value of a kind: see docs/decisions/0005.
if TYPE_CHECKING:
    from ..runtime.calls.plan import Launch, Plan, Repeat, StatusKind
    from ..runtime.process import Span
    from .encode import program as encoded
    from .ir import bounds, dataflow, syntax
    from .ir.strides import Stride


@classes.frozen
class Parsed:
    """A typed operator, scan or program, and the operators and scans that it reaches, by key.

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


@classes.frozen
class Spans:
    """The places of the rows of `Parsed.root` in the source: they change when a function moves."""

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


@classes.frozen
class Variant:
    """The facts about arguments, beyond their types, that one build is specialised for.

    `unit` gives, for field leaves by name, the dimension whose stride is one
    element; a leaf that is not listed has no known layout. `static` gives the canonical
    spelling of scalar leaves whose value is part of the program. `domain` tells that a direct
    call of an operator passes `domain=`: its bounds are the int64 scalars
    `domain.L.D.start` and `domain.L.D.stop` for leaf L of the output and its axis D.
    `tables` are the neighbour tables of the offset provider by name: width, and whether entries may
    be skipped; never their contents or sizes. `alike` are groups of output leaves with equal
    ranges along their common dimensions, which one walk of a scan can write.
    `ranges` are rows (leaf, dimension, start, stop) of fields whose domains are compiled in.
    `beyond` tells that reads which `where` may hide lead out of a field: loads clamp their indices.
    """

    unit: tuple[tuple[str, str], ...] = ()
    static: tuple[tuple[str, str], ...] = ()
    domain: bool = False
    tables: tuple[tuple[str, int, bool], ...] = ()
    alike: tuple[tuple[str, ...], ...] = ()
    ranges: tuple[tuple[str, str, int, int], ...] = ()
    beyond: bool = False

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
            + ["reads beyond fields"] * self.beyond
        )

    def files(self) -> Mapping[str, bytes]:
        """One JSON table."""
        return {"variant.json": codec.encode(classes.astuple(self))}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Read the table back."""
        return cls(*codec.decode(files["variant.json"]))


@classes.frozen
class Lowered:
    """Dataflow IR with the box of each value and the boxes of each read.

    `boxes[i]` is the hull of the boxes that need value i; `infer_boxes` derives it from the
    program, and the listing shows it beside the value.
    """

    program: dataflow.Dataflow
    boxes: tuple[bounds.Ranges, ...] = ()
    reads: tuple[dataflow.Read, ...] = ()

    @property
    def text(self) -> str:
        """The listing, which `from_files` can read."""
        from .ir import dataflow_text

        return dataflow_text.show(self.program, self.boxes, self.reads)

    def files(self) -> Mapping[str, bytes]:
        """Return the listing."""
        return {"dataflow.txt": self.text.encode()}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Parse the listing."""
        from .ir import dataflow_text

        return cls(*dataflow_text.parse(files["dataflow.txt"].decode()))


@classes.frozen
class Generated:
    """Source text for one target, its schedule, and the flags to compile it."""

    language: str
    source: str
    loops: str
    flags: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The source."""
        return self.source

    def files(self) -> Mapping[str, bytes]:
        """Source and schedule as two files, which people can read in the store."""
        return {
            "source.txt": self.source.encode(),
            "loops.txt": self.loops.encode(),
            "build.json": codec.encode((self.language, self.flags)),
        }

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Rebuild the artifact from its files."""
        language, flags = codec.decode(files["build.json"])
        return cls(language, files["source.txt"].decode(), files["loops.txt"].decode(), flags)


@classes.frozen
class Interface:
    """The arguments of generated code in symbols, from which `bind` makes the plan.

    `fields` are the leaves behind `ptrs` in order, the `tables` of the offset provider follow them;
    `scalars` are the leaves behind the scalar slots, `ints` the bounds and strides to pass.
    `continues` are the places of statements that continue the statement before them.
    `alike` are groups of leaves that must have the same ranges, as those of a `Variant`.
    `device` is the DLPack number of the memory's device, `abi` the version of the entry point's
    signature. `statuses` list the codes that it returns: rows (code, kind, field), see `Status` of
    `runtime/calls/plan.py`. A program for a GPU has no entry point: `launches` list the kernels of
    the module for `platform`, `codes` the results of a call whose tested store fails. `clamped` is
    the place of the integer that is 1 if a read leads out of a field where `where` may hide it, -1
    if there is none; if `is_inside`, the code is for calls in which none does, and other code runs
    the others. `stepped` is the place of the integer that selects one statement, counted from
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
    launches: tuple[Launch | Repeat, ...] = ()
    platform: str = ""
    codes: tuple[int, ...] = ()
    clamped: int = -1
    stepped: int = -1
    is_inside: bool = False

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
        return {"interface.json": codec.encode(classes.astuple(self))}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Read the table back."""
        return cls(*codec.decode(files["interface.json"]))


@classes.frozen
class Compiled:
    """A shared library with the manifest of its ingredients and the compiler's log."""

    library: bytes = classes.field(repr=False)
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
        """Rebuild the artifact from its files."""
        return cls(files["library.so"], files["manifest.json"].decode(), files["log.txt"].decode())


@classes.frozen
class Encoded:
    """A program in steps that the native core interprets."""

    program: encoded.Program

    @property
    def text(self) -> str:
        """The steps, one a line."""
        from .encode.text import show

        return show(self.program)

    def files(self) -> Mapping[str, bytes]:
        """Return the text."""
        return {"encoded.txt": self.text.encode()}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Read the text back."""
        from .encode.text import read

        return cls(read(files["encoded.txt"].decode()))


@classes.frozen
class Bound:
    """An argument plan: all that the native core needs beside the library."""

    plan: Plan

    @property
    def text(self) -> str:
        """The plan, one argument, integer and box a line."""
        from ..runtime.calls.plan_text import show_plan

        return show_plan(self.plan)

    def files(self) -> Mapping[str, bytes]:
        """One JSON table."""
        return {"plan.json": codec.encode(self.plan)}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        """Read the table back."""
        return cls(codec.decode(files["plan.json"]))
