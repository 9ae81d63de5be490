"""The deep record of a build: the inputs of its last stages, found without running the others.

It is a shortcut for the records of the stages. Its key has the options, code and environment of
every stage above, and all that is known of the inputs before they are parsed.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...cache.fingerprint import components_key
from ...cache.store import Files, Store, keep_result
from ...runtime.process import classes
from ..graph.edges import ancestors
from ..graph.graph import Workflow
from .handle import Handle, Result, input_components, is_nameless, own_components

STAGE = "deep"


@classes.frozen(eq=False)
class Shortcut:
    """The key of a deep record, the results found there, and the stages that still have to run."""

    key: str
    components: Mapping[str, str]
    frontier: tuple[tuple[str, str], ...]
    results: Mapping[str, Result]
    remaining: frozenset[str]


def find_shortcut(
    store: Store,
    flow: Workflow,
    outside: Mapping[str, Handle],
    program: str,
    memo: str | None = None,
) -> Shortcut | None:
    """Look up a deep record; None for a workflow whose last stages are stored one by one."""
    frontier = _frontier(flow)
    if not frontier:
        return None
    components = _components(flow, frontier, outside, memo)
    if is_nameless(components):
        return None
    key = components_key(components)
    remaining = frozenset(step.name for step in flow.plan if step.stage.cache == "never")
    results = _read(store, flow, frontier, key, program)
    return Shortcut(
        key, components, frontier, results, remaining if results else frozenset(flow.names)
    )


def keep_shortcut(
    store: Store, shortcut: Shortcut, results: Mapping[str, Result], program: str
) -> None:
    """Store the inputs of the last stages."""
    outputs = {
        f"{name}.{port}": results[name].outputs[port].files() for name, port in shortcut.frontier
    }
    seconds = sum(result.build_seconds for result in results.values())
    keep_result(
        store,
        shortcut.key,
        stage=STAGE,
        program=program,
        components=shortcut.components,
        outputs=outputs,
        seconds=seconds,
    )


def _frontier(flow: Workflow) -> tuple[tuple[str, str], ...]:
    """Return the ports that uncached stages read from cached stages.

    Empty unless all last stages are uncached and no cached stage follows an uncached one.
    """
    never = {step.name for step in flow.plan if step.stage.cache == "never"}
    sources = {edge.source for edge in flow.edges}
    ends = [name for name in flow.names if name not in sources]
    if not never.issuperset(ends) or any(step.stage.cache == "memory" for step in flow.plan):
        return ()
    if any(edge.source in never and edge.target not in never for edge in flow.edges):
        return ()
    found = {(e.source, e.port) for e in flow.edges if e.target in never and e.source not in never}
    return tuple(sorted(found))


def _components(
    flow: Workflow,
    frontier: tuple[tuple[str, str], ...],
    outside: Mapping[str, Handle],
    memo: str | None,
) -> dict[str, str]:
    parts = {"stage": STAGE}
    above = ancestors([name for name, _ in frontier], flow.edges)
    for step in flow.plan:
        if step.name not in above:
            continue
        feeds = {feed.need: outside[feed.need] for feed in step.feeds if feed.source is None}
        labelled = own_components(step.stage, memo) | input_components(step.stage, feeds)
        wired = [f"{feed.need}: {feed.source}.{feed.port}" for feed in step.feeds if feed.source]
        parts |= {f"{step.name}.{label}": part for label, part in labelled.items()}
        parts[f"{step.name}.feeds"] = ", ".join(wired)
    return parts


def _read(
    store: Store, flow: Workflow, frontier: tuple[tuple[str, str], ...], key: str, program: str
) -> dict[str, Result]:
    record = store.find(key)
    if record is None:
        return {}
    outputs: dict[str, dict[str, Handle]] = {}
    stored: dict[str, dict[str, Files]] = {}
    for name, port in frontier:
        output, files = record.output(f"{name}.{port}"), store.read(record, f"{name}.{port}")
        if output is None or files is None:
            return {}
        stored.setdefault(name, {})[port] = files
        value = flow[name].provides[port].from_files(files)
        outputs.setdefault(name, {})[port] = Handle.of(value, output.digest)
    if not all(flow[name].holds(files) for name, files in stored.items()):
        return {}
    return {
        name: Result(
            name, STAGE, program, key, "deep", 0.0, dict(record.components), ports, record.seconds
        )
        for name, ports in outputs.items()
    }
