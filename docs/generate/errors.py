"""The page of errors, from their classes."""

from __future__ import annotations

import inspect

from fieldforge import errors
from fieldforge.runtime.process.errors import FieldforgeError

from .text import documentation, fenced, table

INTRO = """# Errors

Every error of fieldforge is a `FieldforgeError`, which `fieldforge.errors` also calls `GT4PyError`. It has a
`message` of one sentence and `hints` that say what to do. A `DSLError` also has the `location` in your source.
Errors can be pickled with all their attributes, so worker processes can raise them in their parent.
"""


def kinds() -> list[type[FieldforgeError]]:
    """Return the public errors, each after its base."""
    public = {kind for name in errors.__all__ if inspect.isclass(kind := getattr(errors, name))}
    return sorted(public, key=_path)


def _path(kind: type[FieldforgeError]) -> list[str]:
    """Return the names from the base of all errors down to `kind`."""
    return [each.__name__ for each in kind.__mro__[::-1] if issubclass(each, FieldforgeError)]


def page() -> str:
    """Return the page."""
    rows = [(
        f"[`{kind.__name__}`](#{kind.__name__})",
        ", ".join(f"`{base.__name__}`" for base in kind.__bases__),
        documentation(kind, kind.__name__).partition("\n")[0],
    ) for kind in kinds()]  # fmt: skip
    parts = [INTRO, table(("error", "is also", "raised for"), rows), ""]
    for kind in kinds():
        text = documentation(kind, kind.__name__)
        parts += [f"## {kind.__name__} {{ #{kind.__name__} }}\n", fenced(_listed(text)), ""]
    return "\n".join(parts)


def _listed(text: str) -> str:
    """Make a list of a section 'Attributes'."""
    before, mark, section = text.partition("Attributes:\n")
    if not mark:
        return text
    lines = [
        f"* `{name}`: {rest}"
        for name, _, rest in (
            line.strip().partition(": ") for line in section.splitlines() if line.strip()
        )
    ]
    return "\n".join([before, *lines])
