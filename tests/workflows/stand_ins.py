"""Small stages for tests of the engine: they count how often they run."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import attrs

from fieldforge.stages.base import Artifact, Stage

RUNS: Counter[str] = Counter()
GUARD = threading.Lock()


def count(name: str) -> None:
    with GUARD:
        RUNS[name] += 1


@attrs.frozen
class Words:
    words: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def files(self) -> Mapping[str, bytes]:
        return {"words.txt": self.text.encode()}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Self:
        count("decode")
        return cls(tuple(files["words.txt"].decode().split()))


@attrs.frozen
class Numbers(Words):
    pass


@attrs.frozen(eq=False)
class Source:
    """Stands for a definition: raw text, and other sources that it builds on."""

    name: str
    text: str
    uses: tuple[Source, ...] = ()


@attrs.frozen
class Read(Stage):
    """Drop comments; the stand-in for parse. Names stand for what is behind them."""

    name: ClassVar[str] = "read"
    needs: ClassVar[tuple[str, ...]] = ("source",)
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"words": Words}

    def run(self, **inputs: Any) -> Mapping[str, Artifact]:
        count("read")
        text = inputs["source"].text.partition("#")[0]
        earlier = [word for done in inputs["earlier"] for word in done["words"].words]
        return {"words": Words((*earlier, *text.split()))}

    def components(self, inputs: Mapping[str, Any]) -> Mapping[str, str]:
        source = inputs["source"]
        return {"text": source.text, "uses": " ".join(used.name for used in source.uses)}

    def prerequisites(self, inputs: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
        return tuple({"source": used} for used in inputs["source"].uses)


@attrs.frozen
class Sort(Stage):
    name: ClassVar[str] = "sort"
    needs: ClassVar[tuple[str, ...]] = ("words",)
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"ordered": Words}

    backwards: bool = False
    delay: float = attrs.field(default=0.0, eq=False)

    def run(self, **inputs: Any) -> Mapping[str, Artifact]:
        count("sort")
        time.sleep(self.delay)
        return {"ordered": Words(tuple(sorted(inputs["words"].words, reverse=self.backwards)))}


@attrs.frozen
class Measure(Stage):
    name: ClassVar[str] = "measure"
    needs: ClassVar[tuple[str, ...]] = ("ordered", "unit")
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"lengths": Numbers, "units": Words}

    def run(self, **inputs: Any) -> Mapping[str, Artifact]:
        count("measure")
        lengths = tuple(str(len(word)) for word in inputs["ordered"].words)
        return {"lengths": Numbers(lengths), "units": inputs["unit"]}


@attrs.frozen
class Total(Stage):
    """Stands for load: gives a plain Python value and is never cached."""

    name: ClassVar[str] = "total"
    needs: ClassVar[tuple[str, ...]] = ("lengths", "units")
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"entry": object}  # type: ignore[dict-item]
    cache: ClassVar[Any] = "never"

    def run(self, **inputs: Any) -> Mapping[str, Any]:
        count("total")
        total = sum(map(int, inputs["lengths"].words))
        return {"entry": f"{total} {inputs['units'].text}"}


@attrs.frozen
class Fail(Stage):
    name: ClassVar[str] = "fail"
    needs: ClassVar[tuple[str, ...]] = ("words",)
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"ordered": Words}

    def run(self, **inputs: Any) -> Mapping[str, Artifact]:
        count("fail")
        raise ValueError("These words cannot be sorted.")


REGISTRY = {stage.name: stage for stage in (Read, Sort, Measure, Total, Fail)}
