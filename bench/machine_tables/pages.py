"""The page of each machine: its files of results as sections, the most asked for first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from . import calls, gpu, programs, starts, tools, untuned

RESULTS = Path(__file__).parents[1] / "results"


@attrs.frozen
class Machine:
    """A folder of results."""

    folder: Path

    @property
    def slug(self) -> str:
        """The name of its page."""
        return self.folder.name.lower()

    @property
    def name(self) -> str:
        """The GPU or the processor, as the files name it."""
        kept = map(self.read, ("untuned", "programs", "brief", "first"))
        found = next(filter(None, kept), {})
        machine: dict[str, str] = found.get("machine", {})
        name = machine.get("device") or machine.get("processor") or self.folder.name
        return name.replace("(R)", "").replace(" Processor", "").removeprefix("NVIDIA ")

    def rows(self, part: str) -> list[dict[str, Any]]:
        """Return the rows of a part, none where there is no file."""
        rows: list[dict[str, Any]] = self.read(part).get("rows", [])
        return rows

    def read(self, part: str) -> Any:
        """Return the document of a part, or an empty one."""
        file = self.folder / f"{part}.json"
        return json.loads(file.read_text()) if file.exists() else {}


def machines() -> list[Machine]:
    """Return all machines with a page, in the order of their folders."""
    found = [Machine(folder) for folder in sorted(RESULTS.iterdir()) if folder.is_dir()]
    return [machine for machine in found if list(sections(machine))]


def sections(machine: Machine) -> Iterator[str]:
    """Return the sections for which there are results."""
    if document := machine.read("programs"):
        yield from programs.section(document)
    if document := machine.read("brief"):
        yield from tools.section(document, machine.read("others") or None)
    if machine.read("gpu_programs"):
        yield from gpu.section(gpu.rows_of(machine.folder))
    if rows := machine.rows("gpu_peer"):
        yield from gpu.peer_section(rows)
    if document := machine.read("untuned"):
        yield from untuned.section(document)
    if document := machine.read("calls"):
        yield from calls.section(document["rows"])
    if document := machine.read("first"):
        yield from starts.first_section(document)
    if document := machine.read("tiers"):
        yield from starts.tiers_section(document)
    if document := machine.read("gtscript"):
        yield from starts.gtscript_section(document)
    for part in calls.TITLES:
        if document := machine.read(part):
            yield from calls.plain(part, document["rows"])


def pages() -> Mapping[str, str]:
    """Return the text of each machine's page by its path in the documentation."""
    return {f"results/{each.slug}.md": "\n".join(_page(each)) for each in machines()}


def _page(machine: Machine) -> Iterator[str]:
    yield f"# Results: {machine.name}\n"
    yield (
        f"What was measured (`bench/results/{machine.folder.name}/`). In columns *x / ours*, "
        "fieldforge is faster where a number is above 1. "
        "[Performance](../performance.md) has the summary of all machines.\n"
    )
    yield from sections(machine)
