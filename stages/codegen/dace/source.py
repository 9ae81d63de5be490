"""From DaCe's text to one translation unit with our entry point, free of DaCe's headers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ....runtime.calls.plan import ENTRY
from ....runtime.process.errors import FieldforgeError
from ...ir.loops import Kernel, Nest
from ..cpp.operations import TYPES
from ..cpp.strips import SIMD
from .graph import build_graph
from .names import SDFG_NAME, Names
from .passes import simplify
from .settings import dace_defaults
from .text import show_graph

# All that generated code of maps, tasklets and arrays takes from DaCe's headers, which
# cost seconds to read. The library shows nothing but the entry point.
PRELUDE: Final = (
    "#include <stdint.h>",
    "#define DACE_EXPORTED",
    "namespace dace { typedef uint32_t uint; }",
)
HEADERS: Final = ("#include <dace/dace.h>", '#include "../../include/hash.h"')
STATE: Final = f"{SDFG_NAME}_state_t"


class DaceTextError(FieldforgeError):
    """DaCe wrote other text than we know how to join with our entry point."""


def sdfg_source(kernel: Kernel, parallel_from: int) -> tuple[str, str]:
    """Return the source of a kernel as DaCe writes it, and the listing of its SDFG."""
    from dace.codegen.codegen import generate_code

    names = Names(kernel, parallel_from)
    with dace_defaults():
        graph = build_graph(kernel, names)
        simplify(graph.sdfg)
        listing = show_graph(graph.sdfg, kernel, names)
        frame = generate_code(graph.sdfg, validate=False)[0]
        init = graph.sdfg.init_signature(for_call=True)
        signature = list(graph.sdfg.arglist())
    zeros = ", ".join("0" for name in init.split(", ") if name)
    return _join(frame.clean_code, signature, zeros, names, graph.functions), listing


def _join(
    frame: str,
    signature: Sequence[str],
    zeros: str,
    names: Names,
    functions: Iterable[tuple[str, str]],
) -> str:
    """Put types and functions before DaCe's text `frame`, and the entry point after it.

    `signature` are the arguments of the program as DaCe orders them. Its state is made with
    `zeros`: nothing that we let it keep has a size.
    """
    lines = [line.rstrip() for line in frame.splitlines()]
    for header in HEADERS:
        if lines.count(header) != 1:
            raise DaceTextError(
                f"The code of this version of DaCe does not have the line '{header}' once.",
                hint="Install the version of DaCe that fieldforge was tested with: 2.0.0b1.",
            )
        lines.remove(header)
    types = [f"typedef {meaning} {name};" for name, meaning in TYPES.values()]
    opening = [
        f"  struct Handle {{ {STATE}* state; ~Handle() {{ __dace_exit_{SDFG_NAME}(state); }} }};",
        f"  static Handle handle = {{__dace_init_{SDFG_NAME}({zeros})}};",
    ]
    call = [f"  __program_{SDFG_NAME}({', '.join(['handle.state', *signature])});"]
    return "\n".join(
        [
            *PRELUDE,
            *types,
            "",
            *(text for _, text in functions),
            "namespace {",
            *_annotated(lines, names.kernel, names.cpp.options.parallel_from or 0),
            "}",
            "",
            *names.entry(ENTRY, opening, call),
            "",
        ]
    )


def _annotated(lines: Sequence[str], kernel: Kernel, parallel_from: int) -> Iterator[str]:
    """Say of the loops what DaCe cannot: from which size on they are worth threads, and SIMD."""
    outer: dict[str, str] = {}
    inner: set[str] = set()
    for index, nest in enumerate(kernel.nests):
        if nest.loops:
            outer[_head(index, 0)] = _pragma(index, nest, parallel_from)
        if len(nest.loops) > 1:
            inner.add(_head(index, len(nest.loops) - 1))
    waiting: list[str] = []
    for line in lines:
        bare = line.lstrip()
        head = bare.partition(" = ")[0]
        indent = line[: len(line) - len(bare)]
        if bare.startswith("#pragma omp parallel for"):
            waiting.append(line)
            continue
        if waiting:
            yield indent + outer[head] if head in outer else waiting[-1]
            waiting.clear()
        if head in inner:
            yield indent + SIMD
        yield line


def _head(index: int, level: int) -> str:
    return f"for (int64_t i{index}_{level}"


def _pragma(index: int, nest: Nest, parallel_from: int) -> str:
    shared = sum(loop.kind == "parallel" for loop in nest.loops)
    kind = "parallel for" if shared else "parallel for simd"
    collapse = f" collapse({shared})" if shared > 1 else ""
    counts = [f"(hi{index}_{level} - lo{index}_{level})" for level in range(len(nest.loops))]
    limit = f"if ({' * '.join(counts)} >= {parallel_from})"
    return f"#pragma omp {kind}{collapse} schedule(static) {limit}"
