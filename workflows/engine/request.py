"""A build as bytes: what is left of a workflow once its definition is read, for another process.

The caller reads definitions, as they are Python objects of its own. Everything behind that is made
of artifacts and of stages that say what they are, so any process that can import the stages can run
it: a worker of ours, one of an executor of `concurrent.futures`, another MPI rank.
"""

from __future__ import annotations

import functools
import io
import pickle
from collections.abc import Mapping
from types import FunctionType
from typing import Any, TypeVar

import attrs

from ...cache.disk import Disk
from ...cache.functions import home
from ...cache.memory import Memory
from ...cache.record import parse_record
from ...cache.store import Store
from ...runtime.process.errors import FieldforgeError
from ..graph.graph import Workflow
from ..graph.plan import Step, ancestors
from .engine import Engine
from .events import Collector, Event
from .keys import is_nameless, own_components

T = TypeVar("T")

# Pickle goes between processes of one user and job, and is never read from a store.


class WorkerError(FieldforgeError, RuntimeError):
    """Another process could not do a build, or its error could not travel."""


class RequestError(WorkerError):
    """A request cannot be read in another process, which lacks a module, for instance."""


@attrs.frozen(eq=False)
class Request:
    """The stages to run and their inputs as files; without a folder the results come back."""

    flow: Workflow
    inputs: Mapping[str, tuple[type[Any], Mapping[str, bytes]]]
    program: str
    store: str | None

    def encode(self, *, results: bool = False) -> bytes:
        """Write it for another process; `results` asks for them even if the store is shared."""
        return _dumps((self, results or self.store is None))


@attrs.frozen(eq=False)
class Reply:
    """What another process did: its events, and records with their files or an error."""

    events: tuple[Event, ...] = ()
    results: tuple[bytes, ...] = ()
    error: BaseException | None = None

    def admit(self, engine: Engine) -> None:
        """Raise the error, or take the results into a store; each is checked against its digest."""
        for event in self.events:
            engine.tell(event)
        if self.error is not None:
            raise self.error
        for content in self.results:
            unpack(engine.store, content)


def make_request(
    engine: Engine, flow: Workflow, inputs: Mapping[str, Any], program: str
) -> Request | None:
    """Read the definition here and return the rest; None if the rest cannot leave this process."""
    rest = _rest(flow, inputs)
    if rest is None:
        return None
    crossing = [e for e in flow.edges if e.target in rest and e.source not in rest]
    front = sorted({edge.source for edge in crossing})
    results = engine.run(flow, inputs, until=front, program=program, deep=False) if front else {}
    given = {need: inputs[need] for need in rest.inputs if need in inputs} | {
        edge.need: results[edge.source].outputs[edge.port].get() for edge in crossing
    }
    files = {need: (type(value), dict(value.files())) for need, value in given.items()}
    path = engine.store.path
    request = Request(rest, files, program, None if path is None else str(path))
    try:
        request.encode()
    except (pickle.PicklingError, TypeError, AttributeError):
        return None
    return request


def fulfil(content: bytes) -> bytes:
    """Do what a request says, and write the reply; whatever goes wrong is in the reply."""
    try:
        request, wants_results = pickle.loads(content)
    except Exception as error:  # a module of the user that cannot be imported here, for instance
        return _encoded(Reply(error=RequestError(f"The request cannot be read there: {error!r}.")))
    seen = Collector()
    try:
        store = Memory() if request.store is None else _disk(request.store)
        engine = Engine(store, observers=[seen])
        inputs = {need: kind.from_files(files) for need, (kind, files) in request.inputs.items()}
        done = engine.run(
            request.flow, inputs, program=request.program, deep=False, policy="may_build"
        )
        results = [pack(store, result.key) for result in done.values()] if wants_results else []
    except Exception as error:
        return _encoded(Reply(tuple(seen.events), error=error))
    found = tuple(content for content in results if content is not None)
    return _encoded(Reply(tuple(seen.events), found))


def read_reply(content: bytes) -> Reply:
    """Read what `fulfil` wrote."""
    reply = pickle.loads(content)
    assert isinstance(reply, Reply)
    return reply


def pack(store: Store, key: str) -> bytes | None:
    """Write a stored result with all its files; None if it is not there."""
    record = store.find(key)
    if record is None:
        return None
    outputs = {output.port: store.read(record, output.port) for output in record.outputs}
    if any(files is None for files in outputs.values()):
        return None
    files = {port: dict(found) for port, found in outputs.items() if found is not None}
    return pickle.dumps((record.encode(), files), pickle.HIGHEST_PROTOCOL)


def unpack(store: Store, content: bytes) -> None:
    """Take in what `pack` wrote; the store checks it against its digests."""
    head, outputs = pickle.loads(content)
    record = parse_record(head)
    for port, files in outputs.items():
        store.admit(record, port, files)


def portable(value: T) -> T:
    """Return a value that holds an error so that it can be pickled: some errors only as text."""
    try:
        pickle.loads(pickle.dumps(value))
    except Exception:
        if isinstance(value, BaseException):
            lost: Any = WorkerError(f"{type(value).__name__}: {value}")
            lost.__notes__ = list(getattr(value, "__notes__", ()))
            return lost  # type: ignore[no-any-return]  # an error for an error
        inner: Any = value
        return attrs.evolve(inner, error=portable(inner.error))  # type: ignore[no-any-return]
    return value


def _rest(flow: Workflow, inputs: Mapping[str, Any]) -> Workflow | None:
    """Return the stored stages behind those that read values; None if one cannot travel."""
    reading = [step.name for step in flow.plan if _reads_values(step, inputs)]
    front = ancestors(reading, flow.edges)
    rest = [step for step in flow.plan if step.stage.cache != "never" and step.name not in front]
    names = {step.name for step in rest}
    if not rest or not all(map(_travels, rest)):
        return None
    inner = [edge for edge in flow.edges if edge.target in names and edge.source in names]
    sources: dict[str, set[object]] = {}
    for step in rest:
        for feed in step.feeds:
            if feed.source not in names:
                sources.setdefault(feed.need, set()).add((feed.source, feed.port))
    if any(len(each) > 1 for each in sources.values()):
        return None  # two values under the name of one input
    return Workflow([node for node in flow.nodes if node[0] in names], inner)


def _reads_values(step: Step, inputs: Mapping[str, Any]) -> bool:
    """Tell whether a stage takes something from outside that is no artifact."""
    outside = [feed.need for feed in step.feeds if feed.source is None]
    return any(not hasattr(inputs[need], "files") for need in outside)


def _travels(step: Step) -> bool:
    return step.stage.cache == "disk" and not is_nameless(own_components(step.stage))


@functools.lru_cache(maxsize=4)
def _disk(path: str) -> Disk:
    return Disk(path)


def _encoded(reply: Reply) -> bytes:
    """Write a reply; an error that cannot be pickled travels as its text."""
    events = tuple(map(portable, reply.events))
    error = None if reply.error is None else portable(reply.error)
    return pickle.dumps(Reply(events, reply.results, error), pickle.HIGHEST_PROTOCOL)


class _Pickler(pickle.Pickler):
    """Refuses what lives in the script that is run: no other process may import that again."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, FunctionType | type) and home(value) == "__main__":
            raise pickle.PicklingError(f"'{value.__qualname__}' is part of the script that is run.")
        return NotImplemented


def _dumps(value: Any) -> bytes:
    stream = io.BytesIO()
    _Pickler(stream, pickle.HIGHEST_PROTOCOL).dump(value)
    return stream.getvalue()
