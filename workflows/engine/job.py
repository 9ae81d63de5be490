"""`Job`: obtain the result of one stage for given inputs, cached or computed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ...cache.fingerprint import artifact_digest, components_key
from ...cache.locks import build_once
from ...cache.memory import SingleFlight
from ...cache.record import Record
from ...cache.store import Files, Store, keep_result
from ...runtime.process import WorkflowError, classes
from ...stages.base import Stage
from .events import Failed, Finished, Hit, Observer, Outcome, Started, Warned
from .handle import Handle, Result, input_components, is_nameless, nameless_labels, own_components
from .policy import NotStoredError, Policy

Earlier: TypeAlias = Callable[[], tuple[Result, ...]]


@classes.frozen(eq=False)
class Resources:
    """The resources of all jobs: store, live results, observers, digests of our sources."""

    store: Store
    live: SingleFlight[Result]
    tell: Observer
    memo: str | None = None
    watched: bool = True  # whether there are observers: events cost more than a small stage


@classes.frozen(eq=False, slots=False)  # faster to construct
class Job:
    """A stage, its inputs, and the name of the program."""

    resources: Resources
    name: str
    stage: Stage
    feeds: Mapping[str, Handle]
    program: str
    policy: Policy = "may_build"
    afresh: bool = False  # run the stage even if its result is known

    def result(self, earlier: Earlier) -> Result:
        """Return the result: from this process, from the store, or computed now."""
        if self.stage.cache == "never":
            return self._make({}, "", earlier)[0]
        components = own_components(self.stage, self.resources.memo)
        components |= input_components(self.stage, self.feeds)
        key = components_key(components)
        if self.afresh:
            self.resources.live.forget(key)
        began = time.perf_counter()
        built: list[Result] = []

        def build() -> Result:
            built.append(self._find_or_make(components, key, earlier))
            return built[0]

        found = self.resources.live.get_or_build(key, build)
        if built:
            return found
        seconds = time.perf_counter() - began
        if self.resources.watched:
            self.resources.tell(Hit(self.program, self.name, key, "memory", seconds))
        return classes.evolve(
            found, name=self.name, program=self.program, outcome="memory", seconds=seconds
        )

    def _find_or_make(self, components: Mapping[str, str], key: str, earlier: Earlier) -> Result:
        if self.stage.cache == "memory" or is_nameless(components):
            self.resources.tell(Warned(self.program, self.name, _why_in_memory(components)))
            return self._make(components, key, earlier)[0]
        found = None if self.afresh else self._find(components, key, earlier)
        if found is not None:
            return found

        def make() -> Result:
            made, files = self._make(components, key, earlier)
            self._keep(made, files)
            return made

        has_store = self.resources.store.path is not None
        if self.afresh or not self.stage.is_awaited or not has_store:
            return make()
        return build_once(
            self.resources.store, key, lambda: self._find(components, key, earlier), make
        )

    def _allow(self, components: Mapping[str, str]) -> None:
        """Refuse to run a stage under `must_hit`; parsing a definition is always allowed."""
        is_kept = self.stage.cache != "never"
        if (
            self.policy == "must_hit"
            and is_kept
            and any(handle.digest for handle in self.feeds.values())
        ):
            raise NotStoredError(self.program, self.name, self.stage.name, components)

    def _find(self, components: Mapping[str, str], key: str, earlier: Earlier) -> Result | None:
        began = time.perf_counter()
        record = self.resources.store.find(key)
        if record is None or any(record.output(port) is None for port in self.stage.provides):
            return None
        if type(self.stage).holds is not Stage.holds:
            stored = {port: self.resources.store.read(record, port) for port in self.stage.provides}
            files = {port: each for port, each in stored.items() if each is not None}
            if len(files) < len(stored) or not self.stage.holds(files):
                return None
        handles = {port: self._lazy(record, port, earlier) for port in self.stage.provides}
        seconds = time.perf_counter() - began
        if self.resources.watched:
            self.resources.tell(Hit(self.program, self.name, key, "disk", seconds))
        found = self._as_result(components, key, "disk", seconds, handles)
        return classes.evolve(found, build_seconds=record.seconds)

    def _lazy(self, record: Record, port: str, earlier: Earlier) -> Handle:
        """Decode on demand; a damaged output is computed again."""
        output = record.output(port)

        def load() -> Any:
            stored = self.resources.store.read(record, port)
            if stored is not None:
                return self.stage.provides[port].from_files(stored)
            message = f"The stored output '{port}' is missing or damaged; its stage runs again."
            self.resources.tell(Warned(self.program, self.name, message))
            made, files = self._make(dict(record.components), record.key, earlier)
            self._keep(made, files)
            return made.outputs[port].get()

        return Handle(output.digest if output else None, load)

    def _keep(self, result: Result, files: Mapping[str, Files]) -> None:
        keep_result(
            self.resources.store,
            result.key,
            stage=self.stage.name,
            program=self.program,
            components=result.components,
            outputs=files,
            seconds=result.seconds,
        )

    def _make(
        self, components: Mapping[str, str], key: str, earlier: Earlier
    ) -> tuple[Result, Mapping[str, Files]]:
        """Run the stage; encode its outputs once, for the digest and for the store."""
        self._allow(components)
        inputs = {need: handle.get() for need, handle in self.feeds.items()}
        if type(self.stage).prerequisites is not Stage.prerequisites:
            inputs["earlier"] = tuple(
                {port: handle.get() for port, handle in result.outputs.items()}
                for result in earlier()
            )
        began = time.perf_counter()
        outputs = self._run(inputs, key)
        seconds = time.perf_counter() - began
        kept = self.stage.cache != "never"
        files = {port: value.files() for port, value in outputs.items()} if kept else {}
        handles = {
            port: Handle.of(value, artifact_digest(files[port]) if kept else None, files.get(port))
            for port, value in outputs.items()
        }
        return self._as_result(components, key, "ran", seconds, handles), files

    def _run(self, inputs: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        if self.resources.watched:
            self.resources.tell(Started(self.program, self.name, key))
        began = time.perf_counter()
        try:
            outputs = self.stage.run(**inputs)
            self._check(outputs)
        except BaseException as error:  # reported and raised again
            note = f"While building '{self.program}', stage '{self.name}'."
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
            seconds = time.perf_counter() - began
            self.resources.tell(Failed(self.program, self.name, key, error, seconds))
            raise
        if self.resources.watched:
            self.resources.tell(Finished(self.program, self.name, key, time.perf_counter() - began))
        return outputs

    def _check(self, outputs: Mapping[str, Any]) -> None:
        if outputs.keys() != self.stage.provides.keys():
            raise WorkflowError(
                f"Stage '{self.name}' must provide {_names(self.stage.provides)}, "
                f"got {_names(outputs)}."
            )
        for port, kind in self.stage.provides.items():
            if self.stage.cache != "never" and not isinstance(outputs[port], kind):
                raise WorkflowError(
                    f"Output '{port}' of stage '{self.name}' must be '{kind.__name__}', "
                    f"got '{type(outputs[port]).__name__}'."
                )

    def _as_result(
        self,
        components: Mapping[str, str],
        key: str,
        outcome: Outcome,
        seconds: float,
        handles: Mapping[str, Handle],
    ) -> Result:
        ports = {port: handles[port] for port in self.stage.provides}
        return Result(
            self.name,
            self.stage.name,
            self.program,
            key,
            outcome,
            seconds,
            components,
            ports,
            seconds,
        )


def _names(ports: Mapping[str, Any]) -> str:
    return ", ".join(f"'{port}'" for port in sorted(ports)) or "nothing"


def _why_in_memory(components: Mapping[str, str]) -> str:
    labels = ", ".join(nameless_labels(components))
    why = f"there is no digest of its {labels}" if labels else "the stage asks for it"
    return f"The result is remembered in this process only: {why}."
