"""The first tier of a backend: a workflow without a compiler that gives the same bits."""

from __future__ import annotations

from typing import Final, TypeAlias

from ...runtime import _core
from ...runtime.process import classes, current
from ...stages.base import Stage
from ...stages.bind.stage import Bind
from ...stages.codegen.cpu.options import CPU_PASSES
from ...stages.codegen.cpu.stage import Codegen
from ...stages.codegen.options import CodegenOptions
from ...stages.compile.stage import Compile
from ...stages.decorate.stage import Load
from ..graph.edges import Edge
from ..graph.graph import Workflow
from .backend import Backend

Tiers: TypeAlias = str  # one of `runtime.process.settings.TIERS`

_FLOW: Final = "_first_tier_flow"
_REASON: Final = "_reason_for_no_first_tier"
_KINDS: Final = (Codegen, Compile, Bind, Load)


def tiers_of(backend: Backend) -> Tiers:
    """Return which tiers run calls: the option of the backend, else the setting."""
    load = _loading(backend)
    own = None if load is None else load.tiers
    return current().tiers if own is None else own


def build_after(backend: Backend) -> float:
    """Return the seconds that calls run on the first tier before the build begins."""
    load = _loading(backend)
    own = None if load is None else load.build_after
    return current().build_after if own is None else own


def compiled_only(backend: Backend) -> Backend:
    """Return a backend whose calls wait for compiled code, for those that measure them."""
    return backend if _loading(backend) is None else backend.with_options(tiers="compiled")


def why_no_first_tier(backend: Backend) -> str | None:
    """Say why calls wait for compiled code; None if a first tier may run them."""
    if _REASON not in vars(backend):  # kept with the object, as the workflow itself
        vars(backend)[_REASON] = _reason(backend.workflow)
    found: str | None = vars(backend)[_REASON]
    return found


def first_tier(backend: Backend) -> Workflow:
    """Return the workflow of the first tier, which ends at the entry."""
    found: Workflow | None = vars(backend).get(_FLOW)
    if found is None:
        found = vars(backend)[_FLOW] = _first_tier(backend.workflow)
    return found


def _loading(backend: Backend) -> Load | None:
    stages = (stage for _, stage in backend.workflow.nodes)
    return next((stage for stage in stages if type(stage) is Load), None)


def _names(flow: Workflow) -> dict[type, str]:
    return {type(stage): name for name, stage in flow.nodes}


def _reason(flow: Workflow) -> str | None:
    names = _names(flow)
    if not all(kind in names for kind in _KINDS):
        return "only our own code generator and compiler have one"
    own = {names[kind] for kind in _KINDS}
    for edge in flow.edges:
        if edge.source in (names[Codegen], names[Compile]) and edge.target not in own:
            return f"stage '{edge.target}' reads the generated code"
    codegen, compiled = flow[names[Codegen]], flow[names[Compile]]
    assert isinstance(codegen, Codegen)
    assert isinstance(compiled, Compile)
    return _reason_in_options(codegen, compiled)


def _reason_in_options(codegen: Codegen, compiled: Compile) -> str | None:
    """Say which option gives compiled code other bits, or asks for that code."""
    if codegen.checked:
        return "calls are checked"
    if codegen.numerics == "fast":
        return 'numerics="fast" lets the compiler choose the bits'
    if codegen.mathematics != "own":
        return f'mathematics="{codegen.mathematics}" takes the functions of a library'
    if compiled.flags:
        return "the compiler has flags of the user"
    if not set(codegen.passes) <= set(CPU_PASSES):
        return "the code generator has passes of the user"
    if not codegen.target.has_fma:
        return f"target '{codegen.target.isa}' has no fused multiply-add"
    if not _core.row_kernel_classes():
        return "this processor has no fused multiply-add"
    return None


def _first_tier(flow: Workflow) -> Workflow:
    """Write and load encoded loops where the workflow writes, compiles and loads C++."""
    from ...stages.decorate.stage import LoadRows
    from ...stages.encode.stage import Encode

    names = _names(flow)
    codegen, load = flow[names[Codegen]], flow[names[Load]]
    assert isinstance(codegen, Codegen)
    assert isinstance(load, Load)
    options = {each.name: getattr(codegen, each.name) for each in classes.fields(CodegenOptions)}
    encode = Encode(parallel_from=codegen.parallel_from, **options)
    rows = LoadRows(threads=load.threads)
    new: dict[str, Stage] = {names[Codegen]: encode, names[Load]: rows}
    kept = {
        name: (new[name].name, new[name]) if name in new else (name, stage)
        for name, stage in flow.nodes
        if name != names[Compile]
    }
    edges = [
        Edge(kept[edge.source][0], edge.port, kept[edge.target][0], edge.need)
        for edge in flow.edges
        if edge.source in kept and edge.target in kept
    ]
    edges.append(Edge(encode.name, "encoded", rows.name, "encoded"))
    return Workflow(tuple(kept.values()), tuple(edges)).upto(rows.name)
