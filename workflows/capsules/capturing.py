"""Make a capsule of a call: what it needs before, and what it wrote after."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ...cache.code import toolchain_digest
from ...runtime.language import Definition, leaves_of
from ...runtime.process import classes
from ...stages.artifacts import Variant
from ..backends.backend import Backend
from ..backends.recipes import reference
from ..builds.building import trace
from .backend_text import options_text
from .capsule import Capsule
from .digests import digest_of
from .head import FORMAT
from .replaying import execute
from .values import Array, Json, Writer, fields_of
from .written import is_written, leaves_written_by


@classes.frozen(eq=False)
class Captured:
    """A call that is to be captured: its function, variant and arguments by name."""

    definition: Definition
    backend: Backend | None
    variant: Variant
    arguments: Mapping[str, Any]
    provider: Mapping[str, Any]


def capture(call: Captured, make: Callable[[], None], seed: int | None = None) -> Capsule:
    """Describe a call, make it, and describe its results; an error of the call is a result too.

    With a `seed` the capsule holds statistics in place of values, and what the program writes for
    numbers drawn from them: `make` does not run.
    """
    writer = Writer.of(call.arguments, seed)
    described = {name: writer.value(name, value) for name, value in call.arguments.items()}
    tables = {name: writer.table(name, each) for name, each in _tables(call.provider)}
    built = trace(call.definition, call.backend or reference(), call.variant, None)
    artifacts = built["parse"].artifacts
    head = _head(call, described, tables)
    head["stages"] = {s.name: {"key": s.key, "parts": dict(s.components)} for s in built.values()}
    head["written"] = sorted(leaves_written_by(call.definition, artifacts["parsed"]))
    capsule = Capsule(
        head, artifacts["parsed"], artifacts["spans"], call.variant, dict(writer.arrays)
    )
    return _with_digests(capsule, call) if seed is not None else _with_results(capsule, call, make)


def _with_results(capsule: Capsule, call: Captured, make: Callable[[], None]) -> Capsule:
    head, arrays = capsule.head, dict(capsule.arrays)
    try:
        make()
    except Exception as error:  # the capsule of a call that fails is the one that is wanted
        head["error"] = f"{type(error).__name__}: {error}"
        return classes.evolve(capsule, arrays=arrays)
    for name, value in call.arguments.items():
        for leaf, field in fields_of(name, value):
            if is_written(leaf, head["written"]):
                arrays[f"after/{leaf}"] = np.array(field.asnumpy(), order="C")
    return classes.evolve(capsule, arrays=arrays)


def _with_digests(capsule: Capsule, call: Captured) -> Capsule:
    """Run the program on the numbers that a replay will draw."""
    written: Mapping[str, Array] = execute(capsule, call.backend or reference())
    capsule.head["digests"] = {leaf: digest_of(array) for leaf, array in written.items()}
    return capsule


def _head(call: Captured, arguments: Json, tables: Json) -> Json:
    definition, backend = call.definition, call.backend
    return {
        "format": FORMAT,
        "fieldforge": sys.modules[__name__.partition(".")[0]].__version__,
        "toolchain": toolchain_digest(),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "program": definition.name,
        "kind": definition.kind,
        "source": {
            "file": definition.source.file,
            "line": definition.source.line,
            "text": definition.source.text,
        },
        "closure": {name: _shown(value) for name, value in definition.closure},
        "backend": None if backend is None else backend.name,
        "options": {} if backend is None else options_text(backend),
        "arguments": arguments,
        "tables": tables,
        "error": "",
    }


def _tables(provider: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, table in sorted(provider.items()):
        if getattr(table, "__fieldforge_table__", False):
            yield name, table


def _shown(value: Any) -> str:
    definition = getattr(value, "__definition__", None)
    if definition is not None:
        return f"{definition.kind} {definition.name}"
    leaves = [leaf for _, leaf in leaves_of(value)]
    return ", ".join(repr(leaf)[:200] for leaf in leaves)
