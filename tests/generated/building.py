"""Build many programs at once: one translation unit, one run of the compiler, many entries.

The stages are those of the recipes; only the last steps are gone by hand, so that a thousand
programs do not cost a thousand starts of the compiler.
"""

from __future__ import annotations

import hashlib
import linecache
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from fieldforge.runtime import _core
from fieldforge.runtime.calls.plan import ENTRY, Plan
from fieldforge.runtime.calls.refusals import reject
from fieldforge.runtime.process.settings import current
from fieldforge.stages import CpuTarget, Encoded, Generated, Lowered, Patches, ThreadBlock, Variant
from fieldforge.stages.bind.stage import Bind
from fieldforge.stages.codegen.cpu.stage import FLAGS, Codegen
from fieldforge.stages.codegen.dace.gpu.stage import CodegenDaceGpu
from fieldforge.stages.codegen.dace.source import THREADS, WRAPPED
from fieldforge.stages.codegen.dace.stage import CodegenDace
from fieldforge.stages.codegen.gpu.stage import CodegenGpu
from fieldforge.stages.compile.stage import Compile
from fieldforge.stages.encode.stage import MACHINE, Encode
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.ir.dataflow import Map
from fieldforge.stages.lower.stage import Lower
from fieldforge.workflows.builds.building import beyond_fields, parsed

from .building_gpu import compiled_for_gpu
from .grids import header

PLACEMENTS: Final = ("chosen", "arrays", "some arrays", "inline")
SMALL_CACHE: Final = 2048
# Few levels fit; loads land, and rows that are not aligned have code of their own.
SMALL_GPU: Final[dict[str, Any]] = {
    "target": GpuTarget("sm_90", block_memory=300, shared_memory=100_000),
    "column_block": ThreadBlock(x=3),
    "ahead": 2,
    "land": 4,
    "unaligned": True,
}
# Options of the CPU at the ends of their ranges.
LIMITS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"tile_size": 1},
    {"tile_size": 1 << 12},
    {"stream_from": 0},
    {"stream_from": 1},
    {"parallel_from": 0},
    {"parallel_from": 1 << 40},
    {"jam": False, "prefetch": False, "unswitch": False},
    {"patches": False},
    {"effort": 2},
    {"patches": Patches(elements=1, portion=1, least_bytes=1)},
)
_HEADERS: dict[bool, dict[str, Any]] = {}


@attrs.frozen
class Schedule:
    """How a program is compiled; results must not depend on it."""

    placement: str = "chosen"
    parallel_from: int = 16384
    small_tiles: bool = False
    static_domains: bool = False
    checked: bool = False
    backend: str = "cpu"
    static: bool = False  # whether the values of scalars are compiled in
    limits: int = 0  # a row of LIMITS


@attrs.frozen
class Written:
    """A program as far as the compiler: its source, and the plan by which it is called.

    What the native core interprets has no source.
    """

    source: str
    plan: Plan
    beyond: Written | None = None
    encoded: Encoded | None = None


def define(text: str, unstructured: bool) -> dict[str, Any]:
    """Run the text of a program; return all names in it."""
    if unstructured not in _HEADERS:
        names: dict[str, Any] = {"__name__": "generated"}
        exec(header(unstructured), names)
        _HEADERS[unstructured] = names
    names = dict(_HEADERS[unstructured])
    file = f"<generated {hashlib.sha256(text.encode()).hexdigest()[:16]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    try:
        exec(compile(text, file, "exec", dont_inherit=True), names)
        # The copy that runs embedded is made from the source at the first call.
        return names
    except BaseException:
        linecache.cache.pop(file, None)
        raise


def lowered(program: Any, variant: Variant, checked: bool = False) -> Lowered:
    """Lower a program for arguments of known layout."""
    tree = parsed(program.__definition__)
    stage = Lower(numerics="strict", checked=checked)
    made: Any = stage.run(parsed=tree, variant=variant)["lowered"]
    return made  # type: ignore[no-any-return]


def written(low: Lowered, variant: Variant, schedule: Schedule, target: CpuTarget) -> Written:
    """Write the C++ of a program."""
    arrays, inline = _placed(low, schedule.placement)
    if schedule.small_tiles:
        target = attrs.evolve(target, l2=SMALL_CACHE)
    if schedule.backend == "rows":
        machine = attrs.evolve(MACHINE, l2=SMALL_CACHE) if schedule.small_tiles else MACHINE
        options = {"parallel_from": schedule.parallel_from, "numerics": "strict"}
        return _finished(Encode(machine, arrays=arrays, inline=inline, **options), low, variant)
    if schedule.backend == "dace_cpu":
        options = {"numerics": "strict", "checked": schedule.checked}
        stage: Any = CodegenDace(
            target, schedule.parallel_from, arrays=arrays, inline=inline, **options
        )
        return _finished(stage, low, variant)
    if schedule.backend == "dace_gpu-host":
        options = {"numerics": "strict", "checked": schedule.checked, "host": True}
        return _finished(CodegenDaceGpu(arrays=arrays, inline=inline, **options), low, variant)
    if schedule.backend == "gpu-host":
        few: dict[str, Any] = SMALL_GPU if schedule.small_tiles else {}
        options = {"numerics": "strict", "checked": schedule.checked, "host": True, **few}
        return _finished(CodegenGpu(arrays=arrays, inline=inline, **options), low, variant)
    stage = Codegen(
        target,
        parallel_from=schedule.parallel_from,
        arrays=arrays,
        inline=inline,
        numerics="strict",
        stream_from=1 if schedule.small_tiles else None,
        checked=schedule.checked,
    )
    return _finished(attrs.evolve(stage, **LIMITS[schedule.limits]), low, variant)


def _finished(stage: Any, low: Lowered, variant: Variant) -> Written:
    outputs: Any = stage.run(lowered=low, variant=variant)
    plan = Bind().run(interface=outputs["interface"])["bound"].plan  # type: ignore[attr-defined]
    if "encoded" in outputs:
        return Written("", plan, encoded=outputs["encoded"])
    beyond = _finished(stage, low, beyond_fields(variant)) if plan.is_inside else None
    return Written(outputs["generated"].source, plan, beyond)


def _placed(low: Lowered, placement: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    values = low.program.values
    maps = [f"%{i}" for i, value in enumerate(values) if isinstance(value, Map) and value.dims]
    match placement:
        case "arrays":
            return tuple(maps), ()
        case "some arrays":
            return tuple(maps[::3]), tuple(maps[1::3])
        case "inline":
            return (), tuple(maps)
    return (), ()


def compiled(programs: Sequence[Written], optimise: str = "-O1") -> list[Any]:
    """Compile programs together and return the callables, in order."""
    if programs and programs[0].plan.platform == "null":
        return compiled_for_gpu(programs, optimise)
    if programs and programs[0].encoded is not None:
        return [_interpreted(each) for each in programs]
    rare = {id(each): each.beyond for each in programs if each.beyond is not None}
    parts = {id(each): index for index, each in enumerate((*programs, *rare.values()))}
    sources = (each.source for each in (*programs, *rare.values()))
    source = "\n".join(_apart(index, each) for index, each in enumerate(sources))
    settings = current()
    stage = Compile(flags=(optimise,), cxx=settings.cxx, variables=settings.compiler_variables)
    flags = (*FLAGS, THREADS, *WRAPPED, *CpuTarget.host().flags)  # DaCe's pragmas need the latter
    generated = Generated("c++", source, "", flags)
    outputs: Any = stage.run(generated=generated)
    with tempfile.TemporaryDirectory(prefix="fieldforge-") as directory:
        path = Path(directory, "batch.so")
        path.write_bytes(outputs["compiled"].library)
        library = _core.Library(str(path))  # stays loaded when the file is gone
    return [_callable(library, parts, each) for each in programs]


def _interpreted(written: Written) -> Any:
    """Return the callable of a program whose text is read back."""
    assert written.encoded is not None, "it was encoded"
    read = Encoded.from_files(written.encoded.files())
    assert read == written.encoded, "the text says it all"
    program = _core.Program(written.plan.program, written.plan.parameters, _never, reject)
    program.add(_core.Entry(written.plan, 0, _core.Rows(read.program)))
    return program


def _apart(index: int, source: str) -> str:
    """Give a program a namespace of its own, and its entry a name of its own."""
    source = source.replace("fieldforge_place", f"place_of_{index}")  # a symbol of the assembler
    lines = source.replace(ENTRY, f"entry{index}").splitlines()
    headers = [line for line in lines if line.startswith("#include")]
    rest = [line for line in lines if not line.startswith("#include")]
    return "\n".join([*headers, f"namespace n{index} {{", *rest, "}"])


def _callable(library: Any, parts: Mapping[int, int], written: Written) -> Any:
    program = _core.Program(written.plan.program, written.plan.parameters, _never, reject)
    entry = _entry(library, parts, written)
    if written.beyond is not None:
        other = _entry(library, parts, written.beyond)
        entry.beyond = lambda: other
    program.add(entry)
    return program


def _entry(library: Any, parts: Mapping[int, int], written: Written) -> Any:
    address = library.symbol(f"entry{parts[id(written)]}")
    assert address is not None, "every program has an entry"
    return _core.Entry(written.plan, address, library)


def _never(args: Any, kwargs: Any) -> None:
    raise AssertionError("No entry fits the arguments that the program was built for.")
