"""A build as bytes, for another process: the stages after the definition is read.

The caller reads definitions, which are Python objects of its process. The other stages read
artifacts, so any process that can import the stages can run them: a worker process, an executor of
`concurrent.futures`, another MPI rank.
"""

from __future__ import annotations

import functools
import io
import pickle
from collections.abc import Mapping
from types import FunctionType
from typing import Any, TypeVar

from ...cache.disk import Disk
from ...cache.functions import home
from ...cache.memory import Memory
from ...cache.record import parse_record
from ...cache.store import Store, read_outputs
from ...runtime.process import FieldforgeError, classes
from ...stages.compile.running import Slots, using_slots
from ..graph.edges import Step, ancestors
from ..graph.graph import Workflow
from .engine import Engine
from .events import Collector, Event
from .handle import is_nameless, own_components

T = TypeVar("T")

# Pickles pass between processes of one user and job; they are never read from a store.


class WorkerError(FieldforgeError, RuntimeError):
    """A build failed in another process with an error that cannot be pickled."""


class RequestError(WorkerError):
    """Another process cannot read a request, for instance because it lacks a module."""


@classes.frozen(eq=False)
class Request:
    """The stages to run and their inputs; without a shared store the reply has the results."""

    flow: Workflow
    inputs: Mapping[str, tuple[type[Any], Mapping[str, bytes]]]
    program: str
    store: str | None

    def encode(self, *, results: bool = False) -> bytes:
        """Encode the request; `results` asks for the results even if the store is shared."""
        return _dumps((self, results or self.store is None))


@classes.frozen(eq=False)
class Reply:
    """The reply of another process: its events, and its records with files, or an error."""

    events: tuple[Event, ...] = ()
    results: tuple[bytes, ...] = ()
    error: BaseException | None = None

    def admit(self, engine: Engine) -> None:
        """Raise the error, or store the results after checking their digests."""
        for event in self.events:
            engine.tell(event)
        if self.error is not None:
            raise self.error
        for content in self.results:
            unpack(engine.store, content)


def make_request(
    engine: Engine, flow: Workflow, inputs: Mapping[str, Any], program: str
) -> Request | None:
    """Read the definition here and return the rest; None if another process cannot run it."""
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
    """Run a request and encode the reply; errors go into the reply."""
    try:
        request, wants_results = pickle.loads(content)
    except Exception as error:  # for instance a user's module that cannot be imported here
        return _encoded(Reply(error=RequestError(f"The request cannot be read there: {error!r}.")))
    seen = Collector()
    try:
        store = Memory() if request.store is None else _disk(request.store)
        engine = Engine(store, observers=[seen])
        inputs = {need: kind.from_files(files) for need, (kind, files) in request.inputs.items()}
        with using_slots(Slots(1)):  # the caller asks for as many builds as it has jobs
            done = engine.run(
                request.flow, inputs, program=request.program, deep=False, policy="may_build"
            )
        results = [pack(store, result.key) for result in done.values()] if wants_results else []
    except Exception as error:
        return _encoded(Reply(tuple(seen.events), error=error))
    found = tuple(content for content in results if content is not None)
    return _encoded(Reply(tuple(seen.events), found))


def read_reply(content: bytes) -> Reply:
    """Decode the reply of `fulfil`."""
    reply = pickle.loads(content)
    assert isinstance(reply, Reply)
    return reply


def pack(store: Store, key: str) -> bytes | None:
    """Encode a stored result with all its files; None if it is missing."""
    record = store.find(key)
    outputs = read_outputs(store, record) if record else None
    if record is None or outputs is None:
        return None
    files = {port: dict(found) for port, found in outputs.items()}
    return pickle.dumps((record.encode(), files), pickle.HIGHEST_PROTOCOL)


def unpack(store: Store, content: bytes) -> None:
    """Store a result that `pack` encoded; the store checks its digests."""
    head, outputs = pickle.loads(content)
    record = parse_record(head)
    for port, files in outputs.items():
        store.admit(record, port, files)


def portable(value: T) -> T:
    """Return a copy that can be pickled: errors that cannot become their text."""
    try:
        pickle.loads(pickle.dumps(value))
    except Exception:
        if isinstance(value, BaseException):
            lost: Any = WorkerError(f"{type(value).__name__}: {value}")
            lost.__notes__ = list(getattr(value, "__notes__", ()))
            return lost  # type: ignore[no-any-return]  # an error for an error
        inner: Any = value
        return classes.evolve(inner, error=portable(inner.error))  # type: ignore[no-any-return]
    return value


def _rest(flow: Workflow, inputs: Mapping[str, Any]) -> Workflow | None:
    """Return the cached stages after those that read Python objects; None if one cannot be sent."""
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
        return None  # two values for one input name
    return Workflow([node for node in flow.nodes if node[0] in names], inner)


def _reads_values(step: Step, inputs: Mapping[str, Any]) -> bool:
    """Tell whether a stage reads an input of the workflow that is no artifact."""
    outside = [feed.need for feed in step.feeds if feed.source is None]
    return any(not hasattr(inputs[need], "files") for need in outside)


def _travels(step: Step) -> bool:
    return step.stage.cache == "disk" and not is_nameless(own_components(step.stage))


@functools.lru_cache(maxsize=4)
def _disk(path: str) -> Disk:
    return Disk(path)


def _encoded(reply: Reply) -> bytes:
    """Encode a reply; an error that cannot be pickled becomes its text."""
    events = tuple(map(portable, reply.events))
    error = None if reply.error is None else portable(reply.error)
    return pickle.dumps(Reply(events, reply.results, error), pickle.HIGHEST_PROTOCOL)


class _Pickler(pickle.Pickler):
    """A pickler that refuses objects of the running script, which workers must not import."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, FunctionType | type) and home(value) == "__main__":
            raise pickle.PicklingError(f"'{value.__qualname__}' is part of the running script.")
        return NotImplemented


def _dumps(value: Any) -> bytes:
    stream = io.BytesIO()
    _Pickler(stream, pickle.HIGHEST_PROTOCOL).dump(value)
    return stream.getvalue()
