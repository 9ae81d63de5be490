"""Write the pages that a stage has of its IR, one for each pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ...runtime.process.errors import WorkflowError


def write_pages(
    pages: Mapping[str, str], step: str | None, folder: Path, program: str
) -> Iterator[Path]:
    """Write the page after each pass, or after `step` only, and yield its path.

    Raises:
        WorkflowError: if the stage has no pages, or ran no pass of that name.

    """
    if not pages:
        raise WorkflowError(
            "This backend has no viewer of its IR.",
            hints=["That of DaCe shows SDFGs: 'fieldforge show ... --html --backend dace_cpu'."],
        )
    chosen = {step: pages[step]} if step else pages
    places = {name: place for place, name in enumerate(pages)}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in chosen.items():
        path = folder / f"{program}-{places[name]}-{name}.html"
        path.write_text(text)
        yield path
